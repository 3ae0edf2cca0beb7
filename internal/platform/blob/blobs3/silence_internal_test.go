package blobs3

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

// over returns a store whose lines lead to a server that does as it is told.
func over(t *testing.T, serve func(ctx context.Context, line net.Conn)) *Store {
	t.Helper()
	ctx := t.Context()
	tr, err := transport(false, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer func() { _ = far.Close() }()
			serve(ctx, far)
		}()
		return near, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.CloseIdleConnections)
	s, err := New(Config{
		Bucket: "bucket", Endpoint: "http://127.0.0.1:1", PathStyle: true, Region: "r", AccessKey: "a",
		SecretKey: "s", Transport: tr,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hold keeps the line until the client lets go of it.
func hold(line net.Conn) { _, _ = io.Copy(io.Discard, line) }

const head = "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: \"e\"\r\nLast-Modified: Mon, 16 Nov 2026 00:00:00 GMT\r\n\r\n"

// A server that stands still in the middle of an object is not waited for for
// ever, though the context has no end.
func TestADeadLineIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve func(context.Context, net.Conn)
		ask   func(context.Context, *Store) error
	}{
		"in an answer": {
			func(_ context.Context, line net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(line)); err == nil {
					_, _ = fmt.Fprintf(line, head+"a beginning", 100)
				}
				hold(line)
			},
			func(ctx context.Context, s *Store) error {
				body, err := s.Get(ctx, "k", 0, -1)
				if err != nil {
					return err
				}
				defer func() { _ = body.Close() }()
				_, err = io.ReadAll(body)
				return err
			},
		},
		"in a request": {
			func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
			func(ctx context.Context, s *Store) error {
				_, err := s.Put(ctx, "k", bytes.NewReader(make([]byte, 1<<20)), blob.PutOptions{})
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := over(t, c.serve)
				ctx, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				began := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- c.ask(ctx, s) }()
				select {
				case err := <-ended:
					if took := time.Since(began); err == nil || took < silence {
						t.Errorf("after %v: %v", took, err)
					}
				case <-time.After(time.Hour):
					giveUp()
					t.Fatalf("it waits for ever; then: %v", <-ended)
				}
			})
		})
	}
}

// What is slow is not silent.
func TestASlowLineIsNotGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 100
		s := over(t, func(_ context.Context, line net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(line)); err != nil {
				return
			}
			_, _ = fmt.Fprintf(line, head, size)
			for range size {
				<-time.After(silence - time.Second)
				_, _ = line.Write([]byte("x"))
			}
			hold(line)
		})
		body, err := s.Get(t.Context(), "k", 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); len(got) != size || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		_ = body.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		s := over(t, func(_ context.Context, line net.Conn) {
			r, err := http.ReadRequest(bufio.NewReader(slow{line}))
			if err != nil {
				return
			}
			if n, err := io.Copy(io.Discard, r.Body); err == nil && n > 190_000 {
				_, _ = fmt.Fprintf(line, head, 0)
			}
			hold(line)
		})
		if _, err := s.Put(t.Context(), "k", bytes.NewReader(make([]byte, 200_000)), blob.PutOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// slow hears a little at a time.
type slow struct{ io.Reader }

func (s slow) Read(p []byte) (int, error) {
	<-time.After(silence / 8)
	return s.Reader.Read(p[:min(len(p), 4096)])
}
