package openaiface

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// ResponseRequest is what a program asks of /v1/responses. Other members are ignored.
type ResponseRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"` // a text, or a list of items
	Instructions string          `json:"instructions,omitempty"`
	Stream       bool            `json:"stream,omitempty"`
	// PreviousResponseID continues the conversation of an earlier response.
	PreviousResponseID string          `json:"previous_response_id,omitempty"`
	Conversation       json.RawMessage `json:"conversation,omitempty"` // a name, or an object with an id
	Tools              []ResponseTool  `json:"tools,omitempty"`
	ToolChoice         json.RawMessage `json:"tool_choice,omitempty"`
	Metadata           json.RawMessage `json:"metadata,omitempty"`
}

// ResponseTool is a tool of the caller's.
type ResponseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// inputItem is an entry of the input.
type inputItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// responsePrefix begins the ids of responses; what follows is the run's.
const responsePrefix = "resp_"

// read checks the request and puts it into the oracle's terms; before is the
// conversation that it continues.
func (q ResponseRequest) read(h http.Header, before face.Prior) (face.Ask, error) {
	var ask face.Ask
	ask.Conversation = before.Conversation
	if ask.Conversation == "" && len(before.Given) == 0 {
		ask.Conversation = conversationOf(q.Conversation)
		if ask.Conversation == "" {
			ask.Conversation = conversation(h, q.Metadata)
		}
	}
	list := make([]face.Entry, 0, len(before.Given)+1)
	for _, m := range before.Given {
		list = append(list, face.Entry{GivenMessage: m})
	}
	known := len(list)
	list, err := q.items(list)
	if err != nil {
		return ask, err
	}
	if len(list) == known || len(list) > face.MaxMessages {
		return ask, invalid("input", "input must be a text or 1 to %d items", face.MaxMessages)
	}
	ask.Converse(list)
	if ask.Request.Message == "" && len(ask.Request.Results) == 0 && len(ask.Images) == 0 {
		return ask, invalid("input", "the last message has no text")
	}
	ask.Request.Instructions = strings.Trim(face.Storable(q.Instructions)+"\n\n"+ask.Request.Instructions, "\n")
	tools := ChatRequest{ToolChoice: q.ToolChoice}
	for _, t := range q.Tools {
		if t.Type == "function" {
			tools.Tools = append(tools.Tools,
				Tool{Type: t.Type, Function: &Function{Name: t.Name, Description: t.Description, Parameters: t.Parameters}})
		}
	}
	return ask, tools.tools(&ask.Request)
}

// conversationOf reads a name, or an object with an id.
func conversationOf(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return strings.TrimSpace(name)
	}
	var object struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &object) // whatever else it is, it names nothing
	return strings.TrimSpace(object.ID)
}

// items appends what the input says.
func (q ResponseRequest) items(list []face.Entry) ([]face.Entry, error) {
	raw := bytes.TrimSpace(q.Input)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return append(list, face.Entry{GivenMessage: oracle.GivenMessage{Role: plugin.RoleUser, Text: face.Storable(text)}}),
			nil
	}
	var items []inputItem
	if strictjson.Unmarshal(raw, &items) != nil {
		return nil, invalid("input", "input must be a text or a list of items")
	}
	for _, item := range items {
		switch item.Type {
		case "", "message":
			m, err := (ChatMessage{Role: item.Role, Content: item.Content}).read()
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		case "function_call":
			m, err := (ChatMessage{
				Role: "assistant",
				ToolCalls: []ToolCall{{
					ID: item.CallID, Function: FunctionCall{Name: item.Name, Arguments: item.Arguments},
				}},
			}).read()
			if err != nil {
				return nil, err
			}
			if n := len(list); n > 0 && list[n-1].Role == plugin.RoleAssistant { // calls of one answer
				list[n-1].Calls = append(list[n-1].Calls, m.Calls...)
				continue
			}
			list = append(list, m)
		case "function_call_output":
			m, err := (ChatMessage{Role: "tool", ToolCallID: item.CallID, Content: item.Output}).read()
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		case "reasoning", "item_reference": // of models and answers that are not ours to read
		default:
			return nil, invalid("input", "an item of the type %.64q cannot be read here", item.Type)
		}
	}
	return list, nil
}

// Response is an answer.
type Response struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	CreatedAt         int64              `json:"created_at"`
	Status            string             `json:"status"`
	Error             *ResponseError     `json:"error"`
	Incomplete        *IncompleteDetails `json:"incomplete_details"`
	Instructions      *string            `json:"instructions"`
	Metadata          map[string]string  `json:"metadata"`
	Model             string             `json:"model"`
	Output            []OutputItem       `json:"output"`
	ParallelToolCalls bool               `json:"parallel_tool_calls"`
	PreviousResponse  *string            `json:"previous_response_id"`
	ToolChoice        string             `json:"tool_choice"`
	Tools             []ResponseTool     `json:"tools"`
	Usage             *ResponseUsage     `json:"usage"`
}

// ResponseError says why a response failed.
type ResponseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// IncompleteDetails says why a response is not whole.
type IncompleteDetails struct {
	Reason string `json:"reason"`
}

// OutputItem is a message, or a call for the caller.
type OutputItem struct {
	ID        string       `json:"id"`
	Type      string       `json:"type"`
	Status    string       `json:"status"`
	Role      string       `json:"role,omitempty"`
	Content   []OutputText `json:"content,omitzero"`
	CallID    string       `json:"call_id,omitempty"`
	Name      string       `json:"name,omitempty"`
	Arguments *string      `json:"arguments,omitempty"`
}

// OutputText is the text of a message.
type OutputText struct {
	Type        string        `json:"type"`
	Text        string        `json:"text"`
	Annotations []URLCitation `json:"annotations"`
	Logprobs    []struct{}    `json:"logprobs"`
}

// ResponseUsage counts tokens.
type ResponseUsage struct {
	InputTokens   int64         `json:"input_tokens"`
	InputDetails  PromptDetails `json:"input_tokens_details"`
	OutputTokens  int64         `json:"output_tokens"`
	OutputDetails OutputDetails `json:"output_tokens_details"`
	TotalTokens   int64         `json:"total_tokens"`
}

func outputText(text string) OutputText {
	return OutputText{Type: "output_text", Text: text, Annotations: []URLCitation{}, Logprobs: []struct{}{}}
}

// respond answers /v1/responses.
func (a *api) respond(w http.ResponseWriter, r *http.Request) error {
	answer, b, stream, err := a.beginResponse(w, r)
	if err != nil {
		return err
	}
	defer answer.Close()
	w.Header().Set(facehttp.HeaderRunID, answer.RunID)
	if stream {
		return b.stream(w, r, answer)
	}
	end, err := answer.Follow(r.Context(), httpserver.Draining(r.Context()), true, b)
	if err != nil {
		return err
	}
	b.end(end)
	if err := httpserver.WriteJSON(w, http.StatusOK, b.Response); err != nil {
		return err
	}
	answer.Arrived(r.Context())
	return nil
}

// beginResponse reads the request and starts its turn. What was read is not
// kept while the answer is written.
func (a *api) beginResponse(w http.ResponseWriter, r *http.Request) (*face.Answer, *response, bool, error) {
	who, err := facehttp.Caller(r)
	if err != nil {
		return nil, nil, false, err
	}
	var body ResponseRequest
	if err := facehttp.ReadBody(w, r, &body); err != nil {
		return nil, nil, false, err
	}
	var before face.Prior
	if id := body.PreviousResponseID; id != "" {
		if before, err = a.deps.Faces.Prior(r.Context(), who.DID, strings.TrimPrefix(id, responsePrefix)); err != nil {
			return nil, nil, false, about(err, "previous_response_id")
		}
	}
	ask, err := body.read(r.Header, before)
	if err != nil {
		return nil, nil, false, err
	}
	ask.Who = who
	answer, err := a.ask(r, ask, body.Model)
	if err != nil {
		return nil, nil, false, err
	}
	b := &response{base: httpserver.AbsoluteBase(r), Response: Response{
		ID: responsePrefix + answer.RunID, Object: "response", CreatedAt: answer.Created.Unix(), Status: "in_progress",
		Model:    body.Model,
		Metadata: map[string]string{}, Output: []OutputItem{}, ParallelToolCalls: true, ToolChoice: "auto",
		Tools: []ResponseTool{},
	}}
	if body.PreviousResponseID != "" {
		b.PreviousResponse = &body.PreviousResponseID
	}
	return answer, b, body.Stream, nil
}

// about says which member of a request a refusal is about.
func about(err error, param string) error {
	if e := fault.From(err); e.Kind == fault.Invalid {
		return fault.Wrap(e.Kind, e.Message, err).WithCode(e.Code).WithField(fieldParam, param)
	}
	return err
}
