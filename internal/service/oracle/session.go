package oracle

import (
	"encoding/json"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

// Untitled is a session's title until the oracle has found one.
const Untitled = "Untitled"

// Session is one conversation of one user.
type Session struct {
	ID    string
	Owner string // the user's DID
	Title string
	// Key ties a session to a thread elsewhere (team chat); empty for most.
	Key       string
	RoomID    string
	CreatedAt time.Time
	UpdatedAt time.Time
	// Messages counts the stored messages.
	Messages int64
	// Summary stands for the messages up to SummaryThrough in later model calls.
	Summary        string
	SummaryThrough int64
	// Expires is when a hidden session is deleted; zero for sessions that people see.
	Expires time.Time
	// Loaded are the on-demand capabilities that the agent loaded in this session.
	Loaded []string
	// Branch grows whenever another branch of the transcript is shown; 0 while
	// there is one only.
	Branch int64
}

// Hidden reports whether nobody sees the session in a list.
func (s Session) Hidden() bool { return !s.Expires.IsZero() }

// Role says who wrote a message.
type Role string

// Who writes messages.
const (
	Human Role = "human"
	AI    Role = "ai"
)

// Message is one entry of a transcript.
type Message struct {
	ID        string
	SessionID string
	RunID     string
	// Seq orders the messages of a session, from 1 without gaps that matter.
	Seq int64
	// Turn is the Seq of the human message that began the turn.
	Turn        int64
	Role        Role
	Content     string
	Reasoning   string
	ToolCalls   []ToolCall
	Attachments []Attachment
	CreatedAt   time.Time
	// Note is what the model was told beside the question, on the first AI
	// message of a turn.
	Note string
	// State is what the model's provider wants back with an AI message.
	State *ModelState
	// Failure says why the turn ended without its answer; the content is then its
	// text, which no model is told.
	Failure *Failure
	// Version and Feedback are told to users alone: see Service.Messages.
	Version  *VersionPlace
	Feedback *Feedback
}

// Failure is what the user was told of a turn that failed.
type Failure struct {
	Kind string `json:"kind"`
	Text string `json:"message"`
	// Retryable says that asking again may help.
	Retryable bool `json:"retryable"`
}

// ModelState is a provider's state with the conversation that it was made in: a
// provider may refuse it behind another beginning.
type ModelState struct {
	plugin.ModelState
	// Through is the turn up to which a summary stood for the conversation.
	Through int64 `json:"through,omitempty"`
}

// ToolCall is a call that an AI message made, with its outcome.
type ToolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Status plugin.Status   `json:"status"`
	Output string          `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Action marks a call of an AG-UI action.
	Action bool `json:"action,omitempty"`
	// Caller marks a call that was handed to whoever asked.
	Caller bool `json:"caller,omitempty"`
	// Component is what the page shows beside the result.
	Component *plugin.Component `json:"component,omitempty"`
	// Citations are the passages that the output quotes.
	Citations []plugin.Citation `json:"citations,omitempty"`
}

// Attachment is a file that came with a message. Text and Note are what the
// oracle extracted from it, for the model and not for the page.
type Attachment struct {
	Filename string         `json:"filename"`
	Mimetype string         `json:"mimetype"`
	Size     int64          `json:"size,omitempty"`
	MxcURI   string         `json:"mxcUri,omitempty"`
	EventID  string         `json:"eventId,omitempty"`
	CID      string         `json:"cid,omitempty"` // in the user's own file store
	Category string         `json:"category,omitempty"`
	File     *EncryptedFile `json:"file,omitempty"`
	Text     string         `json:"text,omitempty"`
	Note     string         `json:"note,omitempty"`
}

// EncryptedFile is how Matrix describes an encrypted upload (content.file).
type EncryptedFile struct {
	Version string            `json:"v"`
	URL     string            `json:"url"`
	Key     EncryptedFileKey  `json:"key"`
	IV      string            `json:"iv"`
	Hashes  map[string]string `json:"hashes"`
}

// EncryptedFileKey is the JSON Web Key of an EncryptedFile.
type EncryptedFileKey struct {
	KeyType   string   `json:"kty"`
	Algorithm string   `json:"alg"`
	Ext       bool     `json:"ext"`
	Key       string   `json:"k"`
	KeyOps    []string `json:"key_ops"`
}
