package faults

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Answer is what the model says to a message.
func Answer(message string) string {
	return "You said: " + message + ". I answer: naïve café 🌍, one two three four five six seven."
}

// Messages that begin so make the model call the browser tool, or take its time.
const (
	toolPrefix = "stamp "
	slowPrefix = "slow "
)

// speaker is a model behind the protocol that OpenAI made common. It answers
// slowly enough to be interrupted, and the same message always in the same way.
type speaker struct {
	url  string
	pace time.Duration
}

// ServeHTTP answers.
func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err != nil || json.Unmarshal(body, &request) != nil || r.URL.Path != "/chat/completions" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	message, used := "", false
	for _, m := range request.Messages {
		switch m.Role {
		case "user":
			text, _ := m.Content.(string)
			message, _, _ = strings.Cut(text, "\n\n<context>\n") // without what the oracle adds
			used = false
		case "tool":
			used = true
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if number, ok := strings.CutPrefix(message, toolPrefix); ok && !used {
		args, _ := json.Marshal(fmt.Sprintf(`{"number":%q}`, number))
		_, _ = fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%s","function":{"name":"stamp","arguments":%s}}]}}]}`+"\n\n", rand.Text(), args)
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\n")
	} else {
		pace := s.pace
		if strings.HasPrefix(message, slowPrefix) {
			pace *= 8
		}
		for word := range strings.SplitAfterSeq(Answer(message), " ") {
			text, _ := json.Marshal(word)
			if _, err := fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(pace):
			}
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n")
	}
	_, _ = io.WriteString(w, `data: {"choices":[],"usage":{"prompt_tokens":3000,"completion_tokens":1000}}`+"\n\ndata: [DONE]\n\n")
}
