package plugin

import (
	"context"
	"time"
)

// MCPProvider names MCP servers whose tools become the agent's for this
// request, under names "<server>__<tool>".
type MCPProvider interface {
	MCPServers(ctx context.Context, rt *Runtime) ([]MCPServer, error)
}

// MCPServer is one streamable-HTTP MCP server.
type MCPServer struct {
	// Name is [a-z0-9-]+ and prefixes the tools' names.
	Name string
	URL  string
	// Headers are sent with every request, such as the operator's own credential.
	Headers map[string]string
	// Access, where it is set, has the user's own tokens for the server.
	Access MCPAccess
	// Protected servers need a single-use invocation from the user for each
	// call (the request's mcpInvocations).
	Protected bool
	// Visibility of the tools; the zero value counts as OnDemand.
	Visibility Visibility
	// Summary tells the agent what the server is for.
	Summary string
	Timeout time.Duration
	// AllowPrivate lets the server live on a loopback or private address.
	AllowPrivate bool
}

// MCPAccess has tokens for one server, which the host sends to that server's
// origin alone; no redirect is followed with them.
type MCPAccess interface {
	// Holder tells authorizations apart: what a server offers to one is not shown to
	// another. It is empty when there is none; no token is asked for then. It does not
	// change.
	Holder() string
	// Token is what to send as the bearer of the next request; empty sends none.
	Token(ctx context.Context) (string, error)
	// Refused hears that the server wanted an authorization, or another one than the
	// token that was sent, and what it said (WWW-Authenticate). It reports whether
	// Token has a better one by now: the request is then sent once more.
	Refused(ctx context.Context, token string, challenges []string) (again bool, err error)
}

// MCPRefusedError is what comes of a server that wants an authorization.
type MCPRefusedError struct {
	Server string
	// Challenges is what it said of it (WWW-Authenticate), bounded.
	Challenges []string
}

// Error names the server.
func (e *MCPRefusedError) Error() string {
	return "The MCP server " + e.Server + " wants the user's authorization."
}

// MCPTool is a tool that a server offers.
type MCPTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// ReadOnly is what the server says of it.
	ReadOnly bool `json:"readOnly"`
	// Asks says that every call waits for its user's approval.
	Asks bool `json:"asks"`
}
