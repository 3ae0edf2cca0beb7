package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// programWire is a wire by which programs that know OpenAI's API ask.
type programWire struct {
	route string
	// ask is the body of a request, with a place for the message.
	ask string
	// read returns what an event says, and whether it is the last of a whole answer.
	read func(data string) (text string, done bool, err error)
}

var errSaid = errors.New("the stream has an error")

func programWires() []programWire {
	return []programWire{
		{
			route: "/v1/chat/completions", ask: `{"model":"oracle","stream":true,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":%q}]}`,
			read: func(data string) (text string, done bool, err error) {
				if data == "[DONE]" {
					return "", true, nil
				}
				var chunk struct {
					Choices []struct{ Delta struct{ Content string } }
					Error   json.RawMessage
				}
				if err = json.Unmarshal([]byte(data), &chunk); err == nil && chunk.Error != nil {
					err = errSaid
				}
				for _, c := range chunk.Choices {
					text += c.Delta.Content
				}
				return text, false, err
			},
		},
		{
			route: "/v1/responses", ask: `{"model":"oracle","stream":true,"instructions":"Be brief.","input":%q}`,
			read: func(data string) (text string, done bool, err error) {
				var event struct{ Type, Delta string }
				err = json.Unmarshal([]byte(data), &event)
				switch event.Type {
				case "response.output_text.delta":
					return event.Delta, false, err
				case "error", "response.failed", "response.incomplete":
					return "", false, errSaid
				}
				return "", event.Type == "response.completed", err
			},
		},
	}
}

// completion reads the text of an answer until found says so, or to the end, and reports
// whether that was the end of a whole one.
func (p programWire) completion(t *testing.T, s *stream, found func(text string) bool) (text string, done bool) {
	t.Helper()
	for {
		f, ok := s.next()
		if !ok {
			return text, false
		}
		more, done, err := p.read(f.Data)
		if err != nil {
			t.Fatalf("%v in %s", err, f.Data)
		}
		if text += more; done || found(text) {
			return text, done
		}
	}
}

// times counts the turns in which the speaker was asked the message.
func (s *speaker) times(message string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, request := range s.requests {
		if strings.Contains(request, message) && !strings.Contains(request, "Give this conversation a title") {
			n++
		}
	}
	return n
}

// TestAChatFaceSurvivesKills kills the node that answers a program. The
// program's next request gets the whole answer, and nothing is said twice.
func TestAChatFaceSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model := newSpeaker(t)
			w := Start(t, shape, append(model.env(), "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")...)
			for _, wire := range programWires() {
				for _, conversation := range []string{"", "chat-1"} {
					killChat(t, w, model, wire, conversation)
				}
			}
		})
	}
}

func killChat(t *testing.T, w *World, model *speaker, wire programWire, conversation string) {
	t.Helper()
	alice := newChatter(t, w, identitytest.NewActor("face"+wire.route+conversation))
	message := "tell a program " + alice.session
	held := model.hold(message)
	body := fmt.Sprintf(wire.ask, message)
	ask := func(n *Node) *stream {
		return alice.stream(t, n, http.MethodPost, wire.route, body, "X-Conversation-Id", conversation)
	}
	first := ask(w.Node(0))
	wire.completion(t, first, func(text string) bool { return text == held.begun })
	<-held.asked
	w.Node(0).Kill()
	<-held.cut
	if w.Shape == Embedded {
		w.Node(0).Start()
		w.Node(0).WaitReady()
	}
	second := ask(w.Node(1))
	if run := first.Header.Get("X-Run-Id"); second.Header.Get("X-Run-Id") != run {
		t.Errorf("%s: the next request began another run", wire.route)
	}
	<-held.asked
	held.letGo()
	if text, done := wire.completion(t, second, func(string) bool { return false }); text != held.answer || !done {
		t.Errorf("the program has %q (%v), want %q", text, done, held.answer)
	}
	if n := model.times(message); n != 2 {
		t.Errorf("the model was asked %d times, want once by each node", n)
	}
	var list struct{ Sessions []struct{ SessionID string } }
	alice.do(t, w.Node(1), http.MethodGet, "/sessions", "").JSON(t, &list)
	session := ""
	for _, s := range list.Sessions {
		if s.SessionID != alice.session {
			session = s.SessionID
		}
	}
	if (session != "") != (conversation != "") {
		t.Errorf("%s %q has the sessions %v", wire.route, conversation, list.Sessions)
	}
	if session != "" {
		var kept transcript
		alice.do(t, w.Node(1), http.MethodGet, "/messages/"+session, "").JSON(t, &kept)
		if len(kept.Messages) != 2 || kept.Messages[1].Content != held.answer {
			t.Errorf("the transcript: %v", kept.Messages)
		}
	}
	// It has arrived: whoever asks the same again wants another answer.
	Eventually(t, "the arrival is noted", func() error {
		third := ask(w.Node(1))
		defer third.Cut()
		if third.Header.Get("X-Run-Id") == first.Header.Get("X-Run-Id") {
			return fmt.Errorf("the old answer came again")
		}
		wire.completion(t, third, func(string) bool { return false })
		return nil
	})
	if w.Shape == Fleet {
		w.Node(0).Start()
		w.Node(0).WaitReady()
	}
}
