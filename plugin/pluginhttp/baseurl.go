package pluginhttp

import (
	"context"
	"net/http"
)

type baseKey struct{}

// WithBaseURL is for the host: it tells a route's handler under which address
// people reach the deployment.
func WithBaseURL(r *http.Request, base string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), baseKey{}, base))
}

// BaseURL is the address under which people reach the deployment, without a slash
// at its end; empty when nobody can say. Use it for links: the Host of a request
// is whatever its sender wrote.
func BaseURL(r *http.Request) string {
	base, _ := r.Context().Value(baseKey{}).(string)
	return base
}
