package zoo

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
)

type itemBody struct {
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	Input        []json.RawMessage `json:"input"`
	Tools        []struct {
		Name   string `json:"name"`
		Strict *bool  `json:"strict"`
	} `json:"tools"`
	ToolChoice any      `json:"tool_choice"`
	Store      *bool    `json:"store"`
	Include    []string `json:"include"`
	Stream     bool     `json:"stream"`
}

type zooItem struct {
	Type      string `json:"type"`
	Role      string `json:"role"`
	ID        string `json:"id"`
	CallID    string `json:"call_id"`
	Encrypted string `json:"encrypted_content"`
}

func (s *Server) answerItems(w http.ResponseWriter, body []byte) *refusal {
	var req itemBody
	var raw struct {
		Tools []any `json:"tools"`
	}
	if json.Unmarshal(body, &req) != nil || json.Unmarshal(body, &raw) != nil || req.Model != s.Model {
		return s.refuse(http.StatusNotFound, "model_not_found", "The model does not exist.")
	}
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
		if t.Strict == nil || *t.Strict {
			return s.refuse(http.StatusBadRequest, "invalid_function_parameters", "Invalid schema for function '"+t.Name+"': 'additionalProperties' is required to be supplied and to be false.")
		}
	}
	if wrong := checkTools(names); wrong != "" {
		return s.refuse(http.StatusBadRequest, "array_above_max_length", wrong)
	}
	last, no := s.checkItems(req)
	if no != nil {
		return no
	}
	segments := []string{}
	for _, t := range raw.Tools {
		segments = append(segments, canonical(t))
	}
	segments = append(segments, req.Instructions)
	for _, i := range req.Input {
		segments = append(segments, canonical(i))
	}
	total, cached, no := s.read(segments, len(segments))
	if no != nil {
		return no
	}
	tool := ""
	if last.Role == "user" && req.ToolChoice != "none" {
		tool = zooTool(names, string(req.Input[len(req.Input)-1]))
	}
	encrypted := any(nil)
	for _, i := range req.Include {
		if i == "reasoning.encrypted_content" {
			made := sum("encrypted", fmt.Sprint(len(segments)))
			s.made[made] = true
			encrypted = made
		}
	}
	output := []object{{"type": "reasoning", "id": fmt.Sprintf("rs_%d", len(segments)), "summary": []object{{"type": "summary_text", "text": Thought}}, "encrypted_content": encrypted}}
	if tool == "" {
		output = append(output, object{
			"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "final_answer",
			"content": []object{{"type": "output_text", "text": Answer, "annotations": []object{}}},
		})
	} else {
		for i := range 2 {
			output = append(output, object{
				"type": "function_call", "id": fmt.Sprintf("fc_%d", i), "call_id": fmt.Sprintf("call_%d_%d", len(segments), i), "name": tool,
				"arguments": fmt.Sprintf(`{"n":%d}`, i+1), "status": "completed",
			})
		}
	}
	response := object{
		"id": "resp_1", "object": "response", "created_at": 1, "model": s.Model, "status": "completed", "output": output, "error": nil, "incomplete_details": nil,
		"usage": object{
			"input_tokens": total, "output_tokens": 12, "total_tokens": total + 12, "input_tokens_details": object{"cached_tokens": cached},
			"output_tokens_details": object{"reasoning_tokens": 7},
		},
	}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
		return nil
	}
	stream(w, itemEvents(response, output)...)
	return nil
}

func itemEvents(response object, output []object) []string {
	var events []string
	emit := func(kind string, v object) {
		v["type"], v["sequence_number"] = kind, len(events)
		events = append(events, "event: "+kind+"\n"+data(v))
	}
	emit("response.created", object{"response": object{"id": "resp_1", "object": "response", "status": "in_progress", "model": response["model"], "output": []object{}}})
	for i, item := range output {
		begun := maps.Clone(item)
		switch item["type"] {
		case "reasoning":
			begun["encrypted_content"], begun["summary"] = nil, []object{} // incomplete here
			emit("response.output_item.added", object{"output_index": i, "item": begun})
			emit("response.reasoning_summary_text.delta", object{"output_index": i, "item_id": item["id"], "summary_index": 0, "delta": Thought})
		case "message":
			begun["content"] = []object{}
			emit("response.output_item.added", object{"output_index": i, "item": begun})
			half := len(Answer) / 2
			emit("response.output_text.delta", object{"output_index": i, "item_id": item["id"], "content_index": 0, "delta": Answer[:half]})
			emit("response.output_text.delta", object{"output_index": i, "item_id": item["id"], "content_index": 0, "delta": Answer[half:]})
		case "function_call":
			begun["arguments"] = ""
			emit("response.output_item.added", object{"output_index": i, "item": begun})
			emit("response.function_call_arguments.delta", object{"output_index": i, "item_id": item["id"], "delta": item["arguments"]})
			emit("response.function_call_arguments.done", object{"output_index": i, "item_id": item["id"], "arguments": item["arguments"]})
		}
		emit("response.output_item.done", object{"output_index": i, "item": item})
	}
	emit("response.completed", object{"response": response})
	return events
}

// checkItems refuses what the endpoint refuses: ids of what it has not stored,
// reasoning without what followed, calls without results.
func (s *Server) checkItems(req itemBody) (last zooItem, no *refusal) {
	bad := func(format string, a ...any) (zooItem, *refusal) {
		return zooItem{}, s.refuse(http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, a...))
	}
	open := map[string]bool{}
	kept := req.Store == nil || *req.Store
	for _, raw := range req.Input {
		var i zooItem
		if json.Unmarshal(raw, &i) != nil {
			return bad("an item is no object")
		}
		if i.ID != "" && !kept {
			return bad("Item with id '%s' not found. Items are not persisted when `store` is set to false.", i.ID)
		}
		if last.Type == "reasoning" && i.Type != "reasoning" && i.Type != "function_call" && i.Role != "assistant" {
			return bad("Item of type 'reasoning' was provided without its required following item.")
		}
		switch i.Type {
		case "reasoning":
			if !s.made[i.Encrypted] {
				return bad("The encrypted content could not be verified.")
			}
		case "function_call":
			if len(i.CallID) > 64 || open[i.CallID] {
				return bad("Invalid 'input.call_id'.")
			}
			open[i.CallID] = true
		case "function_call_output":
			if !open[i.CallID] {
				return bad("No tool call found for function call output with call_id %s.", i.CallID)
			}
			delete(open, i.CallID)
		}
		last = i
	}
	if len(open) > 0 {
		return bad("No tool output found for function call.")
	}
	if last.Type == "reasoning" {
		return bad("Item of type 'reasoning' was provided without its required following item.")
	}
	return last, nil
}
