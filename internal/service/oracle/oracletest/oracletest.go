// Package oracletest holds the contract that every store of the oracle keeps,
// and the doubles that tests of the oracle share.
package oracletest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/talksearch"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Store is everything that a store of the oracle is.
type Store interface {
	oracle.Store
	run.Store
	turn.Ledger
	usage.Store
	talksearch.Store
	PluginStore(name string) plugin.Store
}

// Owner and Stranger are two users.
const (
	Owner    = "did:key:z6MkOwner"
	Stranger = "did:key:z6MkStranger"
)

// TestStore runs the contract.
func TestStore(t *testing.T, open func(t *testing.T) Store) {
	t.Run("sessions", func(t *testing.T) { t.Parallel(); testSessions(t, open(t)) })
	t.Run("search", func(t *testing.T) { t.Parallel(); testSearch(t, open(t)) })
	t.Run("the index of nothing", func(t *testing.T) { t.Parallel(); testIndexGoes(t, open(t)) })
	t.Run("hidden sessions", func(t *testing.T) { t.Parallel(); testHidden(t, open(t)) })
	t.Run("threads", func(t *testing.T) { t.Parallel(); testThreads(t, open(t)) })
	t.Run("what models are told", func(t *testing.T) { t.Parallel(); testModelSide(t, open(t)) })
	t.Run("long", func(t *testing.T) { t.Parallel(); testLong(t, open(t)) })
	t.Run("pages", func(t *testing.T) { t.Parallel(); testPages(t, open(t)) })
	t.Run("one run at a time", func(t *testing.T) { t.Parallel(); testMultitask(t, open(t)) })
	t.Run("epochs fence", func(t *testing.T) { t.Parallel(); testFencing(t, open(t)) })
	t.Run("request ids", func(t *testing.T) { t.Parallel(); testRequestIDs(t, open(t)) })
	t.Run("many of one request id", func(t *testing.T) { t.Parallel(); testManyOfOneRequest(t, open(t)) })
	t.Run("marks", func(t *testing.T) { t.Parallel(); testMarks(t, open(t)) })
	t.Run("a run that is stored whole", func(t *testing.T) { t.Parallel(); testWhole(t, open(t)) })
	t.Run("a day's measure", func(t *testing.T) { t.Parallel(); testMeasure(t, open(t)) })
	t.Run("approvals", func(t *testing.T) { t.Parallel(); testApprovals(t, open(t)) })
	t.Run("approvals that nobody answers", func(t *testing.T) { t.Parallel(); testApprovalsEnd(t, open(t)) })
	t.Run("answers at once", func(t *testing.T) { t.Parallel(); testAnswersAtOnce(t, open(t)) })
	t.Run("narrow runs", func(t *testing.T) { t.Parallel(); testNarrow(t, open(t)) })
	t.Run("versions", func(t *testing.T) { t.Parallel(); testVersions(t, open(t)) })
	t.Run("long versions", func(t *testing.T) { t.Parallel(); testLongVersions(t, open(t)) })
	t.Run("every branch", func(t *testing.T) { t.Parallel(); testEveryBranch(t, open(t)) })
	t.Run("feedback", func(t *testing.T) { t.Parallel(); testFeedback(t, open(t)) })
	t.Run("usage", func(t *testing.T) { t.Parallel(); testUsage(t, open(t)) })
	t.Run("spenders", func(t *testing.T) { t.Parallel(); testSpenders(t, open(t)) })
	t.Run("pruning", func(t *testing.T) { t.Parallel(); testPrune(t, open(t)) })
	t.Run("plugin keys", func(t *testing.T) { t.Parallel(); testKeys(t, open(t)) })
}

// NewSession stores a session of Owner.
func NewSession(t testing.TB, st oracle.Store) oracle.Session {
	t.Helper()
	now := time.Now().Truncate(time.Millisecond)
	s := oracle.Session{ID: oracle.NewID(), Owner: Owner, Title: oracle.Untitled, CreatedAt: now, UpdatedAt: now}
	must(t, st.CreateSession(t.Context(), s))
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testSessions(t *testing.T, st Store) {
	ctx := t.Context()
	var made []oracle.Session
	for range 3 {
		made = append(made, NewSession(t, st))
	}
	if _, err := st.Session(ctx, Stranger, made[0].ID); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Fatalf("a stranger read a session: %v", err)
	}
	list, total, err := st.Sessions(ctx, Owner, 2, 2)
	must(t, err)
	if total != 3 || len(list) != 1 {
		t.Fatalf("page of %d of %d, want 1 of 3", len(list), total)
	}
	if list, total, err = st.Sessions(ctx, Owner, 2, 10); err != nil || total != 3 || len(list) != 0 {
		t.Fatalf("past the end: %d of %d, %v", len(list), total, err)
	}
	if _, err := st.DeleteSession(ctx, Stranger, made[0].ID); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Fatalf("a stranger deleted a session: %v", err)
	}
	ok, err := st.SetTitle(ctx, made[0].ID, "Bees", time.Now())
	if err != nil || !ok {
		t.Fatalf("title: %v %v", ok, err)
	}
	if ok, err = st.SetTitle(ctx, made[0].ID, "Wasps", time.Now()); err != nil || ok {
		t.Fatalf("a title was replaced: %v %v", ok, err)
	}
	must(t, st.SetSummary(ctx, made[0].ID, "about bees", 4))
	must(t, st.SetLoaded(ctx, made[0].ID, []string{"files"}))
	got, err := st.Session(ctx, Owner, made[0].ID)
	must(t, err)
	want := made[0]
	want.Title, want.Summary, want.SummaryThrough, want.Loaded, want.UpdatedAt = "Bees", "about bees", 4,
		[]string{"files"}, got.UpdatedAt
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	live, err := st.DeleteSession(ctx, Owner, made[0].ID)
	if err != nil || len(live) != 0 {
		t.Fatalf("delete: %v %v", live, err)
	}
	if _, err = st.DeleteSession(ctx, Owner, made[0].ID); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Fatalf("deleted twice: %v", err)
	}
}

func testThreads(t *testing.T, st Store) {
	open := func(owner, key string) string {
		s, err := st.OpenSession(t.Context(), oracle.Session{
			ID: oracle.NewID(), Owner: owner, Title: "x", Key: key, CreatedAt: time.Now(), UpdatedAt: time.Now(),
		})
		must(t, err)
		return s.ID
	}
	a, b, c := open(Owner, "team/1"), open(Owner, "team/1"), open(Stranger, "team/1")
	if a != b || a == c {
		t.Fatalf("threads: %s %s %s", a, b, c)
	}
}

// Say stores a message and its run.
func Say(t testing.TB, st run.Store, session, text string, how oracle.Multitask) run.Begun {
	t.Helper()
	b, err := say(t, st, session, text, how, oracle.NewID(), false)
	must(t, err)
	return b
}

func say(t testing.TB, st run.Store, session, text string, how oracle.Multitask, request string,
	once bool,
) (run.Begun, error) {
	t.Helper()
	return ask(t, st, session, oracle.TurnRequest{Message: text}, how, request, once)
}

func ask(t testing.TB, st run.Store, session string, q oracle.TurnRequest, how oracle.Multitask, request string,
	once bool,
) (run.Begun, error) {
	t.Helper()
	return begin(t, st, oracle.Run{
		ID: oracle.NewID(), SessionID: session, Owner: Owner, RequestID: request, MessageID: oracle.NewID(),
		CreatedAt: time.Now(), Request: q, BeganBy: "token of " + q.Message,
	}, how, once)
}

func begin(t testing.TB, st run.Store, r oracle.Run, how oracle.Multitask, once bool) (run.Begun, error) {
	t.Helper()
	return st.Begin(t.Context(), run.Begin{
		Run: r,
		Message: oracle.Message{
			ID: r.MessageID, SessionID: r.SessionID, RunID: r.ID, Role: oracle.Human, Content: r.Request.Message,
			CreatedAt: r.CreatedAt,
		},
		OtherRequestID: oracle.NewID(), Once: once, Multitask: how, MaxQueue: 2, Node: "n1", TTL: time.Minute,
		Frames: func(r oracle.Run) ([]oracle.Frame, error) {
			f, err := oracle.NewFrame(oracle.FrameRun, oracle.RunFrame{RunID: r.ID})
			f.Seq = 1
			return []oracle.Frame{f}, err
		},
	})
}

// Answer ends a run with one AI message.
func Answer(t testing.TB, st run.Store, r oracle.Run, text string) oracle.Message {
	t.Helper()
	m := oracle.Message{ID: oracle.NewID(), Role: oracle.AI, Content: text, CreatedAt: time.Now()}
	must(t, st.Finish(t.Context(), ending(t, r, m)))
	return m
}

func ending(t testing.TB, r oracle.Run, messages ...oracle.Message) run.Ending {
	t.Helper()
	f, err := oracle.NewFrame(oracle.FrameDone, oracle.DoneFrame{RunID: r.ID, Status: oracle.Finished})
	must(t, err)
	f.Seq = r.NextSeq
	return run.Ending{
		Batch:  run.Batch{RunID: r.ID, Epoch: r.Epoch, Frames: []oracle.Frame{f}},
		Status: oracle.Finished, Messages: messages, At: time.Now(), Usage: plugin.Usage{InputTokens: 3},
	}
}

// What a model was told beside a question, and what its provider wants back, is
// kept with the answer.
func testModelSide(t *testing.T, st Store) {
	s := NewSession(t, st)
	m := oracle.Message{
		ID: oracle.NewID(), Role: oracle.AI, Content: "x", CreatedAt: time.Now(), Note: "It is noon.",
		State: &oracle.ModelState{
			Through: 7, ModelState: plugin.ModelState{Provider: "p", Model: "m", Data: json.RawMessage(`{"a":"\u003c"}`)},
		},
	}
	must(t, st.Finish(t.Context(), ending(t, Say(t, st, s.ID, "hi", oracle.Interrupt).Run, m)))
	got, err := st.Messages(t.Context(), s.Owner, s.ID, 0)
	must(t, err)
	if len(got) != 2 || got[0].Note != "" || got[0].State != nil {
		t.Fatalf("%+v", got)
	}
	if d := cmp.Diff(m.State, got[1].State); d != "" || got[1].Note != m.Note {
		t.Errorf("note %q, state (-want +got):\n%s", got[1].Note, d)
	}
}

func testPages(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	var human, ai []string
	for i := range 5 {
		b := Say(t, st, s.ID, fmt.Sprint("q", i), oracle.Interrupt)
		human = append(human, b.Run.MessageID)
		ai = append(ai, Answer(t, st, b.Run, fmt.Sprint("a", i)).ID)
	}
	texts := func(p oracle.Page) (out []string) {
		for _, m := range p.Messages {
			out = append(out, m.Content)
		}
		return out
	}
	for _, c := range []struct {
		name         string
		q            oracle.PageQuery
		want         []string
		older, newer bool
	}{
		{"newest", oracle.PageQuery{Limit: 2}, []string{"q3", "a3", "q4", "a4"}, true, false},
		{"before", oracle.PageQuery{Limit: 2, Before: human[3]}, []string{"q1", "a1", "q2", "a2"}, true, true},
		{"before the first", oracle.PageQuery{Limit: 2, Before: human[0]}, nil, false, false},
		{"after a whole turn", oracle.PageQuery{Limit: 2, After: ai[1]}, []string{"q2", "a2", "q3", "a3"}, true, true},
		{"after a split turn", oracle.PageQuery{Limit: 1, After: human[1]}, []string{"q1", "a1"}, true, true},
		{
			"all",
			oracle.PageQuery{Limit: 100},
			[]string{"q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4"},
			false,
			false,
		},
	} {
		p, err := st.Page(ctx, Owner, s.ID, c.q)
		must(t, err)
		if d := cmp.Diff(c.want, texts(p)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if len(c.want) > 0 && (p.HasOlder != c.older || p.HasNewer != c.newer) {
			t.Errorf("%s: older %v newer %v", c.name, p.HasOlder, p.HasNewer)
		}
	}
	if _, err := st.Page(ctx, Owner, s.ID, oracle.PageQuery{Limit: 1, Before: "nobody"}); !errors.Is(err,
		oracle.ErrUnknownCursor) {
		t.Errorf("unknown cursor: %v", err)
	}
	if p, err := st.Page(ctx, Stranger, s.ID, oracle.PageQuery{Limit: 1}); err != nil || len(p.Messages) != 0 {
		t.Errorf("a stranger read a page: %v %v", p, err)
	}
}

// Of a conversation that takes too much the newest turns are read, and any page that does not.
func testLong(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	text, last := strings.Repeat("x", 1<<20), ""
	for range oracle.MaxRead>>20 + 1 {
		b := Say(t, st, s.ID, text, oracle.Interrupt)
		last = Answer(t, st, b.Run, "ho").ID
	}
	list, err := st.Messages(ctx, Owner, s.ID, 0)
	if !errors.Is(err, oracle.ErrTooLong) {
		t.Fatalf("%d messages of too much: %v", len(list), err)
	}
	if n := len(list); n%2 != 0 || n < oracle.MaxRead>>20 || list[0].Role != oracle.Human || list[n-1].ID != last {
		t.Errorf("%d messages from %s to %s", n, list[0].Role, list[n-1].ID)
	}
	if p, err := st.Page(ctx, Owner, s.ID, oracle.PageQuery{Limit: 100}); !errors.Is(err, oracle.ErrTooLong) {
		t.Errorf("a page of too much has %d messages: %v", len(p.Messages), err)
	}
	if p, err := st.Page(ctx, Owner, s.ID, oracle.PageQuery{Limit: 20}); err != nil || len(p.Messages) != 40 ||
		!p.HasOlder {
		t.Errorf("a page has %d messages: %v", len(p.Messages), err)
	}
	p, err := oracle.New(oracle.Deps{Store: st}).Page(ctx, Owner, s.ID, oracle.PageQuery{Limit: 100})
	if n := len(p.Messages); err != nil || n != 50 || p.Messages[n-1].ID != last || !p.HasOlder {
		t.Errorf("a shorter page has %d messages: %v", n, err)
	}
	if rest, err := st.Messages(ctx, Owner, s.ID, list[0].Turn); err != nil || len(rest) != len(list)-2 {
		t.Errorf("behind a turn are %d messages: %v", len(rest), err)
	}
}

func testMultitask(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	first := Say(t, st, s.ID, "one", oracle.Interrupt)
	if first.Run.Status != oracle.Running || first.Run.Epoch != 1 {
		t.Fatalf("first run: %+v", first.Run)
	}
	if _, err := say(t, st, s.ID, "two", oracle.Reject, oracle.NewID(), false); !fault.Is(err, fault.Conflict) {
		t.Fatalf("reject: %v", err)
	}
	second := Say(t, st, s.ID, "two", oracle.Enqueue)
	if second.Run.Status != oracle.Queued {
		t.Fatalf("second run: %+v", second.Run)
	}
	if _, err := st.Claim(ctx, second.Run.ID, "n2", time.Minute); !errors.Is(err, run.ErrLost) {
		t.Fatalf("a queued run started beside a live one: %v", err)
	}
	third := Say(t, st, s.ID, "three", oracle.Interrupt)
	if d := cmp.Diff([]string{first.Run.ID}, third.Interrupted); d != "" {
		t.Error(d)
	}
	if e := third.Ended; len(e) != 1 || e[0].ID != second.Run.ID || e[0].Owner != Owner || e[0].Status != oracle.Queued {
		t.Errorf("ended while they waited: %+v", e)
	}
	frames, head, err := st.Frames(ctx, second.Run.ID, 0, 10)
	must(t, err)
	if len(frames) != 2 || !frames[1].Ends() || head.Status != oracle.Aborted {
		t.Errorf("the queued run did not end: %v %+v", frames, head)
	}
	abort, err := st.Append(ctx, run.Batch{RunID: first.Run.ID, Epoch: 1, TTL: time.Minute})
	if err != nil || !abort {
		t.Errorf("the first run was not asked to stop: %v %v", abort, err)
	}
	Answer(t, st, first.Run, "partial")
	r, err := st.Claim(ctx, third.Run.ID, "n2", time.Minute)
	must(t, err)
	if r.Status != oracle.Running || r.Epoch != 1 || r.Attempt != 1 {
		t.Errorf("claimed: %+v", r)
	}
	Answer(t, st, r, "last")
	list, err := st.Messages(ctx, Owner, s.ID, 0)
	must(t, err)
	var texts []string
	for _, m := range list {
		texts = append(texts, m.Content)
	}
	if d := cmp.Diff([]string{"one", "partial", "two", "three", "last"}, texts); d != "" {
		t.Error(d)
	}
	runs, err := st.Abort(ctx, Stranger, s.ID, "")
	if err != nil || len(runs) != 0 {
		t.Errorf("a stranger aborted: %v %v", runs, err)
	}
}

func testFencing(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	live := func(want bool) {
		t.Helper()
		if got, err := st.Live(ctx); err != nil || got != want {
			t.Errorf("a run is live: %v, %v, want %v", got, err, want)
		}
	}
	live(false)
	r := Say(t, st, s.ID, "hi", oracle.Interrupt).Run
	live(true)
	if _, err := st.Claim(ctx, r.ID, "n2", time.Minute); !errors.Is(err, run.ErrLost) {
		t.Fatalf("a held run was claimed: %v", err)
	}
	_, err := st.Renew(ctx, []run.Held{{RunID: r.ID, Epoch: r.Epoch}}, 0)
	must(t, err)
	ids, err := st.Claimable(ctx, time.Second, 10)
	must(t, err)
	if d := cmp.Diff([]string{r.ID}, ids); d != "" {
		t.Fatal(d)
	}
	taken, err := st.Claim(ctx, r.ID, "n2", time.Minute)
	must(t, err)
	if taken.Epoch != 2 || taken.Attempt != 2 || taken.Status != oracle.Recovering ||
		taken.NextSeq != 1<<oracle.AttemptShift {
		t.Fatalf("taken over: %+v", taken)
	}
	f, err := oracle.NewFrame(oracle.FrameMessage, oracle.MessageFrame{Content: "late"})
	must(t, err)
	f.Seq = r.NextSeq
	if _, err := st.Append(ctx, run.Batch{RunID: r.ID, Epoch: 1, Frames: []oracle.Frame{f}}); !errors.Is(err,
		run.ErrLost) {
		t.Errorf("the old node wrote: %v", err)
	}
	if err := st.Finish(ctx, ending(t, r)); !errors.Is(err, run.ErrLost) {
		t.Errorf("the old node finished: %v", err)
	}
	standing, err := st.Renew(ctx, []run.Held{{RunID: r.ID, Epoch: 1}, {RunID: r.ID + "x", Epoch: 1}}, time.Minute)
	must(t, err)
	if !standing[r.ID].Lost || !standing[r.ID+"x"].Lost {
		t.Errorf("standing: %+v", standing)
	}
	// A batch that is written again after a lost acknowledgement counts once.
	f.Seq = taken.NextSeq
	batch := run.Batch{RunID: r.ID, Epoch: 2, Frames: []oracle.Frame{f}, Checkpoint: []byte(`{"steps":[]}`), TTL: time.Minute}
	for range 2 {
		_, err = st.Append(ctx, batch)
		must(t, err)
	}
	taken.NextSeq++
	end := ending(t, taken, oracle.Message{ID: oracle.NewID(), Role: oracle.AI, Content: "late", CreatedAt: time.Now()})
	for range 2 {
		must(t, st.Finish(ctx, end))
	}
	frames, head, err := st.Frames(ctx, r.ID, 1, 10)
	must(t, err)
	if len(frames) != 2 || head.Status != oracle.Finished {
		t.Errorf("frames after takeover: %v %+v", frames, head)
	}
	live(false)
	list, err := st.Messages(ctx, Owner, s.ID, 0)
	if err != nil || len(list) != 2 {
		t.Errorf("transcript: %v %v", list, err)
	}
}
