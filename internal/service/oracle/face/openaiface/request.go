package openaiface

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// ChatRequest is what a program asks. Other members are ignored.
type ChatRequest struct {
	Model         string          `json:"model"`
	Messages      []ChatMessage   `json:"messages"`
	Stream        bool            `json:"stream,omitempty"`
	StreamOptions *StreamOptions  `json:"stream_options,omitempty"`
	Tools         []Tool          `json:"tools,omitempty"`
	ToolChoice    json.RawMessage `json:"tool_choice,omitempty"`
	N             *int            `json:"n,omitempty"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	// ResponseFormat is passed on to the model as a wish.
	ResponseFormat *ResponseFormat `json:"response_format,omitempty"`
}

// StreamOptions asks for a last chunk with the usage.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage,omitempty"`
}

// ChatMessage is one entry of the conversation.
type ChatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"` // a text, a list of parts, or null
	ToolCalls  []ToolCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// ToolCall is a call that the caller is to run, or has run.
type ToolCall struct {
	// Index tells the calls of a stream apart; whole answers have none.
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function FunctionCall `json:"function"`
}

// FunctionCall is the call itself; its arguments are JSON in a string.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool is a tool of the caller's.
type Tool struct {
	Type     string    `json:"type"`
	Function *Function `json:"function,omitempty"`
}

// Function describes it.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// ResponseFormat is the form that the answer should have.
type ResponseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema,omitempty"`
}

// part is an element of a message's content.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // an object, or a text in some programs
	File     *struct {
		Filename string `json:"filename"`
	} `json:"file"`
}

// read checks the request and puts it into the oracle's terms.
func (q ChatRequest) read(h http.Header) (face.Ask, error) {
	var ask face.Ask
	if q.N != nil && *q.N != 1 {
		return ask, invalid("n", "n must be 1: there is one answer")
	}
	if len(q.Messages) == 0 || len(q.Messages) > face.MaxMessages {
		return ask, invalid("messages", "messages must have 1 to %d entries", face.MaxMessages)
	}
	list := make([]face.Entry, 0, len(q.Messages))
	for _, m := range q.Messages {
		one, err := m.read()
		if err != nil {
			return ask, err
		}
		list = append(list, one)
	}
	ask.Conversation = conversation(h, q.Metadata)
	ask.Converse(list)
	if ask.Request.Message == "" && len(ask.Request.Results) == 0 && len(ask.Images) == 0 {
		return ask, invalid("messages", "the last message has no text")
	}
	if err := q.tools(&ask.Request); err != nil {
		return ask, err
	}
	if wish := q.ResponseFormat.wish(); wish != "" {
		ask.Request.Instructions = strings.TrimPrefix(ask.Request.Instructions+"\n\n"+wish, "\n\n")
	}
	return ask, nil
}

// conversation is the name that the caller gives the conversation, if any.
func conversation(h http.Header, metadata json.RawMessage) string {
	var named struct {
		SessionID any `json:"session_id"`
	}
	_ = strictjson.Unmarshal(metadata, &named) // whatever else it is, it names nothing
	id, _ := named.SessionID.(string)
	return strings.TrimSpace(cmp.Or(h.Get(headerConversation), h.Get(headerOpenWebUI), id))
}

func (m ChatMessage) read() (face.Entry, error) {
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
				return out, invalid("messages", "the id and the name of a tool call have at most %d bytes", face.MaxName)
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
			return out, invalid("messages", "a message with the role tool needs a tool_call_id of at most %d bytes", face.MaxName)
		}
	default:
		return out, invalid("messages", "role must be one of system, developer, user, assistant, tool")
	}
	text, images, ok := face.Content(m.Content, part.read)
	if !ok {
		return out, invalid("messages", "content must be a string or a list of parts")
	}
	out.Text, out.Images = face.Storable(text), images
	return out, nil
}

// read makes a text or a picture of a part.
func (p part) read() (text string, image plugin.Image, shown bool) {
	switch p.Type {
	case "text", "input_text", "output_text":
		return p.Text, image, false
	case "refusal":
		return p.Refusal, image, false
	case "image_url", "input_image":
		image, shown = picture(p.ImageURL)
		return "[a picture that was not sent along]", image, shown
	case "file", "input_file":
		name := ""
		if p.File != nil {
			name = " " + p.File.Filename
		}
		return "[the file" + name + ", which cannot be read here]", image, false
	}
	return "[something that cannot be read here: " + p.Type + "]", image, false
}

// picture reads a data: address. Others are not fetched.
func picture(raw json.RawMessage) (plugin.Image, bool) {
	var address string
	if json.Unmarshal(raw, &address) != nil {
		var object struct {
			URL string `json:"url"`
		}
		if strictjson.Unmarshal(raw, &object) != nil {
			return plugin.Image{}, false
		}
		address = object.URL
	}
	return face.Picture(address)
}

// tools reads the caller's tools.
func (q ChatRequest) tools(into *oracle.TurnRequest) error {
	if string(bytes.TrimSpace(q.ToolChoice)) == `"none"` {
		return nil
	}
	for _, t := range q.Tools {
		f := t.Function
		if f == nil { // a tool of OpenAI's own, such as a web search
			continue
		}
		if err := face.DeclareTool(into, f.Name, f.Description, f.Parameters); err != nil {
			return about(err, "tools")
		}
	}
	return nil
}

// wish says in words what form the answer should have.
func (f *ResponseFormat) wish() string {
	switch {
	case f == nil:
	case f.Type == "json_object":
		return "Answer with one JSON object and nothing else."
	case f.Type == "json_schema" && f.JSONSchema != nil:
		return "Answer with JSON that follows this schema, and nothing else:\n" + string(f.JSONSchema.Schema)
	}
	return ""
}
