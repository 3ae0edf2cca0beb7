package ussdhttp

import (
	"bytes"
	"cmp"
	"io"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
)

// guarded lets only those call who may as the gateway of the path. Others hear no
// end of a dialect: they are no gateway.
func (a *api) guarded(next httpserver.Handler) httpserver.Handler {
	if a.gate == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		err := a.gate.Admit(cmp.Or(a.dialectOf(r.URL.Path), ussdgate.Session), ussdgate.Caller{
			Addr: httpserver.ClientIP(r.Context()), Header: r.Header.Get, Query: r.URL.Query().Get,
			Signed: func() ([]byte, error) {
				if d := a.data[r.URL.Path]; r.Method == http.MethodGet || d != nil && d.BodyMedia() == "" {
					return []byte(r.URL.RawQuery), nil
				}
				raw, err := readRaw(r)
				r.Body = io.NopCloser(bytes.NewReader(raw))
				return raw, err
			},
		})
		if err != nil {
			a.refused(r, err)
			return fault.New(fault.Forbidden, "Only the gateway may call this.")
		}
		return next(w, r)
	}
}
