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

// InPerson is Caller for what a delegation alone must not do: whoever else holds one could
// make something their own that outlasts it. what is the subject of the refusal.
func InPerson(what string, h func(w http.ResponseWriter, r *http.Request, did string) error) httpserver.Handler {
	return Caller(func(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
		if !who.InPerson() {
			text := what + " need an invocation that you sign; a delegation alone is not enough."
			return fault.New(fault.Forbidden, text).WithCode("invocation_needed")
		}
		return h(w, r, who.DID)
	})
}
