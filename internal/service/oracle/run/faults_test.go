package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus/bustest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/test/testenv"
)

// A database that is away for a while in the middle of a run delays it, and
// nothing else.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	var b sqldbtest.Breaker
	db := sqldbtest.Open(t, sqldbtest.SQLiteURL(t), sqldb.Options{Fault: b.Fault})
	st := oraclesql.New(oracletest.Migrated(t, db))
	e, _ := node(t, st, memory(t), worker{work: func(ctx context.Context, job run.Job) run.Result {
		say(job, "before ")
		_ = job.Log.Flush(ctx)
		b.BreakFor(1500 * time.Millisecond) // three times the lease
		say(job, "during ")
		_ = job.Log.Flush(ctx)
		b.LoseAcks(1)
		say(job, "after")
		_ = job.Log.Flush(ctx)
		b.LoseAcks(1)
		return answered("before during after")
	}})
	s := oracletest.NewSession(t, st)
	frames := read(t, start(t, e, s.ID, "go", "").Reader)
	if last(t, frames).Status != oracle.Finished || len(frames) != 6 {
		t.Errorf("frames: %v", oracletest.Events(frames))
	}
	list, err := st.Messages(t.Context(), oracletest.Owner, s.ID, 0)
	if err != nil || len(list) != 2 || list[1].Content != "before during after" {
		t.Errorf("transcript: %v %v", list, err)
	}
}

// torn is a store whose frames cannot be read once.
type torn struct {
	run.Store
	reads atomic.Int32
	first chan struct{} // closed by the reading that fails
}

func (s *torn) Frames(ctx context.Context, id string, after int64, limit int) ([]oracle.Frame, run.Head, error) {
	if s.reads.Add(1) == 1 {
		close(s.first)
		return nil, run.Head{}, errors.New("away")
	}
	return s.Store.Frames(ctx, id, after, limit)
}

// Whoever waits for the end of a run waits for it also when frames, of which it had
// fallen behind, cannot be read for a moment.
func TestTheEndIsAwaitedWhateverCanNotBeRead(t *testing.T) {
	t.Parallel()
	db := oraclesql.New(oracletest.Migrated(t, sqldbtest.Open(t, sqldbtest.SQLiteURL(t), sqldb.Options{})))
	st := &torn{Store: db, first: make(chan struct{})}
	said := make(chan struct{})
	e, _ := node(t, st, memory(t), worker{work: func(ctx context.Context, job run.Job) run.Result {
		for range 1000 { // more than a node keeps for its readers
			say(job, "a ")
		}
		_ = job.Log.Flush(ctx)
		close(said)
		<-st.first
		return answered("done")
	}})
	s := oracletest.NewSession(t, db)
	started := start(t, e, s.ID, "go", "")
	<-said
	if r, err := e.Await(t.Context(), started); err != nil || r.Status != oracle.Finished {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}

// No acknowledged message is lost, and no answer is stored twice, whatever
// happens to nodes, hints and commits.
func TestNoAcknowledgedMessageIsLost(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			var b sqldbtest.Breaker
			url := ""
			if engine == "postgres" {
				testenv.Need(t, "postgres")
				url = testenv.Postgres(t)
			} else {
				url = sqldbtest.SQLiteURL(t)
			}
			db := sqldbtest.Open(t, url, sqldb.Options{Fault: b.Fault})
			chaos(t, oraclesql.New(oracletest.Migrated(t, db)), &b)
		})
	}
}

const (
	chaosSessions = 3
	chaosMessages = 8
	// On a busy machine leases run out without anybody's fault: no run is given
	// up, for what is given up has no answer.
	manyAttempts = 1000
)

func chaos(t *testing.T, st *oraclesql.Store, b *sqldbtest.Breaker) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	roll := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
	hints := bustest.Flaky(memory(t), seed)
	w := worker{work: func(ctx context.Context, job run.Job) run.Result {
		text := "re: " + job.Run.Request.Message
		for piece := range strings.SplitAfterSeq(text, " ") {
			say(job, piece)
			select {
			case <-ctx.Done():
				return run.Result{Status: oracle.Aborted}
			case <-time.After(time.Duration(roll(3)) * time.Millisecond):
			}
		}
		return answered(text)
	}}
	type box struct {
		mu     sync.RWMutex
		engine *run.Engine
		stop   func()
	}
	nodes := make([]*box, 3)
	for i := range nodes {
		e, stop := patientNode(t, st, hints, w, manyAttempts)
		nodes[i] = &box{engine: e, stop: stop}
	}
	over := make(chan struct{})
	var trouble sync.WaitGroup
	trouble.Go(func() { // restarts, lost commits, lost acknowledgements
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(5+roll(20)) * time.Millisecond):
			}
			switch roll(4) {
			case 0:
				b.FailCommits(int64(1 + roll(2)))
			case 1:
				b.LoseAcks(int64(1 + roll(2)))
			case 2:
				n := nodes[roll(len(nodes))]
				n.mu.Lock()
				n.stop()
				n.engine, n.stop = patientNode(t, st, hints, w, manyAttempts)
				n.mu.Unlock()
			}
		}
	})
	acked := make([]map[string]string, chaosSessions) // run id by message
	sessions := make([]oracle.Session, chaosSessions)
	var users sync.WaitGroup
	for i := range sessions {
		for { // the database has its moods already
			now := time.Now()
			sessions[i] = oracle.Session{ID: oracle.NewID(), Owner: oracletest.Owner, Title: "x", CreatedAt: now, UpdatedAt: now}
			if st.CreateSession(t.Context(), sessions[i]) == nil {
				break
			}
		}
		acked[i] = map[string]string{}
		users.Go(func() {
			for k := range chaosMessages {
				n := nodes[roll(len(nodes))]
				text := fmt.Sprintf("message %d of %d", k, i)
				n.mu.RLock()
				started, err := n.engine.Start(t.Context(), run.Start{
					Owner: oracletest.Owner, SessionID: sessions[i].ID, RequestID: oracle.NewID(), Multitask: oracle.Enqueue,
					Request: oracle.TurnRequest{Message: text},
				})
				n.mu.RUnlock()
				switch {
				case err == nil:
					acked[i][text] = started.Run.ID
					started.Reader.Close()
				case fault.Is(err, fault.RateLimited):
					<-time.After(5 * time.Millisecond)
				}
				<-time.After(time.Duration(roll(10)) * time.Millisecond)
			}
		})
	}
	users.Wait()
	close(over)
	trouble.Wait()
	b.Restore()
	for i, s := range sessions {
		for text, id := range acked[i] {
			n := nodes[roll(len(nodes))]
			r, err := n.engine.Follow(t.Context(), oracletest.Owner, id, 0)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			var frames []oracle.Frame
			for {
				more, err := r.Next(ctx, 60*time.Second)
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatalf("%s: %v after %v", text, err, oracletest.Events(frames))
					}
					break
				}
				frames = append(frames, more...)
			}
			cancel()
			r.Close()
			last(t, frames)
		}
		list, err := st.Messages(t.Context(), oracletest.Owner, s.ID, 0)
		must(t, err)
		asked, replies := map[string]int{}, map[string]int{}
		for _, m := range list {
			if m.Role == oracle.Human {
				asked[m.Content]++
			} else {
				replies[m.RunID]++
			}
		}
		for text, id := range acked[i] {
			if asked[text] < 1 {
				t.Errorf("%q was acknowledged and is lost", text)
			}
			if replies[id] != 1 {
				r, err := st.Run(t.Context(), oracletest.Owner, id)
				t.Errorf("%q has %d answers: %s after %d attempts, %v", text, replies[id], r.Status, r.Attempt, err)
			}
		}
	}
}
