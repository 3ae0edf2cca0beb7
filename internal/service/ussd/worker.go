package ussd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
)

// The pace of the background work.
const (
	sweepEvery = 5 * time.Second
	sweepSlice = 200
	flushEvery = 3 * time.Second
	phonesPoll = time.Second
	pruneEvery = time.Hour
	menusEvery = 250 * time.Millisecond
	pruneSlice = 2000 // every sweepEvery, until nothing is left
	keepCounts = 90 * 24 * time.Hour
)

// Run does the service's background work until ctx ends: it removes expired
// sessions, stores counts, learns of new telephones and answers promised
// questions. Every node may run it.
func (s *Service) Run(ctx context.Context) error {
	answers := make(chan error, 1)
	go func() { answers <- s.AnswerQuestions(ctx) }()
	var since time.Time
	old := false // there is something to prune
	sweep, flush := time.NewTicker(sweepEvery), time.NewTicker(flushEvery)
	phones, prune := s.cfg.Quiet.Sleeper(phonesPoll), time.NewTicker(pruneEvery)
	defer sweep.Stop()
	defer flush.Stop()
	defer phones.Stop()
	defer prune.Stop()
	learn := func() {
		phones.Look()
		var err error
		since, err = s.learnPhones(ctx, since)
		s.warn(ctx, "learn telephones", err)
		phones.Rest(err == nil)
	}
	learn()
	for {
		var err error
		what := ""
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			return errors.Join(s.Flush(last), <-answers)
		case <-sweep.C:
			if what, err = "sweep", s.Sweep(ctx); old && err == nil {
				old, err = s.store.Prune(ctx, s.cfg.Now().Add(-keepCounts), pruneSlice)
			}
		case <-flush.C:
			what, err = "store counts", s.Flush(ctx)
		case <-prune.C:
			old = true
		case <-phones.C:
			learn()
		}
		s.warn(ctx, what, err)
	}
}

func (s *Service) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.WarnContext(ctx, "background work failed", slog.String("event", "ussd.worker_failed"), slog.String("work", what), slog.Any("error", err))
	}
}

// Sweep removes expired sessions, a slice at a time, until there are none.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.cfg.Now()
	keep := now
	if s.cfg.ResumeWindow > s.cfg.TTL {
		keep = now.Add(s.cfg.TTL - s.cfg.ResumeWindow)
	}
	for {
		swept, err := s.store.Sweep(ctx, now, keep, sweepSlice)
		if err != nil {
			return fmt.Errorf("sweep sessions: %w", err)
		}
		left := 0
		for _, gone := range swept {
			if gone.Status == Active {
				left++
				s.tally.Add(ussdcount.Count{Menu: gone.Menu, Kind: ussdcount.CountLeft, From: gone.Screen})
			}
		}
		if left > 0 {
			s.cfg.Observer.Expired(left)
		}
		if len(swept) < sweepSlice {
			return nil
		}
	}
}

// Flush stores what was counted.
func (s *Service) Flush(ctx context.Context) error {
	counts := s.tally.Take()
	if counts == nil {
		return nil
	}
	day := s.cfg.Now().UTC().Format(time.DateOnly)
	if err := s.store.AddCounts(ctx, day, counts); err != nil {
		s.tally.GiveBack(counts)
		return fmt.Errorf("store counts: %w", err)
	}
	return nil
}

// learnPhones brings the filter up to date with what other nodes stored. It
// looks back a little, since a change is seen only when it is committed.
func (s *Service) learnPhones(ctx context.Context, since time.Time) (time.Time, error) {
	newest, err := s.store.KnownPhones(ctx, since.Add(-10*time.Second), s.phones.Add)
	if err != nil {
		return since, fmt.Errorf("learn telephones: %w", err)
	}
	s.phones.Filled()
	return newest, nil
}

// Warm fills what the service keeps in memory, so that the first dials are as
// quick as the later ones. Run does it too.
func (s *Service) Warm(ctx context.Context) error {
	_, err := s.learnPhones(ctx, time.Time{})
	return err
}

// Rekey seals every stored PIN under the newest key and returns how many it
// changed. It may run beside a live server.
func (s *Service) Rekey(ctx context.Context) (int, error) {
	changed, after := 0, ""
	for {
		accounts, err := s.store.SealedPINs(ctx, after, 100)
		if err != nil {
			return changed, fmt.Errorf("list accounts: %w", err)
		}
		if len(accounts) == 0 {
			return changed, nil
		}
		for _, a := range accounts {
			after = a.ID
			sealed, err := s.vault.Reseal(a.ID, a.PIN)
			if err != nil {
				return changed, fmt.Errorf("seal PIN of account %s anew: %w", a.ID, err)
			}
			if sealed == nil {
				continue
			}
			if err := s.store.ReplacePIN(ctx, a.ID, a.PIN, sealed); err != nil {
				return changed, fmt.Errorf("store PIN of account %s: %w", a.ID, err)
			}
			changed++
		}
	}
}

// FollowMenus looks at what now returns until ctx ends, and makes it the menus of the
// sessions that begin from then on.
func (s *Service) FollowMenus(ctx context.Context, now func() *ussdbook.Book) error {
	pace.Every(ctx, menusEvery, func() bool {
		if menus := now(); !menus.Same(s.menus.Book()) {
			s.Reload(menus)
			s.cfg.Logger.InfoContext(ctx, "menu reloaded", slog.String("event", "ussd.menu_reloaded"), slog.String("version", menus.Default().Version()))
		}
		return true
	})
	return nil
}
