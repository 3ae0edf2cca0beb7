package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// pageFace is a face for pages, as a test speaks to it.
type pageFace struct {
	name string
	// ask begins the turn, and again is how the program comes back for it.
	ask, again func(t *testing.T, alice *chatter, n *Node, message string) *stream
	// text is the piece of the answer that an event carries; over says that the answer is whole.
	text func(event pageEvent) string
	over string
}

type pageEvent struct{ Type, Delta string }

func pageFaces() []pageFace {
	agui := func(t *testing.T, alice *chatter, n *Node, message string) *stream {
		t.Helper()
		body := fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[{"id":"m","role":"user","content":%q}]}`, alice.session, message)
		return alice.stream(t, n, http.MethodPost, "/ag-ui", body)
	}
	return []pageFace{
		{
			name: "AG-UI", ask: agui, again: agui, over: "RUN_FINISHED",
			text: func(e pageEvent) string {
				if e.Type == "TEXT_MESSAGE_CONTENT" {
					return e.Delta
				}
				return ""
			},
		},
		{
			name: "AI SDK", over: "finish",
			ask: func(t *testing.T, alice *chatter, n *Node, message string) *stream {
				t.Helper()
				body := fmt.Sprintf(`{"id":%q,"messages":[{"id":"m","role":"user","parts":[{"type":"text","text":%q}]}]}`, alice.session, message)
				return alice.stream(t, n, http.MethodPost, "/ai-sdk/chat", body)
			},
			again: func(t *testing.T, alice *chatter, n *Node, _ string) *stream {
				t.Helper()
				return alice.stream(t, n, http.MethodGet, "/ai-sdk/chat/"+alice.session+"/stream", "")
			},
			text: func(e pageEvent) string {
				if e.Type == "text-delta" {
					return e.Delta
				}
				return ""
			},
		},
	}
}

// read reads the text of a stream until it is what is wanted, or to the end, and reports whether that
// was the end of the answer.
func (f pageFace) read(t *testing.T, s *stream, until string) (text string, whole bool) {
	t.Helper()
	for {
		frame, ok := s.next()
		if !ok || frame.Data == "[DONE]" {
			return text, whole
		}
		var e pageEvent
		if err := json.Unmarshal([]byte(frame.Data), &e); err != nil {
			t.Fatalf("%v in %s", err, frame.Data)
		}
		text += f.text(e)
		whole = whole || e.Type == f.over
		if until != "" && text == until {
			return text, whole
		}
	}
}

// TestPageFacesSurviveKills kills the node that answers a page. The page gets the whole answer when it
// comes back, and nothing is said twice.
func TestPageFacesSurviveKills(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model := newSpeaker(t)
			w := Start(t, shape, append(model.env(), "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")...)
			for _, f := range pageFaces() {
				killPage(t, w, model, f)
			}
		})
	}
}

func killPage(t *testing.T, w *World, model *speaker, f pageFace) {
	t.Helper()
	alice := newChatter(t, w, identitytest.NewActor(f.name))
	message := "tell a page " + alice.session
	held := model.hold(message)
	first := f.ask(t, alice, w.Node(0), message)
	f.read(t, first, held.begun)
	<-held.asked
	w.Node(0).Kill()
	<-held.cut
	if w.Shape == Embedded {
		w.Node(0).Start()
		w.Node(0).WaitReady()
	}
	second := f.again(t, alice, w.Node(1), message)
	if run := first.Header.Get("X-Run-Id"); second.Header.Get("X-Run-Id") != run {
		t.Errorf("%s: it came back to another run", f.name)
	}
	<-held.asked
	held.letGo()
	if text, whole := f.read(t, second, ""); text != held.answer || !whole {
		t.Errorf("%s: the page has %q (%v), want %q", f.name, text, whole, held.answer)
	}
	if n := model.times(message); n != 2 {
		t.Errorf("%s: the model was asked %d times, want once by each node", f.name, n)
	}
	var kept transcript
	alice.do(t, w.Node(1), http.MethodGet, "/messages/"+alice.session, "").JSON(t, &kept)
	if len(kept.Messages) != 2 || kept.Messages[1].Content != held.answer {
		t.Errorf("%s: the transcript: %v", f.name, kept.Messages)
	}
	if w.Shape == Fleet {
		w.Node(0).Start()
		w.Node(0).WaitReady()
	}
}
