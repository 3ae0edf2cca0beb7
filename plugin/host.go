package plugin

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// Host is what a plugin gets at Start and may keep.
type Host struct {
	Store Store
	Log   *slog.Logger
	// OracleDID is the audience of tokens, OracleName what people call it.
	OracleDID  string
	OracleName string
	// Exclusive runs fn while no other node runs it under the same name. It
	// returns false, without waiting, when somebody else does.
	Exclusive func(ctx context.Context, name string, ttl time.Duration, fn func(ctx context.Context) error) (bool, error)
	// Shared reads a value that another plugin shares, outside any request: its
	// StateFunc gets a Runtime without a user.
	Shared func(ctx context.Context, key string) (any, error)
	// Seal hides bytes from whoever reads the store, such as a token that a user
	// left. Unseal returns them, and fails for anything but what Seal made in
	// this plugin for the same binding: a sealed value cannot be moved to
	// another record.
	Seal   func(plain []byte, binding string) ([]byte, error)
	Unseal func(sealed []byte, binding string) ([]byte, error)
	// Rank returns which of texts fit a query, the best first and of equals the
	// earlier one, at most limit: by the means with which the oracle's documents are
	// found, in many languages and forgiving typing mistakes. It keeps nothing.
	Rank func(ctx context.Context, query string, texts []string, limit int) ([]int, error)
	// BaseURL is the address under which people reach the deployment, as the operator
	// set it, without a slash at its end; empty when nobody said. In a route,
	// pluginhttp.BaseURL knows more.
	BaseURL string
	// DialPublic connects to an address that a stranger named, and refuses private,
	// loopback and otherwise special ones.
	DialPublic func(ctx context.Context, network, address string) (net.Conn, error)
	// MCPTools asks a server what it offers, or says what it said a moment ago. Its
	// error is an *MCPRefusedError, or an *Error whose Message may be shown.
	MCPTools func(ctx context.Context, s MCPServer) ([]MCPTool, error)
	// Conversations lets a plugin talk to the oracle in a user's name, as a team-chat bridge does.
	Conversations Conversations
}

// Conversations starts turns from inside the server.
type Conversations interface {
	// Open returns the user's session that belongs to key, making it when
	// there is none. The same user and key always give the same session.
	Open(ctx context.Context, userDID, key string) (sessionID string, err error)
	// Ask sends a message and waits for the reply. The same requestID within
	// a session is answered once: a repeat waits for, or returns, the first reply.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is a message sent by a plugin in a user's name.
type Question struct {
	UserDID   string
	SessionID string
	RequestID string
	Message   string
	Timezone  string
	Metadata  map[string]any
}

// Answer is the reply to a Question.
type Answer struct {
	RunID  string
	Status string // finished, aborted, failed, interrupted, or paused while it waits for the user
	Text   string
}
