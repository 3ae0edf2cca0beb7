package httpserver_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// TestAHeldPortIsHandedOn answers "not yet" on a port, hands it on while a client
// holds a connection and says nothing, and then serves: on the same port, without
// an instant in which a client would be refused.
func TestAHeldPortIsHandedOn(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpserver.Config{Addr: "127.0.0.1:0"}, httpserver.Surface{Name: "hello", Routes: []httpserver.Route{{
		Method: http.MethodGet, Pattern: "/hello", Auth: httpserver.Public, Summary: "Hello",
		Handler: func(w http.ResponseWriter, _ *http.Request) error {
			_, err := w.Write([]byte("served"))
			return err
		},
	}}})
	release, err := s.Hold(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not yet", http.StatusServiceUnavailable)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	c, url := client(t), "http://"+s.Addr()+"/hello"
	for range 3 {
		if status, text, err := fetch(c, "GET", url, nil); err != nil || status != 503 || text != "not yet\n" {
			t.Fatalf("held: %d %q %v", status, text, err)
		}
	}
	mute, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mute.Close() }()
	release()
	release() // again is fine

	asked := make(chan error, 1)
	go func() { // before anybody serves
		status, text, err := fetch(c, "GET", url, nil)
		if err == nil && (status != 200 || text != "served") {
			t.Errorf("handed on: %d %q", status, text)
		}
		asked <- err
	}()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	if err := <-asked; err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}
