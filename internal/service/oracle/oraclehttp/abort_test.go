package oraclehttp_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

func TestAbortKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t,
		scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: "Once upon"}}, Wait: make(chan struct{})}))
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "tell", "stream": true})
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	var run struct {
		Run struct{ RunID, Status string }
	}
	alice.Do("GET", "/sessions/"+session+"/run", nil).JSON(t, &run)
	if run.Run.Status != "running" || run.Run.RunID != resp.Header.Get("X-Run-Id") {
		t.Errorf("run: %+v", run)
	}
	waitForText(t, alice, resp.Header.Get("X-Run-Id"))
	var stopped struct{ Success bool }
	alice.Do("POST", "/messages/abort", map[string]any{"sessionId": session}).JSON(t, &stopped)
	if !stopped.Success {
		t.Error("nothing was stopped")
	}
	frames := oracletest.Stream(t, resp)
	var done oracle.DoneFrame
	must(t, json.Unmarshal(frames[len(frames)-1].Data, &done))
	if !done.Aborted || done.PartialText != "Once upon" || done.Status != oracle.Aborted {
		t.Errorf("done: %+v", done)
	}
	var list struct{ Messages []map[string]any }
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	if len(list.Messages) != 2 || list.Messages[1]["content"] != "Once upon" {
		t.Errorf("transcript: %v", list.Messages)
	}
	alice.Do("POST", "/messages/abort", map[string]any{"sessionId": session}).JSON(t, &stopped)
	if stopped.Success {
		t.Error("stopped twice")
	}
}

// The published client asks for the conversation as soon as its abort is answered, and not again.
func TestWhatWasSaidIsThereWhenAnAbortIsAnswered(t *testing.T) {
	t.Parallel()
	const turns = 12
	replies := slices.Repeat([]scripted.Reply{{Chunks: []plugin.Chunk{{Text: "Once upon"}}, Wait: make(chan struct{})}}, turns)
	n := oracletest.Start(t, scripted.Sequence(replies...))
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	for i := range turns {
		resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "tell", "stream": true})
		must(t, err)
		waitForText(t, alice, resp.Header.Get("X-Run-Id"))
		alice.Do("POST", "/messages/abort", map[string]any{"sessionId": session})
		var list struct{ Messages []map[string]any }
		alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
		if want := 2 * (i + 1); len(list.Messages) != want {
			t.Errorf("after abort %d there are %d messages of %d", i+1, len(list.Messages), want)
		}
		oracletest.Stream(t, resp)
		_ = resp.Body.Close()
	}
}

// The published client reads the answer to its abort, and then touches the stream.
func TestAnAbortIsAnsweredBeforeItsStreamEnds(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t,
		scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: "Once upon"}}, Wait: make(chan struct{})}),
		func(d *oraclekit.Deps) { d.Parting = 5 * time.Second })
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "tell", "stream": true})
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	waitForText(t, alice, resp.Header.Get("X-Run-Id"))
	ended := make(chan []oracle.Frame, 1)
	go func() { ended <- oracletest.Stream(t, resp) }()
	alice.Do("POST", "/messages/abort", map[string]any{"sessionId": session})
	select {
	case <-ended:
		t.Error("the stream ended before the abort was answered")
	default:
	}
	if frames := <-ended; frames[len(frames)-1].Event != "done" {
		t.Errorf("frames: %v", oracletest.Events(frames))
	}
}
