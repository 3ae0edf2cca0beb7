package identityhttp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// taker takes bodies, and does not look at the context of their requests.
func taker(taken *atomic.Int64, begun chan<- struct{}) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := io.ReadFull(r.Body, make([]byte, 4)); err != nil {
			return err
		}
		begun <- struct{}{}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return errors.New("whatever a handler makes of it")
		}
		taken.Add(1)
		w.WriteHeader(http.StatusCreated)
		return nil
	}
}

// Whoever sends a body slowly decides when it is whole: what is sent after the token
// was withdrawn is not taken, on any surface.
func TestATransferEndsWithItsToken(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int64
	begun := make(chan struct{}, 1)
	for name, surface := range map[string]identity.Surface{"oracle": identity.Oracle, "files": identity.Files} {
		routes := []httpserver.Route{}
		for path, streams := range map[string]bool{"/plain": false, "/stream": true} {
			routes = append(routes, httpserver.Route{
				Method: http.MethodPost, Pattern: "/" + name + path, Auth: httpserver.Principal, Stream: streams,
				Handler: taker(&taken, begun),
			})
		}
		if err := server.Mount(httpserver.Surface{
			Name: name, Routes: routes,
			Authenticate: identityhttp.Wrap(s, surface),
		}); err != nil {
			t.Fatal(err)
		}
	}
	live := httptest.NewServer(server)
	defer live.Close()
	defer live.Client().CloseIdleConnections()
	for _, path := range []string{"/oracle/plain", "/oracle/stream", "/files/plain", "/files/stream"} {
		for _, withdraw := range []bool{false, true} {
			token := identitytest.Files(t, alice, s.DID(), "*", identitytest.Nonce(path))
			if path[1] == 'o' {
				token = identitytest.Invocation(t, alice, s.DID(), identitytest.Nonce(path))
			}
			before := taken.Load()
			body, sender := io.Pipe()
			status := make(chan int, 1)
			go func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, live.URL+path, body)
				if err != nil {
					t.Error(err)
				}
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("X-Auth-Type", "ucan")
				reply, err := live.Client().Do(r)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					status <- 0
					return
				}
				_ = reply.Body.Close()
				status <- reply.StatusCode
			}()
			if _, err := sender.Write([]byte("half")); err != nil {
				t.Fatal(err)
			}
			<-begun
			if withdraw {
				revokeToken(t, s, token)
			}
			_, _ = sender.Write([]byte("rest")) // refused bodies are not read to their end
			_ = sender.Close()
			want, more := http.StatusCreated, int64(1)
			if withdraw {
				want, more = http.StatusUnauthorized, 0
			}
			if got := <-status; got != want || taken.Load()-before != more {
				t.Errorf("%s, withdrawn %t: %d, taken %d", path, withdraw, got, taken.Load()-before)
			}
		}
	}
}

// revokeToken withdraws a token of Alice's.
func revokeToken(t *testing.T, s *identity.Service, token string) {
	t.Helper()
	if _, err := s.Revoke(t.Context(), identitytest.Revocation(t, alice, s.DID(), token)); err != nil {
		t.Fatal(err)
	}
}
