package coldstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/talksearch"
)

// world is a database and an object store with conversations, and two nodes on them.
type world struct {
	t      *testing.T
	db     *sqldb.DB
	blobs  *blobtest.Faulty
	cold   *coldstore.Store
	st, on *oraclesql.Store // on is another node's
	lease  lease.Lease
	runs   bool // whether runs are erased
}

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) { body(t, newWorld(t, open(t))) })
}

func keys(first byte, old ...seal.Key) coldstore.Keys {
	key := seal.Key(bytes.Repeat([]byte{first}, seal.KeySize))
	return coldstore.Keys{Current: key, Old: old, InForce: func(context.Context) (seal.Key, error) { return key, nil }}
}

func newWorld(t *testing.T, db *sqldb.DB) *world {
	t.Helper()
	w := &world{t: t, db: oracletest.Migrated(t, db), blobs: blobtest.NewFaulty(blobmem.New())}
	w.cold = w.node(keys(1))
	w.st, w.on = oraclesql.New(db).WithCold(w.cold), oraclesql.New(db).WithCold(w.node(keys(1)))
	l, ok, err := lease.NewKeeper(db, "me").Acquire(t.Context(), "test", time.Hour)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	w.lease = l
	return w
}

func (w *world) node(k coldstore.Keys) *coldstore.Store {
	w.t.Helper()
	s, err := coldstore.New(coldstore.Deps{
		DB: w.db, Blobs: w.blobs, Keys: k, Idle: oraclesql.Idle, Log: slog.New(slog.DiscardHandler),
	})
	w.must(err)
	return s
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// talk is a conversation of some turns, that the index has read and whose frames are gone.
func (w *world) talk(turns int) oracle.Session {
	w.t.Helper()
	s := oracletest.NewSession(w.t, w.st)
	for i := range turns {
		begun := oracletest.Say(w.t, w.st, s.ID, fmt.Sprintf("question %d: what is \"it\"\n<b>& why</b>? \u2028 🐝", i), oracle.Interrupt)
		oracletest.Answer(w.t, w.st, begun.Run, fmt.Sprintf("answer %d", i))
	}
	w.settle()
	return s
}

// settle does what the workers do meanwhile.
func (w *world) settle() {
	w.t.Helper()
	for {
		n, err := w.st.Prune(w.t.Context(), time.Now().Add(time.Hour), 100)
		w.must(err)
		if n == 0 {
			break
		}
	}
	w.write(`UPDATE oracle_sessions SET unread = 0, indexed_seq = next_seq`)
}

func (w *world) write(text string, args ...any) int64 {
	w.t.Helper()
	n, err := w.db.WriteOne(w.t.Context(), text, args...)
	w.must(err)
	return n
}

// later is a time before which everything was used.
func later() time.Time { return time.Now().Add(2 * time.Hour) }

func (w *world) freeze() int64 {
	w.t.Helper()
	n, err := w.tryFreeze(w.t.Context())
	w.must(err)
	return n
}

func (w *world) tryFreeze(ctx context.Context) (total int64, err error) {
	moving := w.cold.Moving(func() bool { return w.runs })
	err = moving.Walk(ctx, later(), func(ids []string) error {
		n, err := moving.Move(ctx, w.lease, later(), ids)
		total += n
		return err
	})
	return total, err
}

// rows are what a session has in the tables that move, as text.
func (w *world) rows(session string) []string {
	w.t.Helper()
	var out bytes.Buffer
	lines := retention.NewJSONLines(w.db.Read(), &out)
	for _, where := range []string{"oracle_messages WHERE session_id = $1", "oracle_runs WHERE session_id = $1", "oracle_approvals WHERE session_id = $1"} {
		table, where, _ := strings.Cut(where, " WHERE ")
		w.must(lines.Rows(w.t.Context(), table, where, session))
	}
	text := strings.Split(strings.TrimSpace(out.String()), "\n")
	if text[0] == "" {
		return nil
	}
	slices.Sort(text)
	return text
}

func (w *world) objects() (n int) {
	w.t.Helper()
	for _, err := range w.blobs.List(w.t.Context(), coldstore.Prefix) {
		w.must(err)
		n++
	}
	return n
}

func (w *world) totals() coldstore.Totals {
	w.t.Helper()
	got, err := w.cold.Totals(w.t.Context())
	w.must(err)
	return got
}

func TestWhatGoesComesBackAsItWas(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(120) // more than one statement inserts
		first := oracletest.Say(t, w.st, s.ID, "may I?", oracle.Interrupt)
		oracletest.Rest(t, w.st, first.Run, time.Hour, "call")
		w.write(`UPDATE oracle_runs SET status = 'finished', ended_ms = 5, pruned = 1, opening = '' WHERE id = $1`, first.Run.ID)
		w.write(`DELETE FROM oracle_frames`)
		w.settle()
		listed, _, err := w.st.Sessions(t.Context(), oracletest.Owner, 10, 0)
		w.must(err)
		before, said := w.rows(s.ID), must(w.st.Messages(t.Context(), oracletest.Owner, s.ID, 0))
		if n := w.freeze(); n != 1 {
			t.Fatalf("%d went, want one", n)
		}
		if left := w.rows(s.ID); left != nil {
			t.Errorf("%d rows are left", len(left))
		}
		if got := w.totals(); got.Conversations != 1 || got.Stored <= 0 || got.Bytes <= got.Stored {
			t.Errorf("totals %+v", got)
		}
		if still, _, err := w.st.Sessions(t.Context(), oracletest.Owner, 10, 0); err != nil || cmp.Diff(listed, still) != "" {
			t.Errorf("the list of sessions changed: %s, %v", cmp.Diff(listed, still), err)
		}
		if again := must(w.on.Messages(t.Context(), oracletest.Owner, s.ID, 0)); cmp.Diff(said, again) != "" {
			t.Error(cmp.Diff(said, again))
		}
		if d := cmp.Diff(before, w.rows(s.ID)); d != "" {
			t.Error(d)
		}
		if got := w.totals(); got != (coldstore.Totals{}) {
			t.Errorf("totals %+v are left", got)
		}
		if n := w.freeze(); n != 1 {
			t.Errorf("%d went the second time", n)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Whoever asks for something in a cold session, or for one of its runs, is answered as if
// it had never been away.
func TestEveryWayIntoAConversationBringsItBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, who := t.Context(), oracletest.Owner
		s := w.talk(3)
		list := must(w.st.Messages(ctx, who, s.ID, 0))
		question, answer := list[0], list[1]
		runID := question.RunID
		request := must(w.st.Run(ctx, who, runID)).RequestID
		for _, way := range []struct {
			name string
			do   func() error
		}{
			{"page", func() error {
				p, err := w.on.Page(ctx, who, s.ID, oracle.PageQuery{Limit: 2})
				return want(err, len(p.Messages) == 4 && p.HasOlder)
			}},
			{"page before", func() error {
				p, err := w.on.Page(ctx, who, s.ID, oracle.PageQuery{Limit: 1, Before: list[2].ID})
				return want(err, len(p.Messages) == 2)
			}},
			{"turn", func() error { l, err := w.on.Turn(ctx, who, s.ID, 1); return want(err, len(l) == 2) }},
			{"asked", func() error {
				a, err := w.on.Asked(ctx, who, s.ID, question.ID)
				return want(err, a.Request.Message == question.Content)
			}},
			{"versions", func() error { v, err := w.on.Versions(ctx, who, s.ID, 1); return want(err, len(v) == 1) }},
			{"choose", func() error { return w.on.Choose(ctx, who, s.ID, question.ID) }},
			{"feedback", func() error {
				return w.on.SetFeedback(ctx, who, s.ID, oracle.Feedback{MessageID: answer.ID, Rating: "up", At: time.Now()})
			}},
			{"run", func() error { r, err := w.on.Run(ctx, who, runID); return want(err, r.SessionID == s.ID) }},
			{"frames", func() error { _, head, err := w.on.Frames(ctx, runID, 0, 10); return want(err, head.Pruned) }},
			{"request", func() error { r, err := w.on.ByRequest(ctx, who, s.ID, request); return want(err, r.ID == runID) }},
			{"reply", func() error {
				return w.on.AddReply(ctx, who, oracle.Message{
					ID: oracle.NewID(), SessionID: s.ID, Role: oracle.AI, Content: "late", CreatedAt: time.Now(),
				})
			}},
			{"a new turn", func() error {
				oracletest.Answer(t, w.on, oracletest.Say(t, w.on, s.ID, "more", oracle.Interrupt).Run, "ho")
				return nil
			}},
		} {
			w.settle()
			if n := w.freeze(); n != 1 {
				t.Fatalf("%s: %d went, want one", way.name, n)
			}
			if err := way.do(); err != nil {
				t.Errorf("%s: %v", way.name, err)
			}
			if left := w.totals(); left.Conversations != 0 {
				t.Errorf("%s left it cold", way.name)
			}
		}
		now := must(w.st.Messages(ctx, who, s.ID, 0))
		if len(now) != len(list)+3 || cmp.Diff(list, now[:len(list)]) != "" {
			t.Errorf("%d messages became %d: %s", len(list), len(now), cmp.Diff(list, now[:len(list)]))
		}
		w.settle()
		w.freeze()
		if _, err := w.on.Run(ctx, oracletest.Stranger, runID); !errors.Is(err, oracle.ErrRunNotFound) {
			t.Errorf("a stranger's look at a run: %v", err)
		}
		l, err := w.on.Messages(ctx, oracletest.Stranger, s.ID, 0)
		if err != nil || len(l) != 0 || w.totals().Conversations != 1 {
			t.Errorf("a stranger brought back %d messages: %v", len(l), err)
		}
	})
}

var errWrong = errors.New("another answer than it should be")

func want(err error, right bool) error {
	if err == nil && !right {
		return errWrong
	}
	return err
}

func TestWhatIsUsedStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		busy, calling, unread, framed := w.talk(1), w.talk(1), w.talk(1), w.talk(1)
		hidden, large := w.talk(1), w.talk(1)
		w.talk(0) // nothing was said
		oracletest.Say(t, w.st, busy.ID, "go on", oracle.Interrupt)
		w.settle()
		w.write(`INSERT INTO oracle_calls (id, session_id, owner, node, kind, status, fingerprint, agreement, lease_ms, created_ms, expires_ms)
			VALUES ('c', $1, $2, 'n', 'voice', 'live', '', '', 0, 0, 0)`, calling.ID, oracletest.Owner)
		w.write(`UPDATE oracle_sessions SET unread = 1 WHERE id = $1`, unread.ID)
		w.write(`UPDATE oracle_runs SET pruned = 0 WHERE session_id = $1`, framed.ID)
		w.write(`UPDATE oracle_sessions SET expires_ms = 9999999999999 WHERE id = $1`, hidden.ID)
		w.write(`UPDATE oracle_messages SET content = $1 WHERE session_id = $2`, strings.Repeat("x", coldstore.MaxBytes/2+1), large.ID)
		if n := w.freeze(); n != 0 {
			t.Errorf("%d went", n)
		}
		moving := w.cold.Moving(func() bool { return false })
		if n, all, err := moving.Count(t.Context(), time.Now().Add(-time.Hour), 10); err != nil || n != 0 || !all {
			t.Errorf("%d of today are due: %v", n, err)
		}
		for _, s := range []oracle.Session{busy, calling, unread, framed, hidden, large} {
			if len(w.rows(s.ID)) == 0 {
				t.Errorf("session %s lost its rows", s.ID)
			}
		}
	})
}

// A conversation that somebody touches while it is being stored stays as they left it.
func TestATouchInTheMiddleWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(2)
		touched := &touching{Store: w.blobs, do: func() {
			oracletest.Answer(t, w.on, oracletest.Say(t, w.on, s.ID, "wait", oracle.Interrupt).Run, "yes?")
			w.settle()
		}}
		w.cold.Blobs = touched
		if n := w.freeze(); n != 0 {
			t.Errorf("%d went", n)
		}
		if list := must(w.st.Messages(t.Context(), oracletest.Owner, s.ID, 0)); len(list) != 6 {
			t.Errorf("%d messages, want 6", len(list))
		}
		w.cold.Blobs = w.blobs
		if n := w.freeze(); n != 1 {
			t.Errorf("%d went afterwards, want one", n)
		}
		if list := must(w.on.Messages(t.Context(), oracletest.Owner, s.ID, 0)); len(list) != 6 {
			t.Errorf("%d messages came back, want 6", len(list))
		}
	})
}

// Two nodes that bring back the same do it once, and who asks meanwhile has all of it.
func TestManyBringItBackOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(5)
		for range 5 {
			w.freeze()
			var all sync.WaitGroup
			for i := range 8 {
				st := w.st
				if i%2 == 0 {
					st = w.on
				}
				all.Go(func() {
					if list, err := st.Messages(t.Context(), oracletest.Owner, s.ID, 0); err != nil || len(list) != 10 {
						t.Errorf("%d messages, want 10: %v", len(list), err)
					}
				})
			}
			all.Wait()
			if got := w.totals(); got != (coldstore.Totals{}) {
				t.Errorf("totals %+v", got)
			}
		}
	})
}

func TestWhatIsDeletedCannotBeOpened(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s, kept := w.talk(1), w.talk(1)
		w.freeze()
		if _, err := w.st.DeleteSession(t.Context(), oracletest.Owner, s.ID); err != nil {
			t.Fatal(err)
		}
		var left int
		w.must(w.db.Read().QueryRowContext(t.Context(), `SELECT COALESCE(MAX(LENGTH(wrapped_key)), 0) FROM oracle_cold WHERE session_id = $1`, s.ID).Scan(&left))
		if left != 0 {
			t.Error("the key of a deleted conversation is still there")
		}
		w.must(w.cold.Tidy(t.Context(), time.Time{}))
		if n := w.objects(); n != 2 {
			t.Errorf("%d objects, want both: a backup may be copying them", n)
		}
		w.write(`UPDATE oracle_cold SET dead_ms = dead_ms - 90000000 WHERE dead_ms > 0`)
		w.must(w.cold.Tidy(t.Context(), time.Time{}))
		if n := w.objects(); n != 1 {
			t.Errorf("%d objects, want one", n)
		}
		if got := w.totals(); got.Conversations != 1 {
			t.Errorf("totals %+v", got)
		}
		if list := must(w.st.Messages(t.Context(), oracletest.Owner, kept.ID, 0)); len(list) != 2 {
			t.Errorf("the other one has %d messages", len(list))
		}
	})
}

// What the rules of retention erase is exported whole, and goes whole.
func TestErasedConversationsAreExportedFromTheArchive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(1)
		before := w.rows(s.ID)
		w.freeze()
		source := w.on.Retained()[retention.Transcripts][0]
		var out bytes.Buffer
		w.must(source.Export(t.Context(), later(), s.ID, retention.NewJSONLines(w.db.Read(), &out)))
		for _, row := range before {
			if !strings.Contains(out.String(), row) {
				t.Errorf("the export lacks %s", row)
			}
		}
		if got := w.totals(); got.Conversations != 1 || len(w.rows(s.ID)) != 0 {
			t.Errorf("the export brought it back: %+v", got)
		}
		w.must(w.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			n, err := source.Erase(ctx, tx, later(), s.ID)
			return want(err, n == 1)
		}))
		if got := w.totals(); got != (coldstore.Totals{}) {
			t.Errorf("totals %+v", got)
		}
	})
}

// Runs that are kept for a while only do not outlive that in the archive.
func TestRunsDoNotHideFromTheirRule(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(2)
		w.runs = true
		if n := w.freeze(); n != 0 {
			t.Fatalf("%d went with runs that are to be erased", n)
		}
		w.runs = false
		w.freeze()
		w.must(w.cold.Tidy(t.Context(), later()))
		if got := w.totals(); got.Conversations != 0 || len(w.rows(s.ID)) == 0 {
			t.Errorf("runs that are due stayed away: %+v", got)
		}
		w.write(`DELETE FROM oracle_runs`)
		w.runs = true
		if n := w.freeze(); n != 1 {
			t.Errorf("%d went when the runs were gone", n)
		}
		w.must(w.cold.Tidy(t.Context(), later()))
		if got := w.totals(); got.Conversations != 1 {
			t.Errorf("it came back for no run: %+v", got)
		}
	})
}

// What is cold is found by what was said in it, without coming back for that. Only an index
// that is made anew needs it in the tables.
func TestWhatIsColdIsFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		talks := talksearch.New(talksearch.Deps{
			Store: w.st, Blobs: w.blobs, Sealer: sealing.Sealer{Key: bytes.Repeat([]byte{7}, 32), Purpose: "search"}, Now: later,
		})
		index := func() {
			t.Helper()
			for more := true; more; {
				var err error
				more, err = talks.IndexOnce(t.Context())
				w.must(err)
			}
			w.must(talks.TidyOnce(t.Context()))
		}
		found := func(when string, n int64) {
			t.Helper()
			r, err := talks.Search(t.Context(), oracletest.Owner, "wasps", 10, 0)
			if err != nil || r.Total != n || r.Behind != 0 {
				t.Errorf("%s: %d were found, want %d: %v", when, r.Total, n, err)
			}
		}
		s := oracletest.NewSession(t, w.st)
		oracletest.Answer(t, w.st, oracletest.Say(t, w.st, s.ID, "what do wasps eat?", oracle.Interrupt).Run, "pears")
		_, err := w.st.Prune(t.Context(), later(), 10)
		w.must(err)
		if n := w.freeze(); n != 0 {
			t.Errorf("%d went that the index has not read", n)
		}
		index()
		if n := w.freeze(); n != 1 {
			t.Fatalf("%d went, want one", n)
		}
		found("cold", 1)
		w.must(w.st.ForgetIndex(t.Context(), oracletest.Owner, time.Now()))
		if owners, err := w.st.Unread(t.Context(), later(), 1, "", 10); err != nil || len(owners) != 0 {
			t.Errorf("the indexer is sent to %q for nothing: %v", owners, err)
		}
		index()
		found("cold, and the index is lost", 0)
		w.must(w.cold.Tidy(t.Context(), time.Time{}))
		index()
		found("the index was made anew", 1)
		if n := w.freeze(); n != 1 {
			t.Errorf("%d went again, want one", n)
		}
	})
}

func TestKeysChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(1)
		w.freeze()
		old, now := keys(1).Current, keys(2)
		after := oraclesql.New(w.db).WithCold(w.node(now))
		if _, err := after.Messages(t.Context(), oracletest.Owner, s.ID, 0); !fault.Is(err, fault.Unavailable) {
			t.Errorf("opened without its key: %v", err)
		}
		both := w.node(keys(2, old))
		for _, n := range []int{1, 0} {
			if got, err := both.RotateKeys(t.Context()); err != nil || got != n {
				t.Errorf("%d keys were wrapped, want %d: %v", got, n, err)
			}
		}
		under, err := coldstore.MasterKeys(t.Context(), w.db)
		if err != nil || !slices.Equal(under, []string{coldstore.MasterID(now.Current)}) {
			t.Errorf("under %q: %v", under, err)
		}
		if list, err := after.Messages(t.Context(), oracletest.Owner, s.ID, 0); err != nil || len(list) != 2 {
			t.Errorf("%d messages with the new key alone: %v", len(list), err)
		}
	})
}

func TestTheDoctorFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.talk(1)
		w.talk(1)
		w.freeze()
		var said []string
		tell := func(problem string) { said = append(said, problem) }
		for _, deep := range []bool{false, true} {
			if n, err := w.cold.Examine(t.Context(), deep, tell); err != nil || n != 2 || len(said) != 0 {
				t.Errorf("deep %t: %d, %q, %v", deep, n, said, err)
			}
		}
		plan := blobtest.Healthy()
		plan.Flip = 200
		w.blobs.Set(plan)
		if _, err := w.cold.Examine(t.Context(), true, tell); err != nil || len(said) != 2 {
			t.Errorf("of two damaged objects: %q, %v", said, err)
		}
		w.blobs.Set(blobtest.Healthy())
		for info := range w.blobs.List(t.Context(), coldstore.Prefix) {
			w.must(w.blobs.Delete(t.Context(), info.Key))
			break
		}
		said = nil
		if _, err := w.cold.Examine(t.Context(), false, tell); err != nil || len(said) != 1 {
			t.Errorf("of one that is missing: %q, %v", said, err)
		}
	})
}

// What a backup copied after the tables belongs to nothing where it is restored.
func TestOrphansOfARestoreGo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.talk(1)
		w.freeze()
		if _, err := w.blobs.Put(t.Context(), coldstore.Prefix+"ab/abcd", strings.NewReader("x"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if n, err := coldstore.DropOrphans(t.Context(), w.db, w.blobs); err != nil || n != 1 || w.objects() != 1 {
			t.Errorf("%d went, %d are left: %v", n, w.objects(), err)
		}
	})
}
