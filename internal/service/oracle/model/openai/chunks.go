package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// The answer, in chunks or whole.
type (
	chunk struct {
		Model   string                  `json:"model"`
		Choices []choice                `json:"choices"`
		Usage   *usage                  `json:"usage"`
		XGroq   *struct{ Usage *usage } `json:"x_groq"`
		Error   json.RawMessage         `json:"error"`
	}
	choice struct {
		Index        int    `json:"index"`
		Delta        delta  `json:"delta"`
		Message      delta  `json:"message"`
		FinishReason string `json:"finish_reason"`
	}
	delta struct {
		Content          json.RawMessage   `json:"content"`
		Refusal          string            `json:"refusal"`
		ReasoningContent *string           `json:"reasoning_content"`
		Reasoning        string            `json:"reasoning"`
		ReasoningDetails []json.RawMessage `json:"reasoning_details"`
		ToolCalls        []deltaCall       `json:"tool_calls"`
		ExtraContent     json.RawMessage   `json:"extra_content"`
	}
	usage struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
		TotalTokens      int64 `json:"total_tokens"`
		CacheHitTokens   int64 `json:"prompt_cache_hit_tokens"` // DeepSeek
		PromptDetails    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// chatAnswer reads a stream.
type chatAnswer struct {
	*wire.Answer
	client   *wire.Client
	calls    resolver
	thinking thinking
	refused  bool
	// thoughts are those that came as reasoning_content, and details as they came.
	thoughts strings.Builder
	details  details
	// lonely is told when an answer had a closing tag without an opening one.
	lonely func()
}

func newChatAnswer(a *wire.Answer, client *wire.Client, m manners, lonely func()) *chatAnswer {
	out := &chatAnswer{Answer: a, client: client, calls: resolver{a}, lonely: lonely}
	if m.prefilledThinks {
		out.thinking = prefilled()
	}
	a.State = out.state
	return out
}

// state is what the endpoint may want back.
func (a *chatAnswer) state(tag wire.Tag) *plugin.ModelState {
	s := chatState{Details: a.details.list()}
	if len(a.Calls) > 0 {
		s.Thoughts = a.thoughts.String()
	}
	for i, c := range a.Calls {
		if len(c.Extra) == 0 {
			continue
		}
		for len(s.Extra) < i {
			s.Extra = append(s.Extra, json.RawMessage("null"))
		}
		s.Extra = append(s.Extra, c.Extra)
	}
	if s.Thoughts == "" && len(s.Details) == 0 && len(s.Extra) == 0 {
		return nil
	}
	return tag.State(s)
}

// Event takes one chunk.
func (a *chatAnswer) Event(e sse.Event) (bool, error) {
	data := strings.TrimSpace(string(e.Data))
	if data == "[DONE]" {
		return true, a.complete()
	}
	if data == "" {
		return false, nil
	}
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return false, a.client.Garbage()
	}
	if e.Name == "error" && len(c.Error) == 0 { // LM Studio
		return false, a.client.Failure([]byte(data))
	}
	return false, a.take(c, false)
}

// End accepts endpoints that do not say [DONE] after a finished answer.
func (a *chatAnswer) End() error {
	if a.Finish == "" {
		return a.client.Truncated()
	}
	return a.complete()
}

// Whole takes an answer that was not streamed.
func (a *chatAnswer) Whole(body []byte) error {
	var c chunk
	if err := json.Unmarshal(body, &c); err != nil {
		return a.client.Garbage()
	}
	if err := a.take(c, true); err != nil {
		return err
	}
	return a.complete()
}

// complete refuses an answer that says it is over but has no end.
func (a *chatAnswer) complete() error {
	text, thought := a.thinking.end()
	a.Say(text, thought)
	if a.thinking.alone && a.Empty() { // it has answered without a thought
		a.Say(a.Reasoning(), "")
	}
	a.calls.settle()
	if a.Finish == "" && a.Empty() {
		return &model.Error{Kind: model.Server, Provider: "openai", Detail: "the endpoint sent an empty answer"}
	}
	if a.refused {
		a.Finish = wire.FinishRefusal
	}
	return nil
}

func (a *chatAnswer) take(c chunk, whole bool) error {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return a.client.Failure(c.Error)
	}
	if c.Model != "" {
		a.Model = c.Model
	}
	if c.XGroq != nil && c.XGroq.Usage != nil {
		a.count(*c.XGroq.Usage)
	}
	if c.Usage != nil {
		a.count(*c.Usage)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		d := ch.Delta
		if whole {
			d = ch.Message
		}
		a.delta(d)
		if ch.FinishReason != "" {
			a.Finish = finish(ch.FinishReason)
		}
	}
	return nil
}

// finish is a reason to stop in the oracle's words.
func finish(reason string) string {
	switch reason {
	case "content_filter":
		return wire.FinishFilter
	case "function_call":
		return wire.FinishCalls
	case "model_context_window_exceeded":
		return wire.FinishWindow
	}
	return reason
}

func (a *chatAnswer) count(u usage) {
	a.Usage = plugin.Usage{
		InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens,
		CachedTokens: max(u.PromptDetails.Cached, u.CacheHitTokens), ReasoningTokens: u.CompletionDetails.Reasoning,
	}
	reasoning := u.CompletionDetails.Reasoning
	// xAI counts it beside the completion
	if reasoning > 0 && u.TotalTokens == u.PromptTokens+u.CompletionTokens+reasoning {
		a.Usage.OutputTokens += reasoning
	}
}

func (a *chatAnswer) delta(d delta) {
	content, thought := contentOf(d.Content)
	switch {
	case d.ReasoningContent != nil && *d.ReasoningContent != "":
		thought += *d.ReasoningContent
		a.thoughts.WriteString(*d.ReasoningContent)
	default:
		thought += d.Reasoning
	}
	for _, raw := range d.ReasoningDetails {
		a.details.take(raw)
	}
	if thought != "" {
		if a.thinking.at == within && a.thinking.alone { // its server reads thoughts after all
			a.thinking = thinking{}
		}
		a.Say("", thought)
	}
	if d.Refusal != "" {
		a.refused = true
		a.Say(d.Refusal, "")
	}
	if content != "" {
		text, thought, retract := a.thinking.take(content)
		if retract {
			a.Retract()
			a.lonely()
		}
		a.Say("", thought)
		a.Say(text, "")
	}
	for _, c := range d.ToolCalls {
		a.calls.take(c)
	}
	if n := len(a.Calls); n > 0 && len(d.ExtraContent) > 0 && string(d.ExtraContent) != "null" &&
		len(a.Calls[0].Extra) == 0 {
		a.Calls[0].Extra = d.ExtraContent // signed as a whole
	}
}

// contentOf reads content that is a text or a list of parts.
func contentOf(raw json.RawMessage) (text, thought string) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, ""
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		if p.Type == "thinking" {
			inner, _ := contentOf(p.Thinking)
			thought += p.Text + inner
			continue
		}
		text += p.Text
	}
	return text, thought
}

// details are the reasoning_details of an answer. They come in pieces: those of
// one kind and number that follow each other are one.
type details []map[string]json.RawMessage

// joined are the fields of a detail that come in pieces.
var joined = []string{"text", "summary", "data"}

func (d *details) take(raw json.RawMessage) {
	var now map[string]json.RawMessage
	if json.Unmarshal(raw, &now) != nil || now == nil {
		return
	}
	if n := len(*d); n > 0 && string((*d)[n-1]["type"]) == string(now["type"]) &&
		string((*d)[n-1]["index"]) == string(now["index"]) {
		last := (*d)[n-1]
		for name, value := range now {
			var before, after string
			if slices.Contains(joined, name) && json.Unmarshal(last[name], &before) == nil &&
				json.Unmarshal(value, &after) == nil {
				value, _ = json.Marshal(before + after) // a text
			}
			if string(value) != "null" {
				last[name] = value
			}
		}
		return
	}
	*d = append(*d, now)
}

func (d details) list() []json.RawMessage {
	var out []json.RawMessage
	for _, one := range d {
		if raw, err := json.Marshal(one); err == nil {
			out = append(out, raw)
		}
	}
	return out
}
