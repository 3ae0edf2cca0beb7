package run

import (
	"context"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// givenBack is a store that hears which leases end.
type givenBack struct {
	Store
	runs []Held
}

func (s *givenBack) Begin(_ context.Context, b Begin) (Begun, error) {
	b.Run.Status, b.Run.Epoch, b.Run.NextSeq = oracle.Running, 1, 3
	return Begun{Run: b.Run}, nil
}

func (s *givenBack) Renew(_ context.Context, held []Held, ttl time.Duration) (map[string]Standing, error) {
	if ttl == 0 {
		s.runs = append(s.runs, held...)
	}
	return nil, nil
}

// A node that stops gives a message that it has just taken to the others at once:
// nobody waits until a lease runs out that nobody uses.
func TestAStoppingNodeGivesRunsBackAtOnce(t *testing.T) {
	t.Parallel()
	b := busmem.New()
	defer func() { _ = b.Close() }()
	st := &givenBack{}
	e := New(st, b, nil, Config{Drain: time.Millisecond})
	if err := e.drain(); err != nil {
		t.Fatal(err)
	}
	started, err := e.Start(t.Context(), Start{Owner: "alice", SessionID: "s", Request: oracle.TurnRequest{Message: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	started.Reader.Close()
	if len(st.runs) != 1 || st.runs[0] != (Held{RunID: started.Run.ID, Epoch: 1}) {
		t.Errorf("given back: %v", st.runs)
	}
}
