package httpserver_test

import (
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
