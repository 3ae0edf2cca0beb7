package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
)

// callPage opens a page whose session is at one node and whose socket is at another.
func callPage(t *testing.T, w *World) *calltest.Page {
	t.Helper()
	var document struct{ ID string }
	w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
	return calltest.OpenPage(t, w.Node(0).URL, w.Node(1).URL, identitytest.Invocation(t, identitytest.Alice, document.ID))
}

// record is the call as any node tells it.
func record(t *testing.T, w *World, node int, p *calltest.Page) callhttp.Body {
	t.Helper()
	p.Base = w.Node(node).URL
	var got callhttp.Body
	p.Must(http.StatusOK, "GET", "/calls/"+p.Call.CallID, nil, &got)
	return got
}

func TestACallIsSpokenAndHungUp(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "what can you do", "what can you do") // one for each shape
	Each(t, func(t *testing.T, w *World) {
		p := callPage(t, w)
		p.Ring(call.Video, false)
		p.Socket.Await(t, "call_state")
		if got := record(t, w, 2, p); got.CallStatus != call.Active || !got.Speech.STT || !got.Speech.TTS {
			t.Errorf("on another node the call is %+v", got)
		}
		p.Send(map[string]any{"type": "text", "text": "hello"})
		p.Await("caption", "role", "user", "text", "hello")
		p.Await("state", "state", "speaking")
		p.Hear(200 * time.Millisecond)
		p.Send(map[string]any{"type": "interrupt"})
		p.Await("state", "state", "listening")
		p.Talk(2)
		p.Pause(1)
		p.Await("caption", "role", "user", "text", "what can you do")
		p.Must(http.StatusOK, "PATCH", "/calls/"+p.Call.CallID, `{"callStatus":"ended"}`, nil)
		p.Await("bye", "reason", "hangup")
		p.Socket.Await(t, "call_end")
		var list struct {
			Messages []struct{ Type, Content string }
		}
		p.Must(http.StatusOK, "GET", "/messages/"+p.Session, nil, &list)
		if !slices.ContainsFunc(list.Messages, func(m struct{ Type, Content string }) bool {
			return m.Type == "human" && m.Content == "what can you do"
		}) {
			t.Errorf("the transcript is %v", list.Messages)
		}
	}, "SPEECH_TO_TEXT_URL="+speech.URL+"/v1", "TEXT_TO_SPEECH_URL="+speech.URL+"/v1", "SPEECH_API_KEY=a key", "TURN_LISTEN=127.0.0.1:0")
}

func TestACallWhoseNodeStops(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		p := callPage(t, w)
		p.Ring(call.Audio, false)
		p.Socket.Await(t, "call_state")
		w.Node(0).Stop()
		p.Await("bye", "reason", "drain")
		var moved struct{ CallID, Reason string }
		if err := json.Unmarshal(p.Socket.Await(t, "call_moved"), &moved); err != nil || moved.CallID != p.Call.CallID || moved.Reason != "drain" {
			t.Errorf("%+v, %v", moved, err)
		}
		w.Node(0).Start()
		w.Node(0).WaitReady()
		if got := record(t, w, 1, p); got.CallStatus != call.Ended || got.Reason != call.Drained {
			t.Errorf("afterwards the call is %+v", got)
		}
	})
}

func TestACallWhoseNodeIsKilled(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		p := callPage(t, w)
		p.Ring(call.Audio, false)
		p.Socket.Await(t, "call_state")
		w.Node(0).Kill()
		if w.Shape == Embedded {
			w.Node(0).Start()
			w.Node(0).WaitReady()
		}
		Eventually(t, "the call is interrupted", func() error {
			if got := record(t, w, 1, p); got.CallStatus != call.Ended || got.Reason != call.Interrupted {
				return fmt.Errorf("it is %s %s", got.CallStatus, got.Reason)
			}
			return nil
		})
		if w.Shape == Fleet {
			p.Socket.Await(t, "call_end")
		}
	})
}
