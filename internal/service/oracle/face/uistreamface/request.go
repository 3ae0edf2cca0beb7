package uistreamface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/plugin"
)

// ChatRequest is what a page sends. Other members are ignored.
type ChatRequest struct {
	ID       string    `json:"id"`
	Messages []Message `json:"messages"`
	// Tools are the page's own, which useChat runs: the body of the transport may name some.
	Tools []Tool `json:"tools,omitempty"`
}

// Message is a UIMessage.
type Message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is an element of a message. Members of other types of parts are ignored.
type Part struct {
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"`
	URL        string          `json:"url,omitempty"`
	Filename   string          `json:"filename,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	State      string          `json:"state,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	ErrorText  string          `json:"errorText,omitempty"`
	Ours       bool            `json:"providerExecuted,omitempty"`
	Approval   *Approval       `json:"approval,omitempty"`
}

// Approval is what the user said about a call that waits.
type Approval struct {
	ID       string `json:"id"`
	Approved *bool  `json:"approved,omitempty"`
}

// Tool is a tool of the page's.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// input is a request as it was read.
type input struct {
	ask     face.Ask
	decided []face.Decided
	// continues says that the answer goes on with the page's last message.
	continues bool
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...))
}

// read checks the request and puts it into the oracle's terms.
func (q ChatRequest) read() (input, error) {
	in := input{ask: face.Ask{Conversation: q.ID, Named: true}}
	if !oracle.PlausibleID(q.ID) || len(q.ID) > face.MaxConversation {
		return in, invalid("the id of a chat has 1 to %d bytes and no control characters", face.MaxConversation)
	}
	if len(q.Messages) == 0 || len(q.Messages) > face.MaxMessages {
		return in, invalid("messages must have 1 to %d entries", face.MaxMessages)
	}
	var list []face.Entry
	for i, m := range q.Messages {
		in.ask.Names = append(in.ask.Names, m.ID)
		switch last := i == len(q.Messages)-1; m.Role {
		case "system":
			one := m.entry()
			one.System = true
			list = append(list, one)
		case "user":
			list = append(list, m.entry())
		case "assistant":
			list = append(list, face.Entry{GivenMessage: oracle.GivenMessage{Role: plugin.RoleAssistant}})
			if !last {
				continue
			}
			in.continues = true
			in.decided = m.decided()
			results, err := m.results(&list[len(list)-1])
			if err != nil {
				return in, err
			}
			list = append(list, results...)
		default:
			return in, invalid("role must be one of system, user, assistant")
		}
	}
	in.ask.Converse(list)
	in.ask.Request.Asks = true
	in.ask.Said = nil // the session has the history, and names tell requests apart
	for _, t := range q.Tools {
		if err := face.DeclareTool(&in.ask.Request, t.Name, t.Description, t.InputSchema); err != nil {
			return in, err
		}
	}
	return in, nil
}

// entry is what a person or a program says in a message. What a model cannot be shown is
// named, so that it can say so.
func (m Message) entry() face.Entry {
	out := face.Entry{GivenMessage: oracle.GivenMessage{Role: plugin.RoleUser}}
	var texts []string
	for _, p := range m.Parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "file":
			if image, ok := face.Picture(p.URL); ok {
				out.Images = append(out.Images, image)
			} else {
				texts = append(texts, strings.TrimSuffix("[the file "+p.Filename, " ")+", which cannot be read here]")
			}
		}
	}
	out.Text = face.Storable(strings.Join(texts, "\n"))
	return out
}

// lastStep are the parts of the message's last step.
func (m Message) lastStep() []Part {
	for i, p := range slices.Backward(m.Parts) {
		if p.Type == "step-start" {
			return m.Parts[i+1:]
		}
	}
	return m.Parts
}

// decided are the user's answers to calls that wait.
func (m Message) decided() []face.Decided {
	var out []face.Decided
	for _, p := range m.Parts {
		if p.State != "approval-responded" || p.Approval == nil || p.Approval.Approved == nil {
			continue
		}
		d := face.Decided{ApprovalID: p.Approval.ID, Decision: oracle.Deny}
		if *p.Approval.Approved {
			d.Decision = oracle.Approve
		}
		out = append(out, d)
	}
	return out
}

// results are what the page's tools returned in the last step; their calls go into said.
func (m Message) results(said *face.Entry) ([]face.Entry, error) {
	var out []face.Entry
	for _, p := range m.lastStep() {
		name, ok := strings.CutPrefix(p.Type, "tool-")
		if p.Type == "dynamic-tool" {
			name, ok = p.ToolName, true
		}
		if !ok || p.Ours || p.State != "output-available" && p.State != "output-error" {
			continue
		}
		if p.ToolCallID == "" || len(p.ToolCallID) > face.MaxName || len(name) > face.MaxName {
			return nil, invalid("the id and the name of a tool call have 1 to %d bytes", face.MaxName)
		}
		id, text := face.Storable(p.ToolCallID), p.ErrorText
		if p.State == "output-available" {
			text = output(p.Output)
		}
		said.Calls = append(said.Calls, plugin.ModelToolCall{ID: id, Name: face.Storable(name), Args: json.RawMessage(`{}`)})
		out = append(out,
			face.Entry{GivenMessage: oracle.GivenMessage{Role: plugin.RoleTool, CallID: id, Text: face.Storable(text)}})
	}
	return out, nil
}

// output is a result as a model reads it: texts as they are, all else as JSON.
func output(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(raw))
}
