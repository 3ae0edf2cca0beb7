package search

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

func TestABudgetIsSpentInUnitsAndEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	b := budget{10}
	ctx := t.Context()
	if err := errors.Join(b.spend(ctx, 6), b.spend(ctx, 4)); err != nil {
		t.Fatal(err)
	}
	if err := b.spend(ctx, 1); !errors.Is(err, errSpent) {
		t.Errorf("beyond the budget: %v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.spend(over, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("after the request: %v", err)
	}
}

func TestASearchSaysThatItsWorkWasSpent(t *testing.T) {
	t.Parallel()
	want := "at most 100 files are shown; too many longer words fit: not all of them were looked for"
	if got := strings.Join(leftOut(101, textindex.Result{Spent: true}), "; "); got != want {
		t.Errorf("%q", got)
	}
	if got := leftOut(100, textindex.Result{}); len(got) != 0 {
		t.Errorf("nothing was left out: %q", got)
	}
}
