package retention

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	// every is how often is swept, and measure how often tables are measured.
	every   = time.Hour
	measure = 24 * time.Hour
	// calm is how long a starting node has other things to do.
	calm = time.Minute
	// between lets requests through between two slices.
	between = 20 * time.Millisecond
	// nowTTL is how soon another node may go on when one dies that sweeps at once.
	nowTTL = 15 * time.Second
)

// Exports is where records are written before they are erased.
type Exports struct {
	Store blob.Store
	// Seal encrypts what is written to it.
	Seal func(io.Writer) (io.WriteCloser, error)
}

// Config is what a Keeper needs.
type Config struct {
	DB     *sqldb.DB
	Leases *lease.Keeper
	// Rules are those in force.
	Rules func() Rules
	// Sources are the records of each class that this node knows.
	Sources map[string][]Source
	// Exports may be nil: then nothing is kept of what is erased.
	Exports *Exports
	Log     *slog.Logger
}

// Keeper sweeps. It is safe for concurrent use.
type Keeper struct{ Config }

// New returns a keeper.
func New(c Config) *Keeper { return &Keeper{c} }

// Run sweeps and measures until ctx ends. It runs on every node: leases see to it that
// one at a time does the work.
func (k *Keeper) Run(ctx context.Context) error {
	if pace.Sleep(ctx, calm) != nil {
		return nil //nolint:nilerr // the program stops
	}
	var all sync.WaitGroup
	all.Go(func() {
		_ = k.Leases.Every(ctx, "retention/growth", measure, func(ctx context.Context, _ lease.Lease) error { return k.Measure(ctx) })
	})
	for class, sources := range k.Sources {
		for _, s := range sources {
			all.Go(func() {
				_ = k.Leases.Every(ctx, leaseOf(class, s), every, func(ctx context.Context, l lease.Lease) error {
					_, err := k.Sweep(ctx, l, class, s)
					return err
				})
			})
		}
	}
	all.Wait()
	return nil
}

// leaseOf names the lease of a source. A table that others erase from may have a Mover too.
func leaseOf(class string, s Source) string {
	if _, moves := s.(Mover); moves {
		return "retention/" + class
	}
	return "retention/" + s.Table()
}

// Now sweeps a source without waiting for its hour, and returns how many records went.
// It is false when a node does so already.
func (k *Keeper) Now(ctx context.Context, class string, s Source) (total int64, ok bool, err error) {
	l, ok, err := k.Leases.Acquire(ctx, lease.Task(leaseOf(class, s)), nowTTL)
	if err != nil || !ok {
		return 0, false, err
	}
	err = k.Leases.Hold(ctx, l, func(ctx context.Context, l lease.Lease) (err error) {
		total, err = k.Sweep(ctx, l, class, s)
		return err
	})
	return total, true, err
}

// errChanged says that operators have chosen otherwise meanwhile.
var errChanged = errors.New("the rules have changed")

// Sweep erases what is due of a source and returns how many rows of its table went.
func (k *Keeper) Sweep(ctx context.Context, l lease.Lease, class string, s Source) (total int64, err error) {
	keep, ok := k.Rules()[class]
	if !ok {
		return 0, nil
	}
	now, err := k.DB.Now(ctx)
	if err != nil {
		return 0, err
	}
	before := now.Add(-keep)
	var lost losses
	err = s.Walk(ctx, before, func(ids []string) error {
		if k.Rules()[class] != keep {
			return errChanged
		}
		n, gone, err := k.take(ctx, l, class, s, before, ids)
		total += n
		lost.add(gone)
		if err != nil {
			return err
		}
		return pace.Sleep(ctx, between)
	})
	if _, moves := s.(Mover); total > 0 && moves {
		k.Log.Info("records were moved, as the rules of retention say", slog.String("event", "retention.moved"), slog.String("class", class),
			slog.String("table", s.Table()), slog.Int64("rows", total), slog.Time("before", before))
	} else if total > 0 {
		k.Log.Info("records were erased, as the rules of retention say", slog.String("event", "retention.erased"), slog.String("class", class),
			slog.String("table", s.Table()), slog.Int64("rows", total), slog.Time("before", before), slog.Bool("exported", k.Exports != nil))
	}
	if lost.all > 0 {
		k.Log.Warn("records were erased of which a part was lost before: their exports say what", slog.String("event", "retention.lost"),
			slog.String("class", class), slog.String("table", s.Table()), slog.Int("records", lost.all), slog.Any("ids", lost.first))
	}
	if errors.Is(err, errChanged) {
		return total, nil
	}
	return total, err
}

// losses are records of which a part was lost before they were exported.
type losses struct {
	all   int
	first []string
}

// mostNamed bounds how many of them an event names.
const mostNamed = 20

func (l *losses) add(ids []string) {
	l.all += len(ids)
	l.first = append(l.first, ids[:min(len(ids), mostNamed-len(l.first))]...)
}

// take moves records, or exports and erases them, and names those of which a part was lost.
func (k *Keeper) take(ctx context.Context, l lease.Lease, class string, s Source, before time.Time,
	ids []string,
) (n int64, lost []string, err error) {
	if m, moves := s.(Mover); moves {
		n, err = m.Move(ctx, l, before, ids)
		return n, nil, err
	}
	if lost, err = k.export(ctx, l, class, s, before, ids); err != nil {
		return 0, nil, err
	}
	if n, err = k.erase(ctx, l, s, before, ids); err != nil {
		return 0, nil, err
	}
	return n, lost, nil
}

func (k *Keeper) erase(ctx context.Context, l lease.Lease, s Source, before time.Time,
	ids []string,
) (total int64, err error) {
	err = k.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		total = 0
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		for _, id := range ids {
			n, err := s.Erase(ctx, tx, before, id)
			if err != nil {
				return err
			}
			total += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

// export writes records to their place. The epoch of the lease is in the name: who has
// lost it without noticing reads what the next holder may have erased already, and must not
// write over that one's export (ADR 0268).
func (k *Keeper) export(ctx context.Context, l lease.Lease, class string, s Source, before time.Time,
	ids []string,
) (lost []string, err error) {
	if k.Exports == nil {
		return nil, nil
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	key := fmt.Sprintf("%s/%s/%s-%s-%d.jsonl.age", class, before.UTC().Format("2006-01"), s.Table(),
		hex.EncodeToString(sum[:16]), l.Epoch)
	body, to := io.Pipe()
	var writing sync.WaitGroup
	writing.Go(func() {
		_ = to.CloseWithError(func() error { // a pipe's never fails
			sealed, err := k.Exports.Seal(to)
			if err != nil {
				return err
			}
			lines := NewJSONLines(k.DB.Read(), sealed)
			for _, id := range ids {
				if err := s.Export(ctx, before, id, lines); err != nil {
					return err
				}
			}
			lost = lines.lost
			return sealed.Close()
		}())
	})
	_, err = k.Exports.Store.Put(ctx, key, body, blob.PutOptions{})
	_ = body.CloseWithError(errors.New("the export was not taken"))
	writing.Wait()
	if err != nil {
		return nil, fmt.Errorf("export %s before it is erased: %w", class, err)
	}
	return lost, nil
}
