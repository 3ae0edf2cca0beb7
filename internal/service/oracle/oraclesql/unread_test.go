package oraclesql_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/test/testenv"
)

const (
	longText = 1 << 20
	// fewBytes is far more than rows take without the texts of people.
	fewBytes = 16 << 10
)

// answers counts the bytes that selections answer.
type answers struct {
	mu      sync.Mutex
	watches bool
	seen    []seenStatement
}

type seenStatement struct {
	query string
	args  []any
}

func (a *answers) see(query string, args []driver.NamedValue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.watches || !strings.HasPrefix(strings.TrimSpace(query), "SELECT") {
		return
	}
	s := seenStatement{query: query}
	for _, v := range args {
		s.args = append(s.args, v.Value)
	}
	a.seen = append(a.seen, s)
}

func (a *answers) watch(on bool) (seen []seenStatement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen, a.seen, a.watches = a.seen, nil, on
	return seen
}

// of returns how many bytes what do selects has, as it is when do is over.
func (a *answers) of(t *testing.T, db *sqldb.DB, do func()) (n int) {
	t.Helper()
	a.watch(true)
	do()
	for _, s := range a.watch(false) {
		rows, err := db.Read().QueryContext(t.Context(), s.query, s.args...)
		if err != nil {
			t.Fatalf("%s: %v", s.query, err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, into := make([][]byte, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				n += len(v)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// watched runs a test on both engines, with a count of what is selected.
func watched(t *testing.T, body func(t *testing.T, db *sqldb.DB, selected *answers)) {
	t.Helper()
	on := func(t *testing.T, url string) {
		t.Helper()
		var a answers
		body(t, oracletest.Migrated(t, sqldbtest.Open(t, url, sqldb.Options{Seen: a.see})), &a)
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); on(t, sqldbtest.SQLiteURL(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); testenv.Need(t, "postgres"); on(t, testenv.Postgres(t)) })
}

// What waits in a session is not read by what is refused because of it, nor by what waits
// behind it, and what ends it has what it asked for.
func TestWhatWaitsIsLeftUnread(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, db *sqldb.DB, selected *answers) {
		st := oraclesql.New(db)
		s, text := oracletest.NewSession(t, st), strings.Repeat("x", longText)
		first, queued := say(t, st, s.ID, text, oracle.NewID()), say(t, st, s.ID, text, oracle.NewID())
		send := func(how oracle.Multitask) (begun run.Begun, err error) {
			t.Helper()
			b := message(s.ID, "hi", oracle.NewID(), how, false)
			n := selected.of(t, db, func() { begun, err = st.Begin(t.Context(), b) })
			if n > fewBytes {
				t.Errorf("%s: %d bytes were read", how, n)
			}
			return begun, err
		}
		if _, err := send(oracle.Reject); !errors.Is(err, run.ErrBusy) {
			t.Errorf("beside a run: %v", err)
		}
		last, err := send(oracle.Enqueue)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := send(oracle.Enqueue); !errors.Is(err, run.ErrQueueFull) {
			t.Errorf("behind a full queue: %v", err)
		}
		begun, err := send(oracle.Interrupt)
		if err != nil || len(begun.Ended) != 2 || len(begun.Interrupted) != 1 || begun.Interrupted[0] != first.ID {
			t.Fatalf("%d ended, %v interrupted: %v", len(begun.Ended), begun.Interrupted, err)
		}
		for _, r := range begun.Ended {
			if r.ID == queued.ID && r.Request.Message != text || r.ID == last.Run.ID && r.Request.Message != "hi" {
				t.Errorf("a run that ended asked for %d bytes", len(r.Request.Message))
			}
		}
		var stopped []oracle.Run
		for range 3 {
			n := selected.of(t, db, func() { stopped, err = st.Abort(t.Context(), oracletest.Owner, s.ID, "") })
			if err != nil || n > fewBytes {
				t.Errorf("%d bytes were read to stop: %v", n, err)
			}
		}
		if len(stopped) != 1 || stopped[0].ID != first.ID {
			t.Errorf("stopped: %d runs", len(stopped))
		}
	})
}

// Whoever uses a request id again reads no message of another conversation, and its own
// only to compare it.
func TestARequestIDOfManyIsLeftUnread(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, db *sqldb.DB, selected *answers) {
		st := oraclesql.New(db)
		const id = "once-x"
		text := strings.Repeat("x", longText)
		s := oracletest.NewSession(t, st)
		first := say(t, st, s.ID, text, id)
		oracletest.Answer(t, st, first, "ho")
		for range 3 {
			oracletest.Answer(t, st, say(t, st, oracletest.NewSession(t, st).ID, text, id), "ho")
		}
		send := func(session, text string, most int) (begun run.Begun, err error) {
			t.Helper()
			b := message(session, text, id, oracle.Enqueue, true)
			if n := selected.of(t, db, func() { begun, err = st.Begin(t.Context(), b) }); n > most {
				t.Errorf("%d bytes were read, want %d at most", n, most)
			}
			return begun, err
		}
		other, err := send(oracletest.NewSession(t, st).ID, "hi", fewBytes)
		if err != nil || other.Repeat || other.Run.RequestID != id {
			t.Errorf("in a session of its own: repeat %v, %q, %v", other.Repeat, other.Run.RequestID, err)
		}
		third, err := send(oracletest.NewSession(t, st).ID, "hi", fewBytes)
		if err != nil || third.Repeat || third.Run.RequestID == id {
			t.Errorf("beside a live run of that id: repeat %v, %q, %v", third.Repeat, third.Run.RequestID, err)
		}
		same, err := send(s.ID, text, longText+fewBytes)
		if err != nil || !same.Repeat || same.Run.ID != first.ID || same.Run.Status != oracle.Finished ||
			same.Run.Request.Message != text {
			t.Errorf("again: %v %s, %v", same.Repeat, same.Run.Status, err)
		}
		if _, err := send(s.ID, "hi", longText+fewBytes); !errors.Is(err, run.ErrReused) {
			t.Errorf("another message: %v", err)
		}
	})
}

// say stores a message that waits for those before it.
func say(t *testing.T, st *oraclesql.Store, session, text, request string) oracle.Run {
	t.Helper()
	begun, err := st.Begin(t.Context(), message(session, text, request, oracle.Enqueue, true))
	if err != nil {
		t.Fatal(err)
	}
	return begun.Run
}

// message is one of oracletest.Owner.
func message(session, text, request string, how oracle.Multitask, once bool) run.Begin {
	r := oracle.Run{
		ID: oracle.NewID(), SessionID: session, Owner: oracletest.Owner, RequestID: request, MessageID: oracle.NewID(),
		CreatedAt: time.Now(), Request: oracle.TurnRequest{Message: text},
	}
	return run.Begin{
		Run: r, OtherRequestID: oracle.NewID(), Once: once, Multitask: how, MaxQueue: 2, Node: "n1", TTL: time.Minute,
		Message: oracle.Message{
			ID: r.MessageID, SessionID: session, RunID: r.ID, Role: oracle.Human, Content: text, CreatedAt: r.CreatedAt,
		},
		Frames: func(oracle.Run) ([]oracle.Frame, error) { return nil, nil },
	}
}
