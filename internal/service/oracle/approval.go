package oracle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/form"
)

// Decision is what became of a call that waited for a person's approval; it is
// empty while it waits.
type Decision string

// A person approves or denies. The other two say that nobody did: in time, or
// before the turn ended otherwise.
const (
	Approve   Decision = "approve"
	Deny      Decision = "deny"
	Expired   Decision = "expired"
	Withdrawn Decision = "withdrawn"
)

// Why a call waits for approval.
const (
	AsksConfirm   = "confirm"   // its tool is marked so
	AsksOperator  = "operator"  // the operator wants people to be asked
	AsksUntrusted = "untrusted" // the turn has read text that may give orders
	// AsksDelegation: it needs what the user has not delegated. POST /delegation is
	// the answer; an approval makes the call look again.
	AsksDelegation = "delegation"
	// AsksInput: its tool has begun, and asks for something that only the person knows.
	AsksInput = "input"
)

// AskedFor is what a call asks its person for, beside the approval.
type AskedFor struct {
	// From names who asks; Message is in their words, not ours.
	From    string `json:"from,omitempty"`
	Message string `json:"message"`
	// Form is a JSON Schema: see package form.
	Form json.RawMessage `json:"form"`
}

// Approval is a tool call that waits, or waited, for the person whose run it is.
type Approval struct {
	ID        string
	RunID     string
	SessionID string
	Owner     string
	// CallID is the call's within its run.
	CallID string
	Tool   string
	Args   json.RawMessage
	// Reason is why it waits.
	Reason    string
	CreatedAt time.Time
	ExpiresAt time.Time
	Decision  Decision
	// AnsweredAt, AnsweredBy and Via are who decided, when and by which way.
	AnsweredAt time.Time
	AnsweredBy string
	Via        string
	// Round is how often the call had asked before; Question is what it asks for, when
	// it asks for more than a yes, and Content what the person said to that.
	Round    int
	Question *AskedFor
	Content  json.RawMessage
}

// The ways by which an answer comes.
const (
	ViaHTTP      = "http"
	ViaSocket    = "socket"
	ViaTelephone = "telephone"
)

// Answer is a person's word on an Approval.
type Answer struct {
	ApprovalID string
	// Owner is whose the approval must be; By names the token that proved it.
	Owner string
	By    string
	// SessionID is where it must be asked; empty means in any session.
	SessionID string
	Via       string
	Decision  Decision
	// Content is what is said to a question; empty for a plain approval.
	Content json.RawMessage
	// InPerson says that the owner speaks. Without it nothing that waits is approved:
	// others may deny, and repeat what was decided.
	InPerson bool
}

// Refusals of answers. An approval of somebody else is not there.
var (
	ErrApprovalNotFound = fault.New(fault.NotFound, "Approval not found")
	ErrAnswered         = fault.New(fault.Conflict, "This call already has a different answer").WithCode("approval_answered")
	ErrApprovalOver     = fault.New(fault.Gone, "This call does not wait for approval any more").WithCode("approval_over")
	ErrNotInPerson      = fault.New(fault.Forbidden, "An approval needs an invocation of your own: an app key may deny, or wait until you have approved elsewhere").WithCode("approval_needs_person")
	ErrNoDecision       = fault.New(fault.Invalid, "decision must be one of the following values: approve, deny")
)

// Fits refuses an answer that is none to the approval: content where nothing was asked
// for, or other content than what was.
func (a Answer) Fits(to Approval) error {
	if to.Question == nil {
		if len(a.Content) > 0 {
			return fault.New(fault.Invalid, "content must be left out: this call asks for a decision alone")
		}
		return nil
	}
	if a.Decision != Approve {
		return nil
	}
	if len(a.Content) == 0 {
		return fault.New(fault.Invalid, "content must have what the call asks for, as its form says; deny to give nothing").WithCode("approval_needs_content")
	}
	asked, err := form.Parse(to.Question.Form)
	if err != nil {
		return fmt.Errorf("read the form of an approval: %w", err)
	}
	if err := asked.Check(a.Content); err != nil {
		return fault.New(fault.Invalid, err.Error())
	}
	return nil
}

// AnswerSchema is the JSON Schema of an answer. Arguments cannot be changed: who
// wants others denies the call, and says so.
func (a Approval) AnswerSchema() json.RawMessage {
	content := ""
	if a.Question != nil {
		content = `,"content":` + string(a.Question.Form)
	}
	return json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","enum":["approve","deny"]}` + content + `},"required":["decision"]}`)
}

// ApprovalBody is an approval as pages see it.
type ApprovalBody struct {
	ID         string          `json:"id"`
	RunID      string          `json:"runId"`
	SessionID  string          `json:"sessionId"`
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Args       json.RawMessage `json:"args"`
	Reason     string          `json:"reason"`
	Schema     json.RawMessage `json:"schema"`
	// Question is what is asked for; absent when a decision is enough.
	Question   *AskedFor `json:"question,omitempty"`
	CreatedAt  string    `json:"createdAt"`
	ExpiresAt  string    `json:"expiresAt"`
	Decision   Decision  `json:"decision,omitempty"`
	AnsweredAt string    `json:"answeredAt,omitempty"`
}

// Body is the approval as pages see it.
func (a Approval) Body() ApprovalBody {
	b := ApprovalBody{
		ID: a.ID, RunID: a.RunID, SessionID: a.SessionID, ToolCallID: a.CallID, ToolName: a.Tool, Args: a.Args,
		Reason: a.Reason, Question: a.Question,
		Schema: a.AnswerSchema(), CreatedAt: Timestamp(a.CreatedAt), ExpiresAt: Timestamp(a.ExpiresAt), Decision: a.Decision,
	}
	if !a.AnsweredAt.IsZero() {
		b.AnsweredAt = Timestamp(a.AnsweredAt)
	}
	return b
}

// ApprovalBodies is a list of approvals as pages see it.
func ApprovalBodies(list []Approval) []ApprovalBody {
	out := make([]ApprovalBody, 0, len(list))
	for _, a := range list {
		out = append(out, a.Body())
	}
	return out
}

// ApprovalRequired tells which calls wait, on the stream and on the socket. The
// run rests until all of them are answered.
type ApprovalRequired struct {
	Address
	RunID     string         `json:"runId"`
	Approvals []ApprovalBody `json:"approvals"`
	Timestamp string         `json:"timestamp"`
}

// ApprovalAnswered tells what was decided about a call, on the stream and on the
// socket.
type ApprovalAnswered struct {
	Address
	RunID      string   `json:"runId"`
	ApprovalID string   `json:"approvalId"`
	ToolCallID string   `json:"toolCallId"`
	ToolName   string   `json:"toolName"`
	Decision   Decision `json:"decision"`
	Timestamp  string   `json:"timestamp"`
}
