package plugin

import "context"

// PublicRouteProvider names routes that need no credentials; the handler must
// then protect itself. Credentials sent to a public route are ignored.
type PublicRouteProvider interface {
	PublicRoutes() []RoutePattern
}

// RoutePattern is a method and a full path. An empty method means every method.
type RoutePattern struct {
	Method string
	Path   string
}

// Gate decides, after authentication and before the handler, whether a request
// may go on. It sees every oracle route that is not public. An *Error refuses.
type Gate interface {
	Gate(ctx context.Context, g GateRequest) error
}

// GateRequest is a request as a gate sees it.
type GateRequest struct {
	UserDID string
	Method  string
	// Pattern is the route's pattern, such as /messages/{sessionId}.
	Pattern string
	// Path is the path as requested.
	Path string
	// Plugin is the owner of the route, or empty for the oracle's own routes.
	Plugin string
	// Runtime serves plugins that need the user's authority.
	Runtime *Runtime
}
