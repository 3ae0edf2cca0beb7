package turn_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// panicking is a model that breaks in the middle of its answer.
type panicking struct{ *scripted.Provider }

func (p panicking) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	if _, err := p.Provider.Stream(ctx, req, sink); err != nil {
		return plugin.ModelResponse{}, err
	}
	panic("a model's own fault")
}

// ended checks that a turn's frames, their end and the transcript tell the same,
// and returns the frame that tells what went wrong, and the end.
func ended(t *testing.T, alice *oracletest.Client, session string,
	frames []oracle.Frame,
) (oracle.ErrorFrame, oracle.DoneFrame) {
	t.Helper()
	var failed oracle.ErrorFrame
	var done oracle.DoneFrame
	if at := slices.IndexFunc(frames, func(f oracle.Frame) bool { return f.Event == oracle.FrameError }); at >= 0 {
		if err := json.Unmarshal(frames[at].Data, &failed); err != nil {
			t.Error(err)
		}
	}
	if n := len(frames); n == 0 || json.Unmarshal(frames[n-1].Data, &done) != nil || !frames[n-1].Ends() {
		t.Fatalf("no end: %v", oracletest.Events(frames))
	}
	var list struct {
		Messages []struct {
			ID, Content string
			Error       *oracle.Failure
		}
	}
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	text, id := "", ""
	var kept *oracle.Failure
	for _, m := range list.Messages[1:] {
		if id = m.ID; m.Error == nil {
			text += m.Content
			continue
		}
		if kept = m.Error; m.Content != kept.Text {
			t.Errorf("%q is shown of %+v", m.Content, kept)
		}
	}
	if kept == nil || !done.Interrupted && (kept.Text != failed.Error || kept.Kind != failed.Kind ||
		kept.Retryable != failed.Retryable) {
		t.Errorf("readers were told %+v, the transcript has %+v", failed, kept)
	}
	if shown := turn.TextOf(frames); text != shown || done.PartialText != shown || done.MessageID != id {
		t.Errorf("readers saw %q; the transcript has %q (%s), the end %+v", shown, text, id, done)
	}
	return failed, done
}

func TestATurnThatTakesTooLongEnds(t *testing.T) {
	t.Parallel()
	said := scripted.Reply{Chunks: []plugin.Chunk{{Text: "Once upon"}}, Wait: make(chan struct{})}
	n := oracletest.Start(t, scripted.Sequence(said), func(d *oraclekit.Deps) { d.Run.MaxRun = 300 * time.Millisecond })
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	failed, done := ended(t, alice, session, alice.Say(session, "tell"))
	if failed.Kind != "timeout" || !failed.Retryable || !done.Failed || done.Status != oracle.Failed {
		t.Errorf("error %+v, done %+v", failed, done)
	}
}

func TestAModelThatPanicsEndsItsTurn(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, panicking{scripted.Sequence(scripted.Text("Once ", "upon"))})
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	frames := alice.Say(session, "tell")
	failed, done := ended(t, alice, session, frames)
	if failed.Kind != "unknown" || failed.Error == "" || !done.Failed || turn.TextOf(frames) != "Once upon" {
		t.Errorf("error %+v, done %+v, text %q", failed, done, turn.TextOf(frames))
	}
}

// A run whose nodes die too often ends with what it had said and done.
func TestARunThatIsGivenUpKeepsItsText(t *testing.T) {
	t.Parallel()
	db := oracletest.Migrated(t, sqldbtest.SQLite(t))
	on := func(d *oraclekit.Deps) {
		d.DB, d.Plugins = db, []plugin.Plugin{lab{name: "lab", visibility: plugin.Always}}
		d.Run.MaxAttempts, d.Run.Drain = 1, time.Millisecond
	}
	first := calls("lab_add", `{}`)
	first.Chunks = []plugin.Chunk{{Text: "Let me see. "}}
	half := scripted.Reply{Chunks: []plugin.Chunk{{Text: "It is"}}, Wait: make(chan struct{})}
	a := oracletest.Start(t, scripted.Sequence(first, half), on)
	alice := a.As(t, identitytest.Alice)
	session := alice.Session()
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "1+1?", "stream": true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	const said = "Let me see. It is"
	var before []oracle.Frame
	for d := sse.NewDecoder(resp.Body, 0); turn.TextOf(before) != said; {
		e, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, oracle.Frame{
			Seq: int64(len(before)) + 1, Event: cmp.Or(e.Name, oracle.FrameMessage), Data: slices.Clone(e.Data),
		})
	}
	a.Stop()
	b := oracletest.Start(t, scripted.Sequence(scripted.Text("never asked")), on)
	alice = alice.On(b)
	rest, err := alice.Open(t.Context(), "GET", "/runs/"+resp.Header.Get("X-Run-Id"), nil) //nolint:bodyclose // Stream does
	if err != nil {
		t.Fatal(err)
	}
	frames := oracletest.Stream(t, rest)
	if d := gocmp.Diff(before, frames[:min(len(before), len(frames))]); d != "" {
		t.Errorf("another beginning (-before +now):\n%s", d)
	}
	_, done := ended(t, alice, session, frames)
	if !done.Interrupted || done.Status != oracle.Interrupted || done.PartialText != said {
		t.Errorf("done %+v", done)
	}
}
