package usage_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// ledger remembers what it was given, unless it is away.
type ledger struct {
	away bool
	rows []usage.Row
}

func (l *ledger) AddUsage(_ context.Context, rows []usage.Row) error {
	if l.away {
		return errors.New("away")
	}
	l.rows = append(l.rows, rows...)
	return nil
}

func (l *ledger) Usage(context.Context, usage.Query) ([]usage.Row, error) { return l.rows, nil }

func (*ledger) Spenders(context.Context, int64, int) ([]usage.Spender, error) { return nil, nil }

// Calls are added up, and what could not be written is written later, once.
func TestRecorder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 16, 23, 59, 0, 0, time.UTC)
	l := &ledger{away: true}
	r := usage.NewRecorder(l, slog.New(slog.DiscardHandler))
	spent := plugin.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 3, ReasoningTokens: 1, CostMicros: 7}
	r.Add(usage.Call{At: at, Owner: "a", Model: "m", Usage: spent, First: 200 * time.Millisecond})
	if err := r.Flush(t.Context()); err == nil {
		t.Fatal("nothing failed")
	}
	r.Add(usage.Call{At: at, Owner: "a", Model: "m", Usage: spent, Failed: true})
	r.Add(usage.Call{At: at.Add(time.Minute), Owner: "a", Model: "m", Source: usage.SourceFace})
	r.AddMessage(usage.Message{At: at, Owner: "a", Model: "m"})
	r.AddMessage(usage.Message{At: at.Add(time.Minute), Owner: "a", Model: "m", Source: usage.SourceFace})
	l.away = false
	for range 2 {
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	day := oracle.DayOf(at)
	want := []usage.Row{
		{
			Day: day, Owner: "a", Model: "m", Source: "oracle", Messages: 1, Calls: 2, Failed: 1,
			Usage: spent.Add(spent), FirstMS: 200, Firsts: 1,
		},
		{Day: day + 1, Owner: "a", Model: "m", Source: "face", Messages: 1, Calls: 1},
	}
	if d := cmp.Diff(want, l.rows); d != "" {
		t.Errorf("written (-want +got):\n%s", d)
	}
}

// A stop writes what is left.
func TestRecorderStops(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	r := usage.NewRecorder(l, slog.New(slog.DiscardHandler))
	r.Add(usage.Call{At: time.Now(), Owner: "a", Model: "m"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx); err != nil || len(l.rows) != 1 {
		t.Errorf("after a stop: %v %v", l.rows, err)
	}
}

func TestParseBy(t *testing.T) {
	t.Parallel()
	got, err := usage.ParseBy(" model, day,,model", usage.ByDay, usage.ByModel)
	if err != nil || cmp.Diff([]usage.Dimension{usage.ByModel, usage.ByDay}, got) != "" {
		t.Errorf("parsed: %v %v", got, err)
	}
	for _, bad := range []string{"user", "model;drop", "day day"} {
		if _, err := usage.ParseBy(bad, usage.ByDay, usage.ByModel); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
