package blobs3

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// silence is how long a line to the server may be quiet, in a request or in an
// answer, before it is given up. Without it a line that went dead in the middle
// of an object would hold a background worker for ever. It is as long as the
// client waits for the first line of an answer.
const silence = time.Minute

// little is how much has to pass in that time.
const little = 16 << 10

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// transport is the client's own, over lines that may not be silent. A nil dial
// is the client's too.
func transport(secure bool, dial dialFunc) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	if dial == nil {
		dial = t.DialContext
	}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return line{conn}, nil
	}
	return t, nil
}

// line is a connection on which something must move.
type line struct{ net.Conn }

// Read implements net.Conn.
func (l line) Read(p []byte) (int, error) {
	if err := l.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return l.Conn.Read(p)
}

// Write implements net.Conn. It writes a little at a time: the client hands over
// whole parts, which on a thin line take longer. While a request is on its way
// nobody expects an answer, but somebody waits for it already.
func (l line) Write(p []byte) (n int, err error) {
	for {
		if err := l.SetDeadline(time.Now().Add(silence)); err != nil {
			return n, err
		}
		m, err := l.Conn.Write(p[n:min(n+little, len(p))])
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
	}
}
