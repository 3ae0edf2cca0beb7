package queryhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// CORS is closed unless origins, a comma list, names some.
func CORS(origins string) httpserver.CORSPolicy {
	list := httpserver.ParseOrigins(origins)
	if len(list) == 0 {
		return httpserver.CORSPolicy{}
	}
	return httpserver.CORSPolicy{
		Origins: list,
		Headers: []string{
			"Content-Type", "Authorization", "x-auth-type", "x-api-key", "x-ucan-delegation", "x-request-id", "x-cosmos-block-height",
			"If-None-Match",
		},
		Methods: []string{"GET", "HEAD", "POST", "OPTIONS"},
		Exposed: []string{
			httpserver.HeaderRequestID, "Retry-After", "ETag", "Grpc-Metadata-X-Cosmos-Block-Height", "X-Cosmos-Block-Height",
			"X-Page-Limit", "Deprecation", "Link",
		},
	}
}

// writeFault sends a failure of our own as a gRPC status in JSON.
func writeFault(w http.ResponseWriter, err error) {
	e := fault.From(err)
	httpserver.WriteFault(w, e, map[string]any{"code": grpcCode(e.Kind), "message": e.Message, "details": []any{}})
}

// grpcCode is the gRPC status code of a kind.
func grpcCode(kind fault.Kind) int {
	switch kind {
	case fault.Canceled:
		return 1
	case fault.Invalid, fault.UnsupportedMedia:
		return 3
	case fault.Timeout:
		return 4
	case fault.NotFound, fault.Gone:
		return 5
	case fault.Forbidden, fault.PaymentRequired:
		return 7
	case fault.RateLimited, fault.TooLarge, fault.StorageFull:
		return 8
	case fault.Precondition:
		return 9
	case fault.Conflict:
		return 10
	case fault.RangeUnsatisfiable:
		return 11
	case fault.Unimplemented, fault.MethodNotAllowed:
		return 12
	case fault.Unavailable:
		return 14
	case fault.Unauthenticated:
		return 16
	case fault.Internal:
	}
	return 13
}
