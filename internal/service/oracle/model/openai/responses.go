package openai

import (
	"encoding/json"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// The request of the responses wire. Nothing is stored at the endpoint, so that
// reasoning comes back encrypted and is resent with what followed it.
type itemRequest struct {
	Model           string           `json:"model"`
	Instructions    string           `json:"instructions,omitempty"`
	Input           []map[string]any `json:"input"`
	Tools           []map[string]any `json:"tools,omitempty"`
	ToolChoice      string           `json:"tool_choice,omitempty"`
	Stream          bool             `json:"stream"`
	Store           bool             `json:"store"`
	Include         []string         `json:"include,omitempty"`
	MaxOutputTokens int              `json:"max_output_tokens,omitempty"`
	PromptCacheKey  string           `json:"prompt_cache_key,omitempty"`
	Temperature     *float64         `json:"temperature,omitempty"`
	// Reasoning says how much the model is to think.
	Reasoning map[string]string `json:"reasoning,omitempty"`
}

func (p *Provider) items(req plugin.ModelRequest, info model.Info, tag wire.Tag, m manners,
	names *wire.Names,
) itemRequest {
	out := itemRequest{
		Model: tag.Model, Instructions: req.System, Input: []map[string]any{}, Stream: true,
		MaxOutputTokens: req.MaxTokens, PromptCacheKey: req.Session, Temperature: info.Temperature,
	}
	if info.Effort != "" {
		out.Reasoning = map[string]string{"effort": info.Effort}
	}
	if !m.plain {
		out.Include = []string{"reasoning.encrypted_content"}
	}
	for _, msg := range req.Messages {
		if m.stateless {
			msg.State = nil
		}
		out.Input = append(out.Input, itemsOf(msg, tag, names)...)
	}
	for _, t := range req.Tools { // a schema of somebody else is not strict
		out.Tools = append(out.Tools, map[string]any{
			"type": "function", "name": names.Wire(t.Name), "description": t.Description, "parameters": wire.Schema(t.Schema), "strict": false,
		})
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	return out
}

func itemsOf(m plugin.ModelMessage, tag wire.Tag, names *wire.Names) []map[string]any {
	switch m.Role {
	case plugin.RoleTool:
		return []map[string]any{{"type": "function_call_output", "call_id": wire.CallID(m.ToolCallID), "output": wire.TextWithNote(m)}}
	case plugin.RoleAssistant:
		return saidItems(m, tag, names)
	}
	content := []map[string]any{{"type": "input_text", "text": wire.TextWithNote(m)}}
	for _, img := range m.Images {
		content = append(content, map[string]any{"type": "input_image", "image_url": dataURL(img)})
	}
	return []map[string]any{{"type": "message", "role": string(m.Role), "content": content}}
}

// saidItems are what the model said, in its order. Reasoning that nothing follows
// any more is left out: it would be refused.
func saidItems(m plugin.ModelMessage, tag wire.Tag, names *wire.Names) []map[string]any {
	var out, thoughts []map[string]any
	for _, part := range tag.Parts(m) {
		var item map[string]any
		switch {
		case len(part.Own) > 0:
			if json.Unmarshal(part.Own, &item) == nil {
				thoughts = append(thoughts, item)
			}
			continue
		case part.Call != nil:
			item = map[string]any{
				"type": "function_call", "call_id": wire.CallID(part.Call.ID), "name": names.Wire(part.Call.Name),
				"arguments": string(part.Call.Args),
			}
		case part.Text == "":
			continue
		default:
			item = map[string]any{"type": "message", "role": "assistant", "content": []map[string]any{{"type": "output_text", "text": part.Text}}}
			if part.Phase != "" {
				item["phase"] = part.Phase
			}
		}
		out = append(append(out, thoughts...), item)
		thoughts = nil
	}
	return out
}

// The answer of the responses wire.
type (
	itemEvent struct {
		Type        string          `json:"type"`
		OutputIndex int             `json:"output_index"`
		Delta       string          `json:"delta"`
		Item        json.RawMessage `json:"item"`
		Response    itemResponse    `json:"response"`
	}
	itemResponse struct {
		Model             string            `json:"model"`
		Status            string            `json:"status"`
		Output            []json.RawMessage `json:"output"`
		Error             json.RawMessage   `json:"error"`
		IncompleteDetails struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage struct {
			Input        int64 `json:"input_tokens"`
			Output       int64 `json:"output_tokens"`
			InputDetails struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"input_tokens_details"`
			OutputDetails struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		} `json:"usage"`
	}
	item struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Phase     string `json:"phase"`
		Encrypted string `json:"encrypted_content"`
		Content   []struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
		} `json:"content"`
	}
)

// itemAnswer reads a stream of items.
type itemAnswer struct {
	*wire.Answer
	client *wire.Client
	// heard is the item whose text came in pieces, from 1.
	heard   int
	refused bool
}

// Event takes one event. Unknown ones are for others.
func (a *itemAnswer) Event(e sse.Event) (bool, error) {
	var v itemEvent
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return false, a.client.Garbage()
	}
	switch v.Type {
	case "response.output_text.delta", "response.refusal.delta":
		a.heard = v.OutputIndex + 1
		a.refused = a.refused || v.Type == "response.refusal.delta"
		a.Say(v.Delta, "")
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.Say("", v.Delta)
	case "response.function_call_arguments.delta":
		if c := a.call(v.OutputIndex); c != nil {
			c.Args.WriteString(v.Delta)
		}
	case "response.output_item.added":
		var i item
		if json.Unmarshal(v.Item, &i) == nil && i.Type == "function_call" {
			a.Begin(&wire.Call{Index: v.OutputIndex, ID: i.CallID, Name: i.Name})
		}
	case "response.output_item.done":
		a.done(v.OutputIndex, v.Item)
	case "response.completed", "response.incomplete", "response.failed":
		return true, a.over(v.Response)
	case "error":
		return false, a.client.Failure(e.Data)
	}
	return false, nil
}

// End is too early without the end of the response.
func (a *itemAnswer) End() error { return a.client.Truncated() }

// Whole takes an answer that was not streamed.
func (a *itemAnswer) Whole(body []byte) error {
	var v itemResponse
	if err := json.Unmarshal(body, &v); err != nil {
		return a.client.Garbage()
	}
	for i, raw := range v.Output {
		a.done(i, raw)
	}
	return a.over(v)
}

func (a *itemAnswer) call(index int) *wire.Call {
	for _, c := range a.Calls {
		if c.Index == index {
			return c
		}
	}
	return nil
}

// done takes an item that is complete, of which pieces may have been heard.
func (a *itemAnswer) done(index int, raw json.RawMessage) {
	var i item
	if json.Unmarshal(raw, &i) != nil {
		return
	}
	switch i.Type {
	case "reasoning":
		if i.Encrypted != "" {
			a.Keep(nameless(raw))
		}
	case "function_call":
		c := a.call(index)
		if c == nil {
			c = a.Begin(&wire.Call{Index: index, ID: i.CallID, Name: i.Name})
		}
		c.Args.Reset()
		c.Args.WriteString(i.Arguments)
	case "message":
		for _, part := range i.Content {
			if a.heard == index+1 {
				break
			}
			a.refused = a.refused || part.Refusal != ""
			a.Say(part.Text+part.Refusal, "")
		}
		a.KeepPhase(i.Phase)
	}
}

// nameless is an item without its id, which means nothing where nothing is stored.
func nameless(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	delete(fields, "id")
	delete(fields, "status")
	out, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return out
}

func (a *itemAnswer) over(r itemResponse) error {
	if r.Status == "failed" || len(r.Error) > 0 && string(r.Error) != "null" {
		return a.client.Failure(r.Error)
	}
	a.Model = r.Model
	a.Usage = plugin.Usage{
		InputTokens: r.Usage.Input, OutputTokens: r.Usage.Output,
		CachedTokens: r.Usage.InputDetails.Cached, ReasoningTokens: r.Usage.OutputDetails.Reasoning,
	}
	switch {
	case r.IncompleteDetails.Reason == "content_filter":
		a.Finish = wire.FinishFilter
	case r.Status == "incomplete":
		a.Finish = wire.FinishLength
	case a.refused:
		a.Finish = wire.FinishRefusal
	case len(a.Calls) > 0:
		a.Finish = wire.FinishCalls
	default:
		a.Finish = wire.FinishStop
	}
	return nil
}
