package callrtc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pion/turn/v5"
)

// frame is a message as far as its length: a header with a cookie, or data of a channel.
func frame(kind, length uint16, body int) []byte {
	b := make([]byte, 8+body)
	binary.BigEndian.PutUint16(b, kind)
	binary.BigEndian.PutUint16(b[2:], length)
	binary.BigEndian.PutUint32(b[4:], 0x2112A442)
	return b
}

// TestLengthsThatWrapEndTheirConnection: 20 bytes from a stranger made the relay read
// them again for ever.
func TestLengthsThatWrapEndTheirConnection(t *testing.T) {
	t.Parallel()
	r := relay(t, 2)
	at := strings.TrimSuffix(strings.TrimPrefix(r.URLs()[1], "turn:"), "?transport=tcp")
	for name, sent := range map[string][]byte{
		"a message that wraps":           frame(1, 0xFFEC, 12),
		"data that wraps":                frame(0x4000, 0xFFFC, 12),
		"data that wraps by its padding": frame(0x4000, 0xFFFF, 12),
		"a long message":                 frame(1, 4000, 12),
		"an odd length":                  frame(1, 3, 12),
		"nothing of TURN":                []byte("GET / HTTP/1.1\r\n\r\n\r\n"),
	} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(sent); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: read %d bytes, %v", name, n, err)
		}
		_ = conn.Close()
	}
}

func TestWaysAreMadeByTCP(t *testing.T) {
	t.Parallel()
	r := relay(t, 2)
	s := r.servers.offer("did:key:alice", time.Now().Add(time.Minute))[0]
	at := strings.TrimSuffix(strings.TrimPrefix(r.URLs()[1], "turn:"), "?transport=tcp")
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	c, err := turn.NewClient(&turn.ClientConfig{
		STUNServerAddr: at, TURNServerAddr: at, Username: s.Username, Password: s.Credential, Realm: realm,
		Conn: turn.NewSTUNConn(conn),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		_ = conn.Close()
	})
	if err := c.Listen(); err != nil {
		t.Fatal(err)
	}
	way, err := c.Allocate()
	if err != nil {
		t.Fatal(err)
	}
	_ = way.Close()
}

// TestOneHostDoesNotTakeAllPlacesOfTheRelay opens connections that say nothing.
func TestOneHostDoesNotTakeAllPlacesOfTheRelay(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newRelayListener(inner)
	taken := make(chan net.Conn, relayStreamsPerHost+1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken <- c
		}
	}()
	for range relayStreamsPerHost {
		dialTCP(t, inner)
	}
	first := <-taken
	for range relayStreamsPerHost - 1 {
		<-taken
	}
	over := dialTCP(t, inner)
	if n, err := over.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("one more was taken: %d, %v", n, err)
	}
	_ = first.Close()
	_ = first.Close() // once is enough
	dialTCP(t, inner)
	<-taken // there is a place again
	_ = l.Close()
}

func dialTCP(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// FuzzRelayFrames holds the sizes of messages to what was sent.
func FuzzRelayFrames(f *testing.F) {
	f.Add(frame(1, 0xFFEC, 12), 7)
	f.Add(append(frame(0x4000, 5, 8), frame(1, 0, 12)...), 1500)
	f.Fuzz(func(t *testing.T, sent []byte, buffer int) {
		if buffer < 1 || buffer > 2000 {
			return
		}
		near, far := net.Pipe()
		go func() {
			_, _ = far.Write(sent)
			_ = far.Close()
		}()
		c := &relayConn{Conn: near, leave: func() {}}
		var got []byte
		for p := make([]byte, buffer); ; {
			n, err := c.Read(p)
			got = append(got, p[:n]...)
			if err != nil {
				break
			}
			if n == 0 {
				t.Fatal("nothing was read, without an error")
			}
		}
		_ = near.Close()
		if !bytes.HasPrefix(sent, got) {
			t.Fatalf("read %x of %x", got, sent)
		}
	})
}
