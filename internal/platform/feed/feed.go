// Package feed keeps a node up to date with a numbered feed of the database.
//
// It promises that what a node knows of the feed is never older than a second
// when Current returns nil, whatever became of the bus or of the node: one that
// stood still or could not read looks first, and says so when it cannot. On a
// hint it reads what is new. Without one it looks twice a second whether there is
// any: with Heads, one look serves all feeds, and who has moved is read.
//
// It does not know what is in a feed: Read takes the news in.
package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

const (
	// pollInterval bounds how long a node can miss news whose hint was lost.
	pollInterval = 500 * time.Millisecond
	// knownFor is how long what was read is good for.
	knownFor = time.Second
	// readLimit bounds one reading: on a line that went dead it would never end.
	readLimit = 3 * time.Second
)

// Hints wakes the other nodes; bus.Bus is one. Hints may be lost, doubled or
// reordered: the poll makes up for it.
type Hints interface {
	Publish(ctx context.Context, subject string, data []byte) error
	Subscribe(subject string, fn func(bus.Message)) (bus.Subscription, error)
}

// Config says which feed to follow.
type Config struct {
	// Subject is where nodes tell each other to look.
	Subject string
	// Read takes in some of what is new, and says whether there is more. It is
	// never called twice at once.
	Read func(ctx context.Context) (more bool, err error)
	// Unknown is what Current says to a user when the feed cannot be read.
	Unknown string
	Hints   Hints // nil: only the poll
	Head    *Head // nil: each poll reads
	Logger  *slog.Logger
}

// Follower follows one feed.
type Follower struct {
	cfg     Config
	began   time.Time    // the times below count from here, by a clock that nobody sets
	asOf    atomic.Int64 // when the last reading began that saw the whole feed, in nanoseconds
	flights singleflight.Group
	wake    chan struct{}
}

// New returns a follower that has read nothing yet.
func New(cfg Config) *Follower {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Follower{cfg: cfg, began: time.Now(), wake: make(chan struct{}, 1)}
	f.asOf.Store(math.MinInt64)
	cfg.Head.Follow(func(began time.Time) { f.saw(int64(began.Sub(f.began))) }, f.look)
	return f
}

func (f *Follower) clock() int64 { return int64(time.Since(f.began)) }

// saw notes that all up to a time is known.
func (f *Follower) saw(at int64) {
	for {
		before := f.asOf.Load()
		if before >= at || f.asOf.CompareAndSwap(before, at) {
			return
		}
	}
}

// look has Run read.
func (f *Follower) look() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Load reads all that is new.
func (f *Follower) Load(ctx context.Context) error {
	flight := f.flights.DoChan("load", func() (any, error) {
		return nil, f.load(context.WithoutCancel(ctx))
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r := <-flight:
		return r.Err
	}
}

func (f *Follower) load(ctx context.Context) error {
	done := f.cfg.Head.Reading()
	for {
		began := f.clock()
		limited, cancel := context.WithTimeout(ctx, readLimit)
		more, err := f.cfg.Read(limited)
		cancel()
		if err != nil {
			return fmt.Errorf("read feed %s: %w", f.cfg.Subject, err)
		}
		if !more {
			f.saw(began)
			done()
			return nil
		}
	}
}

// Current makes sure that this node knows the feed up to a second ago. That is
// nearly always so, and then it is a look at the clock.
func (f *Follower) Current(ctx context.Context) error {
	need := f.clock() - int64(knownFor)
	// A reading that others began may have begun too early; the next one did not.
	for f.asOf.Load() <= need {
		if err := f.Load(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fault.Wrap(fault.Unavailable, f.cfg.Unknown, err)
		}
	}
	return nil
}

// Tell makes the other nodes look.
func (f *Follower) Tell(ctx context.Context) {
	if f.cfg.Hints == nil {
		return
	}
	if err := f.cfg.Hints.Publish(ctx, f.cfg.Subject, nil); err != nil {
		f.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "hint not sent", slog.String("feed", f.cfg.Subject), slog.Any("error", err))
	}
}

// Run follows the feed until the context ends.
func (f *Follower) Run(ctx context.Context) error {
	if f.cfg.Hints != nil {
		hints, err := f.cfg.Hints.Subscribe(f.cfg.Subject, func(bus.Message) { f.look() })
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", f.cfg.Subject, err)
		}
		defer func() { _ = hints.Unsubscribe() }()
	}
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		case <-poll.C:
			if f.cfg.Head.Waits(f.clock(), f.asOf.Load()) {
				continue
			}
		}
		if err := f.Load(ctx); err != nil && !errors.Is(err, context.Canceled) {
			f.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a feed could not be read", slog.String("event", "feed.read_failed"),
				slog.String("feed", f.cfg.Subject), slog.Any("error", err))
		}
	}
}
