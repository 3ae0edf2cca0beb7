package app

import (
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// limits are the counters that several services share.
type limits struct {
	// telephone counts requests by client address over /api/ussd…, / and /health.
	telephone *httpserver.Limiter
	// principal counts requests by authenticated caller.
	principal *httpserver.Limiter
	// failedAuth counts refused credentials by client address.
	failedAuth *httpserver.Limiter
}

const failedAuthPerMinute = 60

func newLimits(s config.Server) limits {
	return limits{
		telephone:  httpserver.NewLimiter(httpserver.LimiterConfig{Name: "telephone", PerMinute: s.RateLimit}),
		principal:  httpserver.NewLimiter(httpserver.LimiterConfig{Name: "principal", PerMinute: s.PrincipalLimit}),
		failedAuth: httpserver.NewLimiter(httpserver.LimiterConfig{Name: "failed_auth", PerMinute: failedAuthPerMinute}),
	}
}
