package probe

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// Waiting answers all that nobody else answers while the database is away: it is to be asked again.
func Waiting(cors httpserver.CORSPolicy) httpserver.Surface {
	refuse := func(http.ResponseWriter, *http.Request) error {
		return fault.New(fault.Unavailable, "The database is not available.").WithRetryAfter(time.Second)
	}
	return httpserver.Surface{
		Name: "waiting", CORS: cors,
		Dynamic: &httpserver.Dynamic{
			Claims: func(string) bool { return true },
			Route: httpserver.Route{
				Method: http.MethodGet, Pattern: "(waiting)", Auth: httpserver.Public, Summary: "Not yet", Handler: refuse,
			},
		},
	}
}
