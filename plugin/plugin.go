package plugin

import (
	"context"
	"time"
)

// Plugin is all that a plugin must be.
type Plugin interface {
	// Describe says who the plugin is. It must return the same value each time.
	Describe() Description
}

// Description names a plugin and what it needs.
type Description struct {
	// Name is kebab case, unique among the loaded plugins: [a-z][a-z0-9-]*.
	Name string
	// Version is shown to operators. Free form.
	Version string
	// Manifest tells the agent and the user what the plugin is for.
	Manifest Manifest
	// DependsOn names plugins without which this one cannot work: a missing one stops the start.
	DependsOn []string
	// AutoWith names plugins with which this one comes: unless it is switched on
	// by name, it is off when one of them is.
	AutoWith []string
	// After names plugins that start earlier when they are loaded, and are not needed otherwise.
	After []string
	// OptIn plugins are off unless the operator switches them on by name.
	OptIn bool
}

// Visibility says when the agent sees a plugin's tools.
type Visibility string

// The three visibilities. The zero value counts as OnDemand.
const (
	// Always puts the tools into every turn.
	Always Visibility = "always"
	// OnDemand lists the plugin as a capability that the agent loads when it needs it.
	OnDemand Visibility = "on-demand"
	// Silent hides the plugin from the agent; its tools, if any, are always offered without advertising.
	Silent Visibility = "silent"
)

// Manifest is the text by which the agent decides whether it needs a plugin.
type Manifest struct {
	Title        string     `json:"title"`
	Summary      string     `json:"summary"`
	WhenToUse    []string   `json:"whenToUse,omitempty"` // required unless Silent
	WhenNotToUse []string   `json:"whenNotToUse,omitempty"`
	Examples     []Example  `json:"examples,omitempty"`
	Tags         []string   `json:"tags,omitempty"`
	Visibility   Visibility `json:"visibility,omitempty"`
}

// Example shows the agent one good use of the plugin.
type Example struct {
	User string         `json:"user"`
	Tool string         `json:"tool"`
	Args map[string]any `json:"args,omitempty"`
}

// Configurer has configuration. The host fills the struct behind the returned
// pointer from its tags (`env:"NAME" default:"…" doc:"…" secret:"true"`, for texts
// `allowed:"one|other"`, for numbers `min:"1" max:"9"`) before Start; a bad value stops
// the start with one line that names it. Operators may store values too, which count where
// neither the environment nor the file says anything, after the next start; but not of
// settings with machine:"true", which is for what guards the machine and its network and
// for addresses to which its secrets are sent.
type Configurer interface {
	Config() any
}

// AutoDetector decides whether a plugin whose feature is "auto" is switched on.
// It is asked after the configuration was filled. The hint says why, for
// operators. A feature set to true whose AutoDetect says no stops the start.
type AutoDetector interface {
	AutoDetect() (on bool, hint string)
}

// Starter is told once, in dependency order, that the host is up. The context
// ends when the program stops. Start must not block.
type Starter interface {
	Start(ctx context.Context, host Host) error
}

// ToolProvider offers tools that are the same for every request.
type ToolProvider interface {
	Tools() []Tool
}

// RequestToolProvider offers tools that depend on who asks.
type RequestToolProvider interface {
	RequestTools(ctx context.Context, rt *Runtime) ([]Tool, error)
}

// SubAgentProvider offers agents that the main agent calls as tools named call_<name>.
type SubAgentProvider interface {
	SubAgents() []SubAgent
}

// RequestSubAgentProvider offers sub-agents that depend on who asks.
type RequestSubAgentProvider interface {
	RequestSubAgents(ctx context.Context, rt *Runtime) ([]SubAgent, error)
}

// PromptProvider adds a paragraph to the system prompt. An empty text adds
// nothing. It should say the same in every turn of a session: providers charge
// for reading a prompt that changed. What differs by turn is a NoteProvider's.
type PromptProvider interface {
	Prompt(ctx context.Context, rt *Runtime) (string, error)
}

// NoteProvider adds a paragraph beside the user's message, for what depends on
// it. An empty text adds nothing.
type NoteProvider interface {
	Note(ctx context.Context, rt *Runtime) (string, error)
}

// ModelMiddleware wraps every model call of a turn. It must call next at most
// once and may refuse with an *Error, whose Message then ends the turn.
type ModelMiddleware interface {
	WrapModel(next ModelFunc) ModelFunc
}

// ToolMiddleware wraps every tool call of a turn.
type ToolMiddleware interface {
	WrapTool(next ToolFunc) ToolFunc
}

// TurnObserver is told when a turn begins and how it ended. An *Error from
// TurnStarts refuses the turn before anything is stored. TurnEnded runs after
// the turn was stored, also after abort and failure, on the node that ended it,
// with the Session.RunID that TurnStarts saw;
// if that node dies at this very moment it is not called, so that what must
// happen anyway (releasing a hold) needs a Job or a TTL as well.
type TurnObserver interface {
	TurnStarts(ctx context.Context, rt *Runtime) error
	TurnEnded(ctx context.Context, rt *Runtime, result TurnResult) error
}

// TurnAbandoner is a TurnObserver that wants to hear of turns which never
// began: its TurnStarts agreed, but another plugin or the oracle refused, or the
// request turned out to repeat an earlier one. Session.RunID is the same as in
// TurnStarts. If the node dies at this moment it is not called.
type TurnAbandoner interface {
	TurnAbandoned(ctx context.Context, rt *Runtime) error
}

// TurnResult is what became of a turn.
type TurnResult struct {
	RunID  string
	Status string // finished, aborted, failed, interrupted
	Model  string
	Usage  Usage
	Steps  int
}

// StateProvider shares read-only values with other plugins. Keys are unique
// among all plugins and are read with Runtime.Shared.
type StateProvider interface {
	SharedState() map[string]StateFunc
}

// StateFunc computes one shared value for a request.
type StateFunc func(ctx context.Context, rt *Runtime) (any, error)

// Forgetter keeps something of users, and erases all of one user when an operator erases
// them: it says how much that was. Doing it again is fine, also after half of it was done.
type Forgetter interface {
	ForgetUser(ctx context.Context, did string) (int, error)
}

// Returner has been given something by users at other services, such as tokens, and gives it
// back there before Forgetter destroys what that takes. It says in words for the receipt what
// could not be given back, and takes seconds at most: nothing is held up by services that are away.
type Returner interface {
	ReturnUser(ctx context.Context, did string) (left []string, err error)
}

// Exporter keeps something of users, and hands all of one user out as a value for JSON when
// an operator exports them. It has no secrets.
type Exporter interface {
	ExportUser(ctx context.Context, did string) (any, error)
}

// JobProvider has work that runs on a schedule, on one node at a time.
type JobProvider interface {
	Jobs() []Job
}

// Job runs every interval under a lease that spans all nodes. The context is
// cancelled when the lease is lost.
type Job struct {
	Name  string // unique within the plugin
	Every time.Duration
	Run   func(ctx context.Context) error
}

// WorkerProvider has work that goes on all the time, on every node.
type WorkerProvider interface {
	Workers() []Worker
}

// Worker runs until its context ends, and is waited for when the program
// stops. One that returns an error is started again after a pause. It needs a
// lease of its own for what only one node may do: see Host.Exclusive and package
// pluginqueue.
type Worker struct {
	Name string // unique within the plugin
	Run  func(ctx context.Context) error
}
