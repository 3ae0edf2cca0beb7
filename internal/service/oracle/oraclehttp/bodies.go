package oraclehttp

import (
	"encoding/json"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// ErrorBody is what every failure looks like.
type ErrorBody struct {
	StatusCode int    `json:"statusCode"`
	Message    any    `json:"message"`
	Error      string `json:"error,omitempty"`
}

// SessionBody is a session.
type SessionBody struct {
	SessionID       string `json:"sessionId"`
	Title           string `json:"title"`
	LastUpdatedAt   string `json:"lastUpdatedAt"`
	CreatedAt       string `json:"createdAt"`
	OracleName      string `json:"oracleName"`
	OracleDID       string `json:"oracleDid"`
	OracleEntityDID string `json:"oracleEntityDid,omitempty"`
	RoomID          string `json:"roomId,omitempty"`
	// Excerpt is what a message says around the words of a search.
	Excerpt string `json:"excerpt,omitempty"`
}

// SessionList is a page of sessions.
type SessionList struct {
	Sessions []SessionBody `json:"sessions"`
	Total    int64         `json:"total"`
	// Behind is how many messages a search could not look at yet.
	Behind int64 `json:"behind,omitempty"`
}

// Deleted confirms that a session is gone.
type Deleted struct {
	Message string `json:"message"`
}

// AttachmentBody is a file that came with a message.
type AttachmentBody struct {
	Filename string `json:"filename"`
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size,omitempty"`
	MxcURI   string `json:"mxcUri,omitempty"`
	EventID  string `json:"eventId,omitempty"`
	CID      string `json:"cid,omitempty"`
	Category string `json:"category,omitempty"`
}

// ToolCallBody is a tool call with its outcome; Output is JSON in a string.
type ToolCallBody struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	ID     string          `json:"id"`
	Status plugin.Status   `json:"status"`
	Output string          `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Component is what a page shows beside the result, as render_component asked for.
	Component *plugin.Component `json:"component,omitempty"`
}

// MessageBody is one entry of a transcript.
type MessageBody struct {
	Type        oracle.Role      `json:"type"`
	Content     string           `json:"content"`
	ID          string           `json:"id"`
	Reasoning   string           `json:"reasoning,omitempty"`
	IsComplete  bool             `json:"isComplete"`
	IsReasoning bool             `json:"isReasoning"`
	CreatedAt   string           `json:"createdAt"`
	ToolCalls   []ToolCallBody   `json:"toolCalls,omitempty"`
	Attachment  *AttachmentBody  `json:"attachment,omitempty"`
	Attachments []AttachmentBody `json:"attachments,omitempty"`
	// Citations are the passages that the content points to, as [1].
	Citations []plugin.Citation `json:"citations,omitempty"`
	// Error says why the turn ended without its answer; the content is its text.
	Error *oracle.Failure `json:"error,omitempty"`
	// Version is there on the message of a turn that was asked more than once.
	Version *VersionPlace `json:"version,omitempty"`
	// Feedback is what you think of an answer.
	Feedback *FeedbackBody `json:"feedback,omitempty"`
}

// MessageList is a transcript.
type MessageList struct {
	Messages []MessageBody `json:"messages"`
}

// PageBody is some turns of a transcript.
type PageBody struct {
	Messages   []MessageBody `json:"messages"`
	PrevCursor *string       `json:"prevCursor"`
	NextCursor *string       `json:"nextCursor"`
	HasOlder   bool          `json:"hasOlder"`
	HasNewer   bool          `json:"hasNewer"`
}

// RunBody tells whether a run is going on.
type RunBody struct {
	Run *RunState `json:"run"`
}

// RunState is a run as pages see it.
type RunState struct {
	RunID     string           `json:"runId"`
	SessionID string           `json:"sessionId"`
	RequestID string           `json:"requestId"`
	Status    oracle.RunStatus `json:"status"`
	Attempt   int              `json:"attempt"`
	LastSeq   int64            `json:"lastSeq"`
	CreatedAt string           `json:"createdAt"`
	// Approvals are the calls for which the run waits; nobody works on it meanwhile.
	Approvals []oracle.ApprovalBody `json:"approvals,omitempty"`
}

// ReplyBody is the answer to a message without a stream.
type ReplyBody struct {
	Message   ReplyMessage  `json:"message"`
	SessionID string        `json:"sessionId"`
	RunID     string        `json:"runId"`
	Status    string        `json:"status"`
	Messages  []MessageBody `json:"messages,omitempty"`
	// Approvals are the calls for which the turn waits: it is not over then, and
	// status is paused.
	Approvals []oracle.ApprovalBody `json:"approvals,omitempty"`
}

// ReplyMessage is the answer itself.
type ReplyMessage struct {
	Type    oracle.Role `json:"type"`
	Content string      `json:"content"`
	ID      string      `json:"id"`
}

// AbortBody names the session to stop.
type AbortBody struct {
	SessionID string `json:"sessionId"`
}

// Aborted tells whether anything was stopped.
type Aborted struct {
	Success bool `json:"success"`
}

// DepositBody is a delegation to keep.
type DepositBody struct {
	Raw        string   `json:"raw"`
	Issuer     string   `json:"issuer,omitempty"`
	Audience   string   `json:"audience,omitempty"`
	Expiration *float64 `json:"expiration,omitempty"`
}

// Granted confirms a change of the delegation.
type Granted struct {
	OK         bool   `json:"ok"`
	Expiration *int64 `json:"expiration,omitempty"`
}

// DelegationBody tells what is stored.
type DelegationBody struct {
	Authorized   bool             `json:"authorized"`
	Expiration   *int64           `json:"expiration,omitempty"`
	Capabilities []CapabilityBody `json:"capabilities,omitempty"`
}

// CapabilityBody is one capability of the stored delegation.
type CapabilityBody struct {
	Can  string          `json:"can"`
	With string          `json:"with"`
	NB   json.RawMessage `json:"nb,omitempty"`
}

// ModelList is the models that can be chosen.
type ModelList struct {
	Models  []ModelBody `json:"models"`
	Default string      `json:"default"`
}

// ModelBody is one of them.
type ModelBody struct {
	ID        string  `json:"id"`
	Label     string  `json:"label"`
	Family    string  `json:"family"`
	Tier      string  `json:"tier"`
	CostLabel string  `json:"costLabel"`
	Badge     string  `json:"badge"`
	Blurb     string  `json:"blurb"`
	Vision    bool    `json:"vision"`
	Pricing   Pricing `json:"pricing"`
	IsDefault bool    `json:"isDefault"`
}

// Pricing is what a model costs.
type Pricing struct {
	InputPerMillion  float64 `json:"inputPerMillion"`
	OutputPerMillion float64 `json:"outputPerMillion"`
	Currency         string  `json:"currency"`
	Unit             string  `json:"unit"`
}

func (a *api) sessionBody(s oracle.Session) SessionBody {
	id := a.deps.Service.Identity()
	return SessionBody{
		SessionID: s.ID, Title: s.Title, LastUpdatedAt: oracle.Timestamp(s.UpdatedAt),
		CreatedAt:  oracle.Timestamp(s.CreatedAt),
		OracleName: id.Name, OracleDID: id.DID, OracleEntityDID: id.EntityDID, RoomID: s.RoomID,
	}
}

func messageBodies(list []oracle.Message) []MessageBody {
	out := make([]MessageBody, 0, len(list))
	cited := oracle.CitedIn(list)
	for i, m := range list {
		b := MessageBody{
			Type: m.Role, Content: m.Content, ID: m.ID, Reasoning: m.Reasoning, IsComplete: true,
			CreatedAt: oracle.Timestamp(m.CreatedAt),
			Error:     m.Failure, Citations: cited[i],
		}
		b.Version, b.Feedback = versionPlace(m.Version), feedbackBody(m.Feedback)
		for _, c := range m.ToolCalls {
			call := ToolCallBody{Name: c.Name, Args: c.Args, ID: c.ID, Status: c.Status, Error: c.Error, Component: c.Component}
			if c.Status == plugin.Done {
				if quoted, err := json.Marshal(c.Output); err == nil {
					call.Output = string(quoted)
				}
			}
			b.ToolCalls = append(b.ToolCalls, call)
		}
		for _, f := range m.Attachments {
			b.Attachments = append(b.Attachments, AttachmentBody{
				Filename: f.Filename, Mimetype: f.Mimetype, Size: f.Size, MxcURI: f.MxcURI, EventID: f.EventID, CID: f.CID,
				Category: f.Category,
			})
		}
		if len(b.Attachments) > 0 {
			b.Attachment = &b.Attachments[0]
		}
		out = append(out, b)
	}
	return out
}

// OpeningList is the body of GET /openings.
type OpeningList struct {
	// From says who suggests them: the operator, the sample community that is loaded, or
	// the program, which has the same for everybody.
	From     string        `json:"from"`
	Openings []OpeningBody `json:"openings"`
}

// Who suggests questions.
const (
	FromOperator = "operator"
	FromSample   = "sample"
	FromProgram  = "program"
)

// OpeningBody is a question that the operator suggests: what is shown, and what
// is asked.
type OpeningBody struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}
