package httpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// losing is a body whose sender loses the role before it is whole.
type losing struct {
	io.Reader
	lose func()
}

func (l losing) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil {
		l.lose()
	}
	return n, err
}

// Whoever sends a body slowly decides when it is whole: the role counts then.
func TestARoleCountsWhenTheBodyIsWhole(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{true, false} {
		var role atomic.Int32
		role.Store(int32(httpserver.Changer))
		server, err := httpserver.New(httpserver.Config{
			OperatorToken: "hush",
			SignedOperator: func(*http.Request) (httpserver.OperatorIdentity, error) {
				return httpserver.OperatorIdentity{Name: "did:key:z", Role: httpserver.Role(role.Load())}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		err = server.Mount(httpserver.Surface{Name: "x", Routes: []httpserver.Route{{
			Method: http.MethodPost, Pattern: "/change", Auth: httpserver.Operator,
			Handler: func(w http.ResponseWriter, r *http.Request) error {
				if _, err := io.ReadAll(r.Body); err != nil {
					return fmt.Errorf("whatever a handler makes of it: %s", err.Error())
				}
				changed = true
				w.WriteHeader(http.StatusNoContent)
				return nil
			},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/change", losing{strings.NewReader("text"), func() {
			if !keeps {
				role.Store(int32(httpserver.Viewer))
			}
		}})
		r.Header.Set("Authorization", "Bearer signed")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if want := map[bool]int{true: http.StatusNoContent, false: http.StatusForbidden}[keeps]; w.Code != want ||
			changed != keeps {
			t.Errorf("keeps the role %t: %d %s, changed %t", keeps, w.Code, w.Body, changed)
		}
	}
}

// Changes are noted, and so is who reads what says so; a page that asks every few seconds
// for what viewers must not see is not.
func TestWhatIsNoted(t *testing.T) {
	t.Parallel()
	var noted []string
	server, err := httpserver.New(httpserver.Config{
		OperatorToken: "hush",
		Audit: func(_ context.Context, _ httpserver.OperatorIdentity, act, _ string) (func(int), error) {
			return func(status int) { noted = append(noted, fmt.Sprint(act, " ", status)) }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(http.StatusOK); return nil }
	err = server.Mount(httpserver.Surface{Name: "x", Routes: []httpserver.Route{
		{Method: http.MethodGet, Pattern: "/list", Auth: httpserver.Operator, Handler: done},
		{Method: http.MethodGet, Pattern: "/logs", Auth: httpserver.Operator, Role: httpserver.Changer, Handler: done},
		{Method: http.MethodGet, Pattern: "/archive", Auth: httpserver.Operator, Noted: true, Handler: done},
		{Method: http.MethodPost, Pattern: "/make", Auth: httpserver.Operator, Handler: done},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ask := range []string{"GET /list", "GET /logs", "GET /archive", "POST /make"} {
		method, path, _ := strings.Cut(ask, " ")
		r := httptest.NewRequest(method, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer hush")
		w := httptest.NewRecorder()
		if server.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", ask, w.Code, w.Body)
		}
	}
	if got := strings.Join(noted, ", "); got != "GET /archive 200, POST /make 200" {
		t.Errorf("noted: %s", got)
	}
}
