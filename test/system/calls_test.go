package system

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
		if err := json.Unmarshal(p.Socket.Await(t, "call_moved"), &moved); err != nil || moved.CallID != p.Call.CallID ||
			moved.Reason != "drain" {
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

// TestARecordingWhoseNodeIsKilled finds what was recorded until then among the
// caller's files, whole, without anybody asking.
func TestARecordingWhoseNodeIsKilled(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		p := callPage(t, w)
		var document struct{ ID string }
		w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
		leave := map[string]string{"raw": identitytest.Delegation(t, identitytest.Alice, document.ID)}
		p.Must(http.StatusOK, "POST", "/delegation", leave, nil)
		p.Must(http.StatusCreated, "POST", "/calls",
			callhttp.CreateBody{SessionID: p.Session, CallType: "audio", Record: true}, &p.Call)
		p.Connect()
		p.Await("recording", "state", "on")
		const stored = "a part of a recording is stored"
		Eventually(t, "two parts are stored", func() error {
			p.Talk(1)
			if n := strings.Count(w.Node(0).Log(), stored); n < 2 {
				return fmt.Errorf("there are %d", n)
			}
			return nil
		})
		w.Node(0).Kill()
		if w.Shape == Embedded {
			w.Node(0).Start()
			w.Node(0).WaitReady()
		}
		read := func() Reply {
			token := identitytest.Files(t, identitytest.Alice, document.ID, "fs/read")
			return w.Node(1).Do(t, Call{
				Method: http.MethodGet, Path: "/api/fs/content?path=" + url.QueryEscape(p.Call.Recording.Path),
				Header: http.Header{"Authorization": {"Bearer " + token}},
			})
		}
		if got := read(); got.Status != http.StatusNotFound {
			t.Errorf("before it is finished the file is %d, %d bytes", got.Status, len(got.Body))
		}
		Eventually(t, "somebody finishes the recording", func() error {
			if !slices.ContainsFunc(w.Nodes, func(n *Node) bool { return strings.Contains(n.Log(), "a recording was finished") }) {
				return errors.New("nobody did")
			}
			return nil
		})
		if got := record(t, w, 1, p); got.Recording.State != call.RecordingSaved || got.Reason != call.Interrupted {
			t.Errorf("the recording is %s, the call %s", got.Recording.State, got.Reason)
		}
		// Two parts of five seconds each, as Ogg Opus: whole pages, and the last one tells
		// the length. It does not say that it is the last: its writer was killed. The file
		// begins with the first sound, which may come a moment after the first part does.
		const seconds = 8
		got := read()
		end := bytes.LastIndex(got.Body, []byte("OggS"))
		if got.Status != http.StatusOK || !bytes.HasPrefix(got.Body, []byte("OggS")) || len(got.Body) < end+27 {
			t.Fatalf("the recording is %d, %d bytes", got.Status, len(got.Body))
		}
		page := got.Body[end:]
		if length := binary.LittleEndian.Uint64(page[6:]); length < seconds*48000 {
			t.Errorf("the recording has %d samples", length)
		}
	})
}
