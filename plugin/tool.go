package plugin

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is something that the agent can do.
type Tool struct {
	// Name is [A-Za-z][A-Za-z0-9_.-]{0,63}, unique among all tools of a turn.
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments; nil means any object. The
	// arguments are validated before Run, and the model is told what was wrong.
	Schema json.RawMessage
	// Safe says that running the tool twice with the same arguments does no
	// harm. Only safe tools are run again when a node died while they ran.
	Safe bool
	// ReadOnly says that the tool changes nothing, here or elsewhere. In a turn
	// that has read untrusted text every other tool needs the person's approval.
	ReadOnly bool
	// Foreign says that the tool's answers, its errors too, hold text of others, such
	// as files, documents or pages: each counts as Result.Untrusted.
	Foreign bool
	// Confirm makes every call wait until the person whose turn it is approves
	// it. The turn rests meanwhile, for hours if need be, and goes on on any node:
	// Run then has what the answer's request carried, not what the message's did.
	Confirm bool
	// Granted, where it is set, says that the call needs something that the user had
	// not delegated when the turn began, and looks whether they have by now. Where
	// the user's page can be asked, the turn rests until they have, or said no;
	// elsewhere the call runs at once.
	Granted func(ctx context.Context, rt *Runtime) (bool, error)
	// Timeout bounds one call; zero means the host's default.
	Timeout time.Duration
	// Run does the work. An error is shown to the model, not to the user: an
	// *Error with its Message, any other error with a general text.
	Run func(ctx context.Context, rt *Runtime, args json.RawMessage) (Result, error)
}

// Result is what a tool gives back to the model.
type Result struct {
	// Text is what the model reads. The host caps its length.
	Text string
	// Unknown says that nobody can tell whether the effect happened.
	Unknown bool
	// Untrusted says that the text is somebody else's, such as a document's: it may
	// try to give orders. For the rest of the turn every tool that is not ReadOnly
	// needs the person's approval.
	Untrusted bool
	// Citations are the passages that the text quotes, by the numbers that it gives
	// them. An answer that points to some, as [1], is shown with them.
	Citations []Citation
	// Component asks the user's page to show one of its components beside the
	// result. Open pages get a render_component event, and the transcript keeps it.
	Component *Component
}

// Component names something that the user's page can draw, and what it draws.
// Pages ignore names that they do not know.
type Component struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Text is a Result of plain text.
func Text(s string) Result { return Result{Text: s} }

// JSON is a Result that holds the JSON of v.
func JSON(v any) (Result, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: string(b)}, nil
}

// ToolInvocation is one tool call as middleware sees it.
type ToolInvocation struct {
	ID   string
	Name string
	// Plugin is the owner of the tool, or empty when the tool is the host's,
	// the browser's or an MCP server's.
	Plugin string
	Args   json.RawMessage
}

// ToolFunc runs a tool call.
type ToolFunc func(ctx context.Context, rt *Runtime, call ToolInvocation) (Result, error)

// SubAgent is an agent with its own prompt and tools. Its text goes to the
// main agent as a tool result and never into the reply.
type SubAgent struct {
	// Name gives the tool's name: call_<name>.
	Name        string
	Description string
	Prompt      string
	Tools       []Tool
	// Model names another model than the turn's; empty means the same.
	Model string
	// MaxSteps bounds the sub-agent's own loop; zero means the host's default.
	MaxSteps int
}
