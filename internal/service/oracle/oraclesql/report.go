package oraclesql

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Outbox hears of what happened in its transaction, so that it can pass on what
// was committed and nothing else.
type Outbox interface {
	Emit(ctx context.Context, tx sqldb.Querier, owner, kind string, at time.Time, data any) error
}

// WithOutbox returns the store with somebody who hears of sessions and runs.
func (st *Store) WithOutbox(o Outbox) *Store {
	return &Store{Sums: st.Sums, db: st.db, outbox: o, warm: st.warm}
}

// The names of what is reported. They are a contract with those who listen.
const (
	eventSessionCreated = "session.created"
	eventSessionTitled  = "session.titled"
	eventSessionEnded   = "session.ended"
	eventRunFinished    = "run.finished"
	eventRunFailed      = "run.failed"
)

// sessionReport names a session; its title is not told.
type sessionReport struct {
	SessionID string `json:"sessionId"`
}

// runReport names a run and how it ended; nothing that was said is told.
type runReport struct {
	SessionID string           `json:"sessionId"`
	RunID     string           `json:"runId"`
	RequestID string           `json:"requestId"`
	MessageID string           `json:"messageId"`
	Status    oracle.RunStatus `json:"status"`
	Error     string           `json:"error,omitempty"`
}

func (st *Store) report(ctx context.Context, tx sqldb.Querier, owner, kind string, at time.Time, data any) error {
	if st.outbox == nil {
		return nil
	}
	return st.outbox.Emit(ctx, tx, owner, kind, at, data)
}

func (st *Store) reportRun(ctx context.Context, tx sqldb.Querier, owner string, at time.Time, r runReport) error {
	kind := eventRunFailed
	if r.Status == oracle.Finished || r.Status == oracle.Aborted {
		kind = eventRunFinished
	}
	return st.report(ctx, tx, owner, kind, at, r)
}
