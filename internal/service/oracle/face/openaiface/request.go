package openaiface

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// Bounds of a request.
const (
	maxMessages = 4096
	maxTools    = 128
	maxText     = 1 << 20 // bytes of all messages and schemas, which are stored with the run
	maxImages   = 10
	maxName     = 256 // bytes of the name of a call, and of its id
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

// said is a message as it was read.
type said struct {
	oracle.GivenMessage
	system bool
	images []plugin.Image
}

// read checks the request and puts it into the oracle's terms.
func (q ChatRequest) read(h http.Header) (face.Ask, error) {
	var ask face.Ask
	if q.N != nil && *q.N != 1 {
		return ask, invalid("n", "n must be 1: there is one answer")
	}
	if len(q.Messages) == 0 || len(q.Messages) > maxMessages {
		return ask, invalid("messages", "messages must have 1 to %d entries", maxMessages)
	}
	list := make([]said, 0, len(q.Messages))
	for _, m := range q.Messages {
		one, err := m.read()
		if err != nil {
			return ask, err
		}
		list = append(list, one)
	}
	ask.Conversation = conversation(h, q.Metadata)
	fill(&ask, list)
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
	_ = json.Unmarshal(metadata, &named) // whatever else it is, it names nothing
	id, _ := named.SessionID.(string)
	return strings.TrimSpace(cmp.Or(h.Get(headerConversation), h.Get(headerOpenWebUI), id))
}

// fill divides the messages: what follows the last answer is new.
func fill(ask *face.Ask, list []said) {
	q := &ask.Request
	var instructions []string
	list = slices.DeleteFunc(list, func(m said) bool {
		if m.system && m.Text != "" {
			instructions = append(instructions, m.Text)
		}
		return m.system
	})
	q.Instructions = strings.Join(instructions, "\n\n")
	last := len(list) - 1
	for last >= 0 && list[last].Role != plugin.RoleAssistant {
		last--
	}
	names := map[string]string{}
	for _, m := range list[:last+1] {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		ask.Said = append(ask.Said, m.GivenMessage)
	}
	if ask.Conversation == "" {
		q.Given = ask.Said
	}
	var texts []string
	for _, m := range list[last+1:] {
		if m.Role == plugin.RoleTool {
			q.Results = append(q.Results, oracle.ToolCall{ID: m.CallID, Name: names[m.CallID], Status: plugin.Done, Output: m.Text})
			continue
		}
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
		ask.Images = append(ask.Images, m.images...)
	}
	ask.Images = ask.Images[:min(len(ask.Images), maxImages)]
	q.Message = strings.Join(texts, "\n\n")
	if last == len(list)-1 && last >= 0 { // programs ask so for more of an answer
		q.Message = "Go on from where your last answer stopped."
	}
	if q.Message == "" && len(ask.Images) > 0 {
		q.Message = "(a picture)"
	}
}

func (m ChatMessage) read() (said, error) {
	var out said
	switch m.Role {
	case "system", "developer":
		out.system = true
	case "user":
		out.Role = plugin.RoleUser
	case "assistant":
		out.Role = plugin.RoleAssistant
		for _, c := range m.ToolCalls {
			if len(c.ID) > maxName || len(c.Function.Name) > maxName {
				return out, invalid("messages", "the id and the name of a tool call have at most %d bytes", maxName)
			}
			args := json.RawMessage(c.Function.Arguments)
			if !json.Valid(args) {
				args = json.RawMessage(`{}`)
			}
			out.Calls = append(out.Calls, plugin.ModelToolCall{ID: storable(c.ID), Name: storable(c.Function.Name), Args: args})
		}
	case "tool":
		out.Role, out.CallID = plugin.RoleTool, storable(m.ToolCallID)
		if m.ToolCallID == "" || len(m.ToolCallID) > maxName {
			return out, invalid("messages", "a message with the role tool needs a tool_call_id of at most %d bytes", maxName)
		}
	default:
		return out, invalid("messages", "role must be one of system, developer, user, assistant, tool")
	}
	text, images, err := content(m.Content)
	out.Text, out.images = storable(text), images
	return out, err
}

// storable is a text that both engines keep.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// content reads a text, or a list of parts. What a model can not be shown is
// named, so that it can say so.
func content(raw json.RawMessage) (string, []plugin.Image, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		return "", nil, invalid("messages", "content must be a string or a list of parts")
	}
	var texts []string
	var images []plugin.Image
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		case "image_url", "input_image":
			if image, ok := picture(p.ImageURL); ok {
				images = append(images, image)
			} else {
				texts = append(texts, "[a picture that was not sent along]")
			}
		case "file", "input_file":
			name := ""
			if p.File != nil {
				name = " " + p.File.Filename
			}
			texts = append(texts, "[the file"+name+", which can not be read here]")
		default:
			texts = append(texts, "[something that can not be read here: "+p.Type+"]")
		}
	}
	return strings.Join(texts, "\n"), images, nil
}

// picture reads a data: address. Others are not fetched.
func picture(raw json.RawMessage) (plugin.Image, bool) {
	var address string
	if json.Unmarshal(raw, &address) != nil {
		var object struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(raw, &object) != nil {
			return plugin.Image{}, false
		}
		address = object.URL
	}
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		return plugin.Image{}, false
	}
	media, data, ok := strings.Cut(rest, ";base64,")
	if !ok || !strings.HasPrefix(media, "image/") {
		return plugin.Image{}, false
	}
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return plugin.Image{}, false
	}
	return plugin.Image{MediaType: media, Data: decoded}, true
}

// tools reads the caller's tools.
func (q ChatRequest) tools(into *oracle.TurnRequest) error {
	if len(q.Tools) > maxTools {
		return invalid("tools", "tools must have at most %d entries", maxTools)
	}
	if string(bytes.TrimSpace(q.ToolChoice)) == `"none"` {
		return nil
	}
	seen := map[string]bool{}
	for _, t := range q.Tools {
		f := t.Function
		if f == nil { // a tool of OpenAI's own, such as a web search
			continue
		}
		if !registry.ValidToolName(f.Name) || slices.Contains(turn.ReservedTools(), f.Name) || seen[f.Name] {
			return invalid("tools", "the tool name %.64q is not allowed, or given twice", f.Name)
		}
		seen[f.Name] = true
		into.CallerTools = append(into.CallerTools, oracle.DeclaredTool{Name: f.Name, Description: f.Description, Schema: f.Parameters})
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
