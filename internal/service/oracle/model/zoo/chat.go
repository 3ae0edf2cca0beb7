package zoo

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
)

// How chat endpoints differ.
type chatManners struct {
	// index is how calls are numbered: "" by number, "zero" for all, "none".
	index string
	// noID leaves the ids of calls out; wholeCalls sends each in one piece; named
	// repeats the name in each piece; joined sends both calls' arguments as one.
	noID, wholeCalls, named, joined bool
	// thoughts is where thoughts come: reasoning_content, reasoning,
	// reasoning_details, tags, closing, parts.
	thoughts string
	// callsStop ends calls with "stop".
	callsStop bool
	comment   string
	noDone    bool
	// usage is where the count comes: "" in a last chunk, x_groq, in the finishing one.
	usage string
	// signed is Gemini, thinks DeepSeek, nine Mistral, effortful OpenAI's newest,
	// details OpenRouter, completion those without max_tokens.
	signed, thinks, nine, effortful, details, completion bool
	// reasoningBeside counts reasoning beside the completion.
	reasoningBeside bool
	// key is the header of the key.
	key string
	// failure is the shape of a refusal.
	failure func(status int, code, message string) string
	// once is a refusal of the first request with tools.
	once *refusal
	// filtered begins with what the filter says of the prompt.
	filtered bool
}

type (
	chatBody struct {
		Model    string `json:"model"`
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
				ExtraContent struct {
					Google struct {
						Signature string `json:"thought_signature"`
					} `json:"google"`
				} `json:"extra_content"`
			} `json:"tool_calls"`
			ReasoningContent *string           `json:"reasoning_content"`
			ReasoningDetails []json.RawMessage `json:"reasoning_details"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		ToolChoice          any    `json:"tool_choice"`
		Stream              bool   `json:"stream"`
		MaxTokens           int    `json:"max_tokens"`
		MaxCompletionTokens int    `json:"max_completion_tokens"`
		Effort              string `json:"reasoning_effort"`
	}
	rawChat struct {
		Messages []any `json:"messages"`
		Tools    []any `json:"tools"`
	}
)

func openaiFailure(_ int, code, message string) string {
	b, _ := json.Marshal(object{"error": object{"message": message, "type": "invalid_request_error", "param": nil, "code": code}}) // texts
	return string(b)
}

var nine = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

func (s *Server) answerChat(w http.ResponseWriter, r *http.Request, body []byte) *refusal {
	var req chatBody
	var raw rawChat
	if json.Unmarshal(body, &req) != nil || json.Unmarshal(body, &raw) != nil || req.Model != s.Model {
		return s.refuse(http.StatusNotFound, "model_not_found", "The model does not exist.")
	}
	if s.chat.key != "" && r.Header.Get(s.chat.key) == "" {
		return s.refuse(http.StatusUnauthorized, "401", "Access denied due to missing subscription key.")
	}
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Function.Name)
	}
	if wrong := checkTools(names); wrong != "" {
		return s.refuse(http.StatusBadRequest, "array_above_max_length", wrong)
	}
	if no := s.checkChat(req); no != nil {
		return no
	}
	var segments []string
	for _, part := range append(raw.Tools, raw.Messages...) {
		segments = append(segments, canonical(part))
	}
	total, cached, no := s.read(segments, len(segments))
	if no != nil {
		return no
	}
	last := req.Messages[len(req.Messages)-1]
	tool := ""
	if last.Role == "user" && req.ToolChoice != "none" {
		tool = zooTool(names, string(last.Content))
	}
	if tool != "" && s.chat.once != nil {
		no := s.chat.once
		s.chat.once = nil
		return no
	}
	usage := object{
		"prompt_tokens": total, "completion_tokens": 12, "total_tokens": total + 12, "prompt_tokens_details": object{"cached_tokens": cached},
		"completion_tokens_details": object{"reasoning_tokens": 7},
	}
	if s.chat.thinks {
		usage["prompt_cache_hit_tokens"] = cached
		delete(usage, "prompt_tokens_details")
	}
	if s.chat.reasoningBeside {
		usage["completion_tokens"] = 5 // and the total counts both
	}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.wholeChat(tool, usage, len(segments)))
		return nil
	}
	s.streamChat(w, tool, usage, len(segments))
	return nil
}

func (s *Server) refuse(status int, code, message string) *refusal {
	shape := s.chat.failure
	if shape == nil {
		shape = openaiFailure
	}
	return &refusal{status: status, body: shape(status, code, message)}
}

// checkChat refuses what the endpoint refuses in messages.
func (s *Server) checkChat(req chatBody) *refusal {
	bad := func(format string, a ...any) *refusal {
		return s.refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf(format, a...))
	}
	m := s.chat
	if len(req.Messages) == 0 {
		return bad("messages: at least one message is required")
	}
	if m.effortful && len(req.Tools) > 0 && req.Effort != "none" {
		return bad("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. Please use /v1/responses instead.", req.Model)
	}
	if m.completion && req.MaxTokens > 0 {
		return bad("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	open := map[string]bool{}
	for i, msg := range req.Messages {
		if msg.Role == "user" && m.nine && i > 0 && req.Messages[i-1].Role == "tool" {
			return bad("Unexpected role 'user' after role 'tool'")
		}
		if msg.Role == "tool" {
			if !open[msg.ToolCallID] {
				return bad("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
			}
			delete(open, msg.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return bad("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
		}
		for j, c := range msg.ToolCalls {
			switch {
			case c.ID == "" || open[c.ID]:
				return bad("Missing or repeated 'messages[%d].tool_calls[%d].id'.", i, j)
			case m.nine && !nine.MatchString(c.ID):
				return bad("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", c.ID)
			case len(c.ID) > 40:
				return s.refuse(http.StatusBadRequest, "string_above_max_length", fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length 40.", i, j))
			case !json.Valid([]byte(c.Function.Arguments)):
				return bad("arguments of a call are no JSON")
			}
			open[c.ID] = true
			if sig := c.ExtraContent.Google.Signature; m.signed && j == 0 {
				switch {
				case sig == "":
					return bad("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.")
				case sig != "skip_thought_signature_validator" && !s.made[sig]:
					return bad("Thought signature is not valid.")
				}
			} else if !m.signed && sig != "" {
				return bad("extra_content: extra fields not permitted")
			}
		}
		if len(msg.ToolCalls) > 0 && m.thinks && msg.ReasoningContent == nil {
			return bad("The `reasoning_content` in the thinking mode must be passed back to the API.")
		}
		if msg.ReasoningContent != nil && !m.thinks {
			return bad("reasoning_content: extra fields not permitted")
		}
		if m.details && len(msg.ToolCalls) > 0 && msg.ReasoningDetails != nil && !s.made[canonical(msg.ReasoningDetails)] {
			return bad("reasoning_details were changed: Invalid `signature` in `thinking` block")
		}
		if !m.details && msg.ReasoningDetails != nil {
			return bad("reasoning_details: extra fields not permitted")
		}
		if strings.Contains(string(msg.Content), Thought) && msg.Role == "assistant" {
			return bad("thoughts came back as content")
		}
	}
	if len(open) > 0 {
		return bad("calls without results")
	}
	return nil
}

// callsOf are the two calls of an answer.
func (s *Server) callsOf(tool string, n int) []object {
	var out []object
	for i := range 2 {
		args := fmt.Sprintf(`{"n":%d}`, i+1)
		c := object{"index": i, "id": fmt.Sprintf("call_%d_%d", n, i), "type": "function", "function": object{"name": tool, "arguments": args}}
		if s.chat.nine {
			c["id"] = sum(fmt.Sprint(n, i))[:9]
		}
		switch s.chat.index {
		case "zero":
			c["index"] = 0
		case "none":
			delete(c, "index")
		}
		if s.chat.noID {
			delete(c, "id")
		}
		out = append(out, c)
	}
	return out
}

func (s *Server) wholeChat(tool string, usage object, n int) object {
	m, finish := object{"role": "assistant", "content": Answer}, "stop"
	if tool != "" {
		m["content"], finish = nil, "tool_calls"
		calls := s.callsOf(tool, n)
		if s.chat.signed {
			s.sign(calls[0], n)
		}
		m["tool_calls"] = calls
	}
	if s.chat.thinks {
		m["reasoning_content"] = Thought
	}
	return object{
		"id": "x", "object": "chat.completion", "created": 1, "model": s.Model, "usage": usage,
		"choices": []object{{"index": 0, "message": m, "finish_reason": finish}},
	}
}

func (s *Server) sign(c object, n int) {
	sig := sum("signature", fmt.Sprint(n))
	s.made[sig] = true
	c["extra_content"] = object{"google": object{"thought_signature": sig}}
}

func (s *Server) streamChat(w http.ResponseWriter, tool string, usage object, n int) {
	chunk := func(delta object, more object) string {
		c := object{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": s.Model}
		if delta != nil {
			c["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": nil}}
		}
		maps.Copy(c, more)
		return data(c)
	}
	var events []string
	if s.chat.comment != "" {
		events = append(events, s.chat.comment+"\n\n", s.chat.comment+"\n\n")
	}
	if s.chat.filtered {
		events = append(events, chunk(nil, object{"choices": []object{}, "prompt_filter_results": []object{{"prompt_index": 0}}}))
	}
	events = append(events, chunk(object{"role": "assistant", "content": ""}, nil))
	for _, d := range s.thoughtDeltas(n) {
		events = append(events, chunk(d, nil))
	}
	finish := "stop"
	if tool == "" {
		half := len(Answer) / 2
		events = append(events, chunk(object{"content": Answer[:half]}, nil), chunk(object{"content": Answer[half:]}, nil))
	} else {
		for _, d := range s.callDeltas(tool, n) {
			events = append(events, chunk(object{"tool_calls": []object{d}}, nil))
		}
		if !s.chat.callsStop {
			finish = "tool_calls"
		}
	}
	end := object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": finish}}}
	switch s.chat.usage {
	case "x_groq":
		end["x_groq"] = object{"id": "req", "usage": usage}
	case "finish":
		end["usage"] = usage
	}
	events = append(events, chunk(nil, end))
	if s.chat.usage == "" {
		events = append(events, chunk(nil, object{"choices": []object{}, "usage": usage}))
	}
	if !s.chat.noDone {
		events = append(events, "data: [DONE]\n\n")
	}
	stream(w, events...)
}

func (s *Server) thoughtDeltas(n int) []object {
	a, b := Thought[:9], Thought[9:]
	switch s.chat.thoughts {
	case "reasoning_content", "reasoning":
		return []object{{s.chat.thoughts: a}, {s.chat.thoughts: b}}
	case "reasoning_details":
		sig := sum("detail", fmt.Sprint(n))
		one := func(text string, sig any) object {
			return object{"type": "reasoning.text", "text": text, "signature": sig, "format": "x-v1", "index": 0}
		}
		s.made[canonical([]object{one(Thought, sig)})] = true
		return []object{
			{"reasoning": a, "reasoning_details": []object{one(a, nil)}},
			{"reasoning": b, "reasoning_details": []object{one(b, nil)}},
			{"reasoning_details": []object{one("", sig)}},
		}
	case "tags":
		return []object{{"content": "\n<th"}, {"content": "ink>\n" + a}, {"content": b + "</thi"}, {"content": "nk>\n\n"}}
	case "closing":
		return []object{{"content": a}, {"content": b + "\n</th"}, {"content": "ink>\n\n"}}
	case "parts":
		return []object{{"content": []object{{"type": "thinking", "thinking": []object{{"type": "text", "text": Thought}}}}}}
	}
	return nil
}

// callDeltas are the pieces of two calls.
func (s *Server) callDeltas(tool string, n int) []object {
	var out []object
	calls := s.callsOf(tool, n)
	if s.chat.joined {
		calls[0]["function"] = object{"name": tool, "arguments": `{"n":1}{"n":2}`}
		calls = calls[:1]
	}
	for i, c := range calls {
		if s.chat.wholeCalls || s.chat.noID || s.chat.joined {
			out = append(out, c)
		} else {
			first, second := maps.Clone(c), object{}
			first["function"] = object{"name": tool, "arguments": ""}
			if v, ok := c["index"]; ok {
				second["index"] = v
			}
			second["function"] = object{"arguments": fmt.Sprintf(`{"n":%d}`, i+1)}
			if s.chat.named {
				second["function"] = object{"name": tool, "arguments": fmt.Sprintf(`{"n":%d}`, i+1)}
			}
			out = append(out, first, second)
		}
		if i == 0 && s.chat.signed { // in a piece of its own
			own := object{"id": c["id"], "index": 0, "function": object{}}
			s.sign(own, n)
			out = append(out, own)
		}
	}
	return out
}
