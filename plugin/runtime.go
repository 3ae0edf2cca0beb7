package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"time"
)

// Runtime is what a hook knows of the request that it serves. It is valid
// until the hook returns. Every field is set by the host; in a plugin's own
// tests set what the plugin uses.
type Runtime struct {
	User    User
	Session Session
	// Declared are the tools and actions that the user's page offers in this
	// turn. The host already gives them to the agent; plugins add guidance.
	Declared Declared
	Emit     Emitter
	Files    Files
	Query    Query
	// Knowledge is what the community's documents say.
	Knowledge Knowledge
	// Authority mints invocations in the user's name for other services.
	Authority Authority
	// Frontend calls browser tools and actions on one of the user's tabs.
	Frontend Frontend
	// Shared reads another plugin's state by key.
	Shared func(ctx context.Context, key string) (any, error)
	Log    *slog.Logger
	// ToolCallID is the id of the call being served, inside a tool.
	ToolCallID string
	// Answered is what the person said to the AskError of the same call; nil when
	// the tool has not asked.
	Answered *Answered
}

// User is who asks.
type User struct {
	// DID is verified.
	DID      string
	Timezone string
	// HomeServer is the user's Matrix homeserver, as the request named it.
	HomeServer string
}

// Session is the conversation.
type Session struct {
	ID        string
	RequestID string
	RunID     string
	// Message is the text that started the turn; empty outside turns.
	Message  string
	Metadata map[string]any
}

// Declared are the page's tools of one turn.
type Declared struct {
	BrowserTools []ToolSpec
	Actions      []ActionSpec
}

// ActionSpec is an AG-UI action.
type ActionSpec struct {
	ToolSpec
	HasRender bool
}

// Location returns the user's time zone, or UTC when it is not known.
func (u User) Location() *time.Location {
	if loc, err := time.LoadLocation(u.Timezone); err == nil && u.Timezone != "" {
		return loc
	}
	return time.UTC
}

// ErrNoDelegation says that the user granted the oracle nothing, or that the
// grant expired. A tool should tell the user how to grant it.
var ErrNoDelegation = errors.New("the user has not delegated this to the oracle")

// Authority mints invocations for other services from the user's delegation:
// the request's own verified one, else the stored one.
type Authority interface {
	// Invoke returns a token (base64 CAR) for the audience that carries the
	// capability, with the delegation as proof, valid for at most ttl. It fails
	// with ErrNoDelegation when nothing covers the capability.
	Invoke(ctx context.Context, audience string, capability Capability, ttl time.Duration) (string, error)
	// Granted reports what the delegation allows; nil when there is none.
	Granted(ctx context.Context) ([]Capability, error)
}

// Capability is one UCAN capability.
type Capability struct {
	Can  string          `json:"can"`
	With string          `json:"with"`
	NB   json.RawMessage `json:"nb,omitempty"`
}

// Files is the user's file store under the user's delegation.
type Files interface {
	// Tools lists what the delegation opens: names vfs_*, with their schemas.
	// It fails with ErrNoDelegation when the user granted nothing.
	Tools(ctx context.Context) ([]ToolSpec, error)
	// Call runs one of them; the audit shows the oracle as invoker and the user as actor.
	Call(ctx context.Context, tool string, args json.RawMessage) (Result, error)
}

// Query is the protocol query gateway.
type Query interface {
	// Get asks for a path such as /ixo/entity/{id} and returns the JSON body.
	// A failure is an *Error with the gateway's status.
	Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error)
	// OpenAPI returns the document of the routes that the gateway serves.
	OpenAPI(ctx context.Context) (json.RawMessage, error)
}

// Frontend calls the user's page.
type Frontend interface {
	// CallBrowserTool runs a declared browser tool on exactly one tab.
	CallBrowserTool(ctx context.Context, name string, args json.RawMessage) (Result, error)
	// CallAction runs a declared AG-UI action on exactly one tab.
	CallAction(ctx context.Context, name string, args json.RawMessage) (Result, error)
}
