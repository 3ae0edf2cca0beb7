package oracletest

import (
	"errors"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// testHidden: a hidden session is stored with its first message, is in no list,
// and is named when its time is over.
func testHidden(t *testing.T, st Store) {
	ctx := t.Context()
	shown := NewSession(t, st)
	now := time.Now().Truncate(time.Millisecond)
	hidden := oracle.Session{
		ID: oracle.NewID(), Owner: Owner, Title: "Hidden", CreatedAt: now, UpdatedAt: now, Expires: now.Add(time.Hour),
	}
	r := oracle.Run{
		ID: oracle.NewID(), SessionID: hidden.ID, Owner: Owner, RequestID: "same", MessageID: oracle.NewID(), CreatedAt: now,
	}
	begun, err := st.Begin(ctx, run.Begin{
		Run: r, NewSession: &hidden, Message: oracle.Message{
			ID: r.MessageID, SessionID: hidden.ID, RunID: r.ID, Role: oracle.Human, Content: "otters", CreatedAt: now,
		},
		TTL: time.Minute, Frames: func(oracle.Run) ([]oracle.Frame, error) { return nil, nil },
	})
	must(t, err)
	if !begun.Session.Hidden() || begun.Session.Messages != 1 {
		t.Errorf("begun in %+v", begun.Session)
	}
	list, total, err := st.Sessions(ctx, Owner, 10, 0)
	must(t, err)
	if total != 1 || len(list) != 1 || list[0].ID != shown.ID {
		t.Errorf("listed: %d of %d", len(list), total)
	}
	for _, find := range searches(t, st) {
		if got := find("otters", 10, 0); got.Total != 0 || len(got.Hits) != 0 {
			t.Errorf("found: %+v", got)
		}
	}
	if found, err := st.ByRequest(ctx, Owner, "", "same"); err != nil || found.ID != r.ID {
		t.Errorf("by request: %s, %v", found.ID, err)
	}
	if _, err := st.ByRequest(ctx, Stranger, "", "same"); !errors.Is(err, oracle.ErrRunNotFound) {
		t.Errorf("a stranger found the run: %v", err)
	}
	if early, err := st.Expired(ctx, hidden.Expires.Add(-time.Second), 10); err != nil || len(early) != 0 {
		t.Errorf("expired early: %v, %v", early, err)
	}
	over, err := st.Expired(ctx, hidden.Expires, 10)
	must(t, err)
	if len(over) != 1 || over[0].ID != hidden.ID || over[0].Owner != Owner {
		t.Errorf("expired: %+v", over)
	}
}
