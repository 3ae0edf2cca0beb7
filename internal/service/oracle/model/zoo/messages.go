package zoo

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// How endpoints of the messages wire differ.
type messageManners struct {
	// thinks always; bound ties thoughts to what came before them.
	thinks, bound bool
	// strict does not know the controls of that.
	strict bool
	// most is the longest answer.
	most int
	// pauses makes the first answer pause.
	pauses bool
	// demands the thoughts of calls that are being answered.
	demands bool
	// redacted hides the thoughts.
	redacted bool
}

type messageBody struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	System    json.RawMessage   `json:"system"`
	Tools     []json.RawMessage `json:"tools"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Thinking   map[string]any    `json:"thinking"`
	ToolChoice map[string]string `json:"tool_choice"`
	Stream     bool              `json:"stream"`
}

type zooBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	ToolUseID string          `json:"tool_use_id"`
	Marked    json.RawMessage `json:"cache_control"`
}

func anthropicRefusal(status int, kind, message string) *refusal {
	b, _ := json.Marshal(object{"type": "error", "error": object{"type": kind, "message": message}}) // texts
	return &refusal{status: status, body: string(b)}
}

func invalid(format string, a ...any) *refusal {
	return anthropicRefusal(http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, a...))
}

func (s *Server) answerMessages(w http.ResponseWriter, r *http.Request, body []byte) *refusal {
	var req messageBody
	if err := json.Unmarshal(body, &req); err != nil || req.Model != s.Model {
		return anthropicRefusal(http.StatusNotFound, "not_found_error", "model: "+req.Model)
	}
	if r.Header.Get("X-Api-Key") == "" || r.Header.Get("Anthropic-Version") == "" {
		return anthropicRefusal(http.StatusUnauthorized, "authentication_error", "x-api-key header is required")
	}
	m := s.messages
	kind, _ := req.Thinking["type"].(string)
	binding, _ := req.Thinking["block_binding"].(map[string]any)
	switch {
	case req.MaxTokens == 0:
		return invalid("max_tokens: Field required")
	case m.most > 0 && req.MaxTokens > m.most:
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", req.MaxTokens, m.most, s.Model)
	case m.thinks && kind != "" && kind != "adaptive":
		return invalid("thinking: %s is not supported by this model", kind)
	case !m.thinks && kind == "adaptive":
		return invalid("adaptive thinking is not supported on this model")
	case binding != nil && (m.strict || !strings.Contains(r.Header.Get("Anthropic-Beta"), "thinking-binding-controls")):
		return invalid("thinking.adaptive.block_binding: Extra inputs are not permitted")
	}
	var names, segments []string
	marks, marked := 0, 0
	for _, raw := range req.Tools {
		var t struct {
			Name   string          `json:"name"`
			Marked json.RawMessage `json:"cache_control"`
		}
		if json.Unmarshal(raw, &t) != nil {
			return invalid("tools: bad")
		}
		names = append(names, t.Name)
		segments = append(segments, canonical(raw))
		if len(t.Marked) > 0 {
			marks, marked = marks+1, len(segments)
		}
	}
	if wrong := checkTools(names); wrong != "" {
		return invalid("%s", wrong)
	}
	segments = append(segments, canonical(req.System))
	if strings.Contains(string(req.System), "cache_control") {
		marks, marked = marks+1, len(segments)
	}
	segments, inMessages, no := s.checkMessages(req, segments, binding != nil)
	if no != nil {
		return no
	}
	if inMessages > 0 {
		marks, marked = marks+1, inMessages
	}
	if marks > 4 {
		return invalid("A maximum of 4 blocks with cache_control may be provided.")
	}
	total, cached, no := s.read(segments, marked)
	if no != nil {
		return no
	}
	usage := object{"input_tokens": total - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0, "output_tokens": 12}
	last := req.Messages[len(req.Messages)-1]
	tool := ""
	if !strings.Contains(string(last.Content), "tool_result") && last.Role == "user" && req.ToolChoice["type"] != "none" {
		tool = zooTool(names, string(last.Content))
	}
	content, stop := s.blocks(tool, segments)
	if m.pauses && last.Role == "user" && tool == "" {
		content[len(content)-1]["text"], stop = Answer[:10], "pause_turn"
	}
	if m.pauses && last.Role == "assistant" {
		content[len(content)-1]["text"] = Answer[10:]
	}
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": s.Model, "content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return nil
	}
	stream(w, blockEvents(message, content)...)
	return nil
}

// blocks are the content of an answer.
func (s *Server) blocks(tool string, segments []string) (content []object, stop string) {
	if s.messages.thinks {
		signature := sum(append([]string{"thinking"}, segments...)...)
		s.made[signature] = true
		if s.messages.redacted {
			content = append(content, object{"type": "redacted_thinking", "data": signature})
		} else {
			content = append(content, object{"type": "thinking", "thinking": Thought, "signature": signature})
		}
	}
	if tool == "" {
		return append(content, object{"type": "text", "text": Answer}), "end_turn"
	}
	for i := range 2 {
		content = append(content, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", len(segments), i), "name": tool, "input": object{"n": i + 1}})
	}
	return content, "tool_use"
}

func blockEvents(message object, content []object) []string {
	var events []string
	emit := func(kind string, v object) {
		v["type"] = kind
		events = append(events, "event: "+kind+"\n"+data(v))
	}
	usage, _ := message["usage"].(object)
	begun := maps.Clone(message)
	begun["content"], begun["stop_reason"] = []object{}, nil
	emit("message_start", object{"message": begun})
	emit("ping", object{})
	for i, b := range content {
		start, deltas := object{"type": b["type"]}, []object{}
		switch b["type"] {
		case "thinking":
			start["thinking"], start["signature"] = "", ""
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": b["thinking"]}, object{"type": "signature_delta", "signature": b["signature"]})
		case "redacted_thinking":
			start["data"] = b["data"]
		case "text":
			start["text"] = ""
			deltas = append(deltas, object{"type": "text_delta", "text": b["text"]})
		case "tool_use":
			start["id"], start["name"], start["input"] = b["id"], b["name"], object{}
			args, _ := json.Marshal(b["input"]) // made above
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": ""}, object{"type": "input_json_delta", "partial_json": string(args)})
		}
		emit("content_block_start", object{"index": i, "content_block": start})
		for _, d := range deltas {
			emit("content_block_delta", object{"index": i, "delta": d})
		}
		emit("content_block_stop", object{"index": i})
	}
	emit("message_delta", object{"delta": object{"stop_reason": message["stop_reason"], "stop_sequence": nil}, "usage": object{"output_tokens": usage["output_tokens"]}})
	emit("message_stop", object{})
	return events
}

// checkMessages refuses changed thoughts, thoughts behind another beginning, and
// calls without results. It returns the segments, and up to which they are marked.
func (s *Server) checkMessages(req messageBody, segments []string, drops bool) (all []string, marked int, no *refusal) {
	open := map[string]bool{}
	role := ""
	for n, msg := range req.Messages {
		if msg.Role == role {
			return nil, 0, invalid("messages: roles must alternate between \"user\" and \"assistant\"")
		}
		role = msg.Role
		var list []json.RawMessage
		if json.Unmarshal(msg.Content, &list) != nil {
			list = []json.RawMessage{msg.Content}
		}
		before := append([]string{"thinking"}, segments...)
		calls, thoughts := 0, 0
		for _, raw := range list {
			var b zooBlock
			_ = json.Unmarshal(raw, &b)
			switch b.Type {
			case "thinking", "redacted_thinking":
				thoughts++
				signature := b.Signature + b.Data
				switch {
				case len(b.Marked) > 0:
					return nil, 0, invalid("messages.%d: cache_control cannot be set on thinking blocks", n)
				case !s.made[signature] || b.Type == "thinking" && b.Thinking != Thought:
					return nil, 0, invalid("messages.%d.content.0: Invalid `signature` in `thinking` block", n)
				case s.messages.bound && !drops && calls+thoughts == 1 && signature != sum(before...):
					return nil, 0, invalid("messages.%d.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", n)
				}
			case "tool_use":
				calls++
				open[b.ID] = true
			case "tool_result":
				if !open[b.ToolUseID] {
					return nil, 0, invalid("messages.%d: unexpected `tool_use_id` found in `tool_result` blocks", n)
				}
				delete(open, b.ToolUseID)
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return nil, 0, invalid("messages: text content blocks must be non-empty")
				}
			}
			segments = append(segments, msg.Role+canonical(raw))
			if len(b.Marked) > 0 {
				marked = len(segments)
			}
		}
		if s.messages.demands && calls > 0 && thoughts == 0 && n > len(req.Messages)-3 {
			return nil, 0, invalid("messages.%d: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", n)
		}
		if role == "user" && len(open) > 0 {
			return nil, 0, invalid("`tool_use` ids were found without `tool_result` blocks immediately after")
		}
	}
	return segments, marked, nil
}
