package oraclehttp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

const (
	// nudgeEvery is how often a user may be asked to authorise the oracle.
	nudgeEvery = 6 * time.Hour
	// nudgeTrust is how long a node believes what it found out about a user.
	nudgeTrust = 30 * time.Second
	// nudgeUsers bounds what a node remembers.
	nudgeUsers = 10_000
)

// nudges decides who is asked to authorise the oracle. It never fails a turn:
// when it cannot find out, nobody is asked.
type nudges struct {
	store       plugin.Store
	delegations Delegations
	log         *slog.Logger

	mu    sync.Mutex
	quiet map[string]time.Time // users to leave alone until then
}

func newNudges(store plugin.Store, d Delegations, log *slog.Logger) *nudges {
	return &nudges{store: store, delegations: d, log: log, quiet: map[string]time.Time{}}
}

// due reports whether the user should be asked now, and notes that he was.
func (n *nudges) due(ctx context.Context, user string) bool {
	if n.store == nil || n.delegations == nil {
		return false
	}
	n.mu.Lock()
	until, known := n.quiet[user]
	n.mu.Unlock()
	if known && time.Now().Before(until) {
		return false
	}
	status, err := n.delegations.DelegationOf(ctx, user)
	if err != nil {
		n.log.Warn("a stored delegation could not be looked up", slog.String("event", "reminder.lookup_failed"), slog.Any("error", err))
		return false
	}
	if status.Authorized {
		n.leave(user, nudgeTrust)
		return false
	}
	ask := false
	err = n.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		ask = false
		_, asked, err := tx.Get(ctx, "nudged/"+user)
		if err != nil || asked {
			return err
		}
		ask = true
		return tx.Put(ctx, "nudged/"+user, nil, nudgeEvery)
	})
	if err != nil {
		n.log.Warn("a reminder could not be noted", slog.String("event", "reminder.note_failed"), slog.Any("error", err))
		return false
	}
	n.leave(user, nudgeEvery)
	return ask
}

// unsaid takes back a reminder that did not reach its user.
func (n *nudges) unsaid(ctx context.Context, user string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := n.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error { return tx.Delete(ctx, "nudged/"+user) })
	if err != nil { // he is reminded six hours later
		n.log.Warn("a reminder could not be taken back", slog.String("event", "reminder.withdraw_failed"), slog.Any("error", err))
		return
	}
	n.forget(user)
}

func (n *nudges) leave(user string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.quiet) >= nudgeUsers {
		clear(n.quiet)
	}
	n.quiet[user] = time.Now().Add(d)
}

// forget lets a user whose delegation changed be looked at anew.
func (n *nudges) forget(user string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.quiet, user)
}
