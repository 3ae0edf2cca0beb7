package oracletest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// testMeasure sends more messages at once than may be, in sessions of their own.
func testMeasure(t *testing.T, st Store) {
	const limit, tries = 4, 10
	now := time.Now()
	send := func(session, request, sponsor string, once bool, m oracle.Measure) error {
		r := oracle.Run{
			ID: oracle.NewID(), SessionID: session, Owner: Owner, RequestID: request, MessageID: oracle.NewID(), CreatedAt: now,
		}
		r.Request.Sponsor = sponsor
		_, err := st.Begin(t.Context(), run.Begin{
			Run: r, Once: once, OtherRequestID: oracle.NewID(), MaxQueue: 16, Node: "node", TTL: time.Minute,
			Multitask: oracle.Enqueue, Measure: m,
			Message: oracle.Message{
				ID: r.MessageID, SessionID: session, RunID: r.ID, Role: oracle.Human, Content: "hello", CreatedAt: now,
			},
			Frames: func(oracle.Run) ([]oracle.Frame, error) { return nil, nil },
		})
		return err
	}
	var (
		taken atomic.Int64
		wg    sync.WaitGroup
	)
	first := NewSession(t, st)
	must(t, send(first.ID, "once-1", "", true, oracle.Measure{Messages: limit}))
	for range tries {
		session := NewSession(t, st)
		wg.Go(func() {
			switch err := send(session.ID, oracle.NewID(), "", false, oracle.Measure{Messages: limit}); {
			case err == nil:
				taken.Add(1)
			case fault.From(err).Code != oracle.CodeMessages:
				t.Errorf("refused with %v", err)
			}
		})
	}
	wg.Wait()
	if taken.Load() != limit-1 {
		t.Errorf("%d messages were taken beside the first, want %d", taken.Load(), limit-1)
	}
	// What was sent before is not counted again, and nobody pays for another.
	must(t, send(first.ID, "once-1", "", true, oracle.Measure{Messages: limit}))
	must(t, send(first.ID, oracle.NewID(), Stranger, false, oracle.Measure{Messages: 1}))
	if err := send(first.ID, oracle.NewID(), Stranger, false,
		oracle.Measure{Messages: 1}); fault.From(err).Code != oracle.CodeMessages {
		t.Errorf("the sponsor's second message: %v", err)
	}
	// A refused message leaves nothing behind: one more fits when there is room for it.
	must(t, send(first.ID, oracle.NewID(), "", false, oracle.Measure{Messages: limit + 1}))
	if got, err := st.Session(t.Context(), Owner, first.ID); err != nil || got.Messages != 3 {
		t.Errorf("the session has %d messages, %v", got.Messages, err)
	}
	must(t, st.AddCost(t.Context(), Owner, 70, now))
	must(t, st.AddCost(t.Context(), Owner, 30, now))
	must(t, st.AddCost(t.Context(), Owner, 1000, now.Add(-24*time.Hour)))
	if got, err := st.Cost(t.Context(), Owner, now); err != nil || got != 100 {
		t.Errorf("cost %d, %v", got, err)
	}
	if got, err := st.Cost(t.Context(), "nobody", now); err != nil || got != 0 {
		t.Errorf("cost of nobody %d, %v", got, err)
	}
	reserveSideBySide(t, st, now)
	if err := send(first.ID, oracle.NewID(), "", false,
		oracle.Measure{CostMicros: 100}); fault.From(err).Code != oracle.CodeCost {
		t.Errorf("a day that is spent: %v", err)
	}
	must(t, send(first.ID, oracle.NewID(), "", false, oracle.Measure{CostMicros: 101}))
}

// reserveSideBySide has twenty callers want more of a day than there is.
func reserveSideBySide(t *testing.T, st Store, now time.Time) {
	t.Helper()
	const payer = "did:key:zPayer"
	var all sync.WaitGroup
	var held, none atomic.Int64
	for range 20 {
		all.Go(func() {
			n, spent, err := st.ReserveCost(t.Context(), payer, 100, 30, now)
			if held.Add(n); err != nil || spent+n > 100 {
				t.Errorf("%d are held where %d of 100 were spent: %v", n, spent, err)
			}
			if n == 0 {
				none.Add(1)
			}
		})
	}
	all.Wait()
	if held.Load() != 100 || none.Load() != 16 {
		t.Errorf("%d of 100 are held, and %d got nothing, want 16", held.Load(), none.Load())
	}
	must(t, st.AddCost(t.Context(), payer, -30, now))
	if n, spent, err := st.ReserveCost(t.Context(), payer, 100, 0, now); n != 0 || spent != 70 || err != nil {
		t.Errorf("who wants nothing holds %d and hears of %d: %v", n, spent, err)
	}
	if n, spent, err := st.ReserveCost(t.Context(), payer, 100, 50, now); n != 30 || spent != 70 || err != nil {
		t.Errorf("of the rest %d are held, and %d were spent: %v", n, spent, err)
	}
}
