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
	if err := send(first.ID, oracle.NewID(), "", false,
		oracle.Measure{CostMicros: 100}); fault.From(err).Code != oracle.CodeCost {
		t.Errorf("a day that is spent: %v", err)
	}
	must(t, send(first.ID, oracle.NewID(), "", false, oracle.Measure{CostMicros: 101}))
}
