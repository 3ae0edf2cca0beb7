package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// unread is a store whose feed of revocations cannot be read.
type unread struct {
	*identitytest.Store
	read func(context.Context) error
}

func (f unread) Revocations(ctx context.Context, _ int64, _ int) ([]identity.Revocation, error) {
	return nil, f.read(ctx)
}

// A database that goes away when a starting node reads what was withdrawn does
// not end the start: without that nobody is let in.
func TestANodeStartsWithoutTheFeedOfRevocations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read   func(context.Context) error
		starts bool
	}{
		"the database is away": {func(context.Context) error { return fault.New(fault.Unavailable, "away") }, true},
		"it does not answer":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, true},
		"it is another one":    {func(context.Context) error { return errors.New("no such table") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := unread{identitytest.NewStore(), func(context.Context) error { return nil }}
				a := &App{opt: Options{Log: slog.New(slog.DiscardHandler)}}
				a.identity = identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = &store })
				store.read = c.read
				if err := a.loadRevocations(t.Context()); (err == nil) != c.starts {
					t.Errorf("it says %v", err)
				}
				stopped, stop := context.WithCancel(t.Context())
				stop()
				if err := a.loadRevocations(stopped); err == nil {
					t.Error("a start that was told to stop goes on")
				}
			})
		})
	}
}
