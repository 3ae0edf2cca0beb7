package identityhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// Caller hands a handler who is asking. A request of nobody is refused.
func Caller(h func(w http.ResponseWriter, r *http.Request, who identity.Principal) error) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		who, ok := identity.FromContext(r.Context())
		if !ok {
			return fault.New(fault.Unauthenticated, identity.TextMissing)
		}
		return h(w, r, who)
	}
}
