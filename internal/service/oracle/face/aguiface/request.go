package aguiface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// RunAgentInput is what a program asks. Other members are ignored.
type RunAgentInput struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	// ProtocolVersion is missing before 1.0.
	ProtocolVersion string            `json:"protocolVersion,omitempty"`
	State           json.RawMessage   `json:"state,omitempty"`
	Messages        []json.RawMessage `json:"messages"`
	Tools           []Tool            `json:"tools,omitempty"`
	Context         []Context         `json:"context,omitempty"`
	Resume          []ResumeEntry     `json:"resume,omitempty"`
}

// Tool is a tool of the page's.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Context is something that the page knows.
type Context struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// ResumeEntry answers an interrupt. Its payload is {"approved": true} or {"approved": false},
// with a "content" where the interrupt asks for one.
type ResumeEntry struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload,omitempty"`
}

// message is an entry of the conversation.
type message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"toolCallId"`
	Error      string          `json:"error"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"toolCalls"`
}

// part is an element of a message's content.
type part struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MimeType string `json:"mimeType"`
	} `json:"source"`
	// Before version 1.0.
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
}

// input is a request as it was read.
type input struct {
	ask face.Ask
	// decided are the answers to interrupts.
	decided []face.Decided
	// says tells whether there is something behind the last that we said; last is the run that said
	// it.
	says bool
	last string
	// state is the page's, if it has any.
	state json.RawMessage
	names []string // of all messages, by their place
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...))
}

// runIDLength is how long the ids of runs are, with which those of our messages begin.
const runIDLength = 36

// runOf is the run whose message has the id, if it is one of ours.
func runOf(id string) string {
	if len(id) > runIDLength && id[runIDLength] == '.' {
		return id[:runIDLength]
	}
	return ""
}

// read checks the request and puts it into the oracle's terms.
func (q RunAgentInput) read() (input, error) {
	in := input{ask: face.Ask{Conversation: q.ThreadID, Named: true}}
	if !oracle.PlausibleID(q.ThreadID) || !oracle.PlausibleID(q.RunID) || len(q.ThreadID) > face.MaxConversation ||
		len(q.RunID) > face.MaxConversation {
		return in, invalid("threadId and runId have 1 to %d bytes and no control characters", face.MaxConversation)
	}
	if len(q.Messages) > face.MaxMessages {
		return in, invalid("messages must have at most %d entries", face.MaxMessages)
	}
	var list []face.Entry
	for _, raw := range q.Messages {
		var m message
		if err := strictjson.Unmarshal(raw, &m); err != nil {
			return in, invalid("messages must be objects with an id and a role")
		}
		in.names = append(in.names, m.ID)
		ours := runOf(m.ID)
		if m.Role == "activity" || m.Role == "reasoning" {
			continue
		}
		if in.says = ours == ""; in.says {
			in.ask.Names = append(in.ask.Names, m.ID)
		} else {
			in.last = ours
		}
		if ours != "" && m.Role == "tool" { // the session has it
			continue
		}
		one, err := m.read()
		if err != nil {
			return in, err
		}
		list = append(list, one)
	}
	in.ask.Converse(list)
	in.ask.Request.Asks, in.ask.Request.Fills = true, true
	in.ask.Said = nil // the session has the history, and names tell requests apart
	for _, t := range q.Tools {
		if err := face.DeclareTool(&in.ask.Request, t.Name, t.Description, t.Parameters); err != nil {
			return in, err
		}
	}
	if state := bytes.TrimSpace(q.State); len(state) > 0 && !bytes.Equal(state, []byte("null")) &&
		!bytes.Equal(state, []byte("{}")) {
		in.state = state
	}
	in.ask.Request.Instructions = q.instructions(in)
	var err error
	in.decided, err = q.decided()
	return in, err
}

// instructions are the caller's, with what the page knows.
func (q RunAgentInput) instructions(in input) string {
	texts := []string{in.ask.Request.Instructions}
	for _, c := range q.Context {
		texts = append(texts, face.Storable(c.Description+":\n"+c.Value))
	}
	if in.state != nil {
		texts = append(texts, "The state of the page that the user sees, as JSON:\n"+face.Storable(string(in.state)))
	}
	return strings.TrimPrefix(strings.Join(texts, "\n\n"), "\n\n")
}

// decided reads the answers to interrupts.
func (q RunAgentInput) decided() ([]face.Decided, error) {
	var out []face.Decided
	for _, r := range q.Resume {
		d := face.Decided{ApprovalID: r.InterruptID, Decision: oracle.Deny}
		switch r.Status {
		case "cancelled":
		case "resolved":
			var payload struct {
				Approved *bool           `json:"approved"`
				Content  json.RawMessage `json:"content"`
			}
			if strictjson.Unmarshal(r.Payload, &payload) != nil || payload.Approved == nil {
				return nil, invalid(`the payload of a resolved interrupt must be {"approved": true} or {"approved": false}`)
			}
			if *payload.Approved {
				d.Decision, d.Content = oracle.Approve, payload.Content
			}
		default:
			return nil, invalid("the status of a resume entry must be resolved or cancelled")
		}
		out = append(out, d)
	}
	return out, nil
}

func (m message) read() (face.Entry, error) {
	var out face.Entry
	switch m.Role {
	case "system", "developer":
		out.System = true
	case "user":
		out.Role = plugin.RoleUser
	case "assistant":
		out.Role = plugin.RoleAssistant
		for _, c := range m.ToolCalls {
			if len(c.ID) > face.MaxName || len(c.Function.Name) > face.MaxName {
				return out, invalid("the id and the name of a tool call have at most %d bytes", face.MaxName)
			}
			args := json.RawMessage(c.Function.Arguments)
			if !json.Valid(args) {
				args = json.RawMessage(`{}`)
			}
			out.Calls = append(out.Calls, plugin.ModelToolCall{
				ID: face.Storable(c.ID), Name: face.Storable(c.Function.Name), Args: args,
			})
		}
	case "tool":
		out.Role, out.CallID = plugin.RoleTool, face.Storable(m.ToolCallID)
		if m.ToolCallID == "" || len(m.ToolCallID) > face.MaxName {
			return out, invalid("a message with the role tool needs a toolCallId of at most %d bytes", face.MaxName)
		}
	default:
		return out, invalid("role must be one of system, developer, user, assistant, tool, activity, reasoning")
	}
	text, images, ok := face.Content(m.Content, part.read)
	if !ok {
		return out, invalid("content must be a string or a list of parts")
	}
	if m.Error != "" {
		text = strings.TrimPrefix(text+"\n"+m.Error, "\n")
	}
	out.Text, out.Images = face.Storable(text), images
	return out, nil
}

// read makes a text or a picture of a part.
func (p part) read() (text string, image plugin.Image, shown bool) {
	switch p.Type {
	case "text":
		return p.Text, image, false
	case "image", "binary":
		address := ""
		switch {
		case p.Source.Type == "data":
			address = "data:" + p.Source.MimeType + ";base64," + p.Source.Value
		case p.Data != "":
			address = "data:" + p.MimeType + ";base64," + p.Data
		}
		image, shown = face.Picture(address)
		return "[something that was not sent along, or is no picture]", image, shown
	}
	return fmt.Sprintf("[something that cannot be read here: %.64q]", p.Type), image, false
}
