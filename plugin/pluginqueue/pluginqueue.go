// Package pluginqueue is a durable queue on a plugin's Store.
//
// It promises that an item that was added is worked on until it is finished or
// buried, whatever dies in between; that at any time one worker of all nodes
// holds an item, by the store's clock; that what a worker writes after it lost an
// item is refused; and that an id which was added once is not added again while
// it is remembered. Work that fails is tried again with growing pauses, and after
// too many tries the item is put aside for a person to look at; so is one that too
// many workers died of.
//
// It does not promise order, nor that the work itself happens once: a worker that
// died after the effect and before the end is followed by another one. Effects
// outside the store therefore need a key of their own.
//
// Decision: ADR 0066.
package pluginqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

// Config tunes a queue. Name is needed, the rest has defaults.
type Config struct {
	// Name begins all keys of the queue in the plugin's store.
	Name string
	// Lease is how long an item belongs to a worker that does not renew it: 30s.
	Lease time.Duration
	// Attempts is how often an item is tried: 8.
	Attempts int
	// Backoff is the first pause, which doubles up to MaxBackoff: 5s and 1h.
	Backoff, MaxBackoff time.Duration
	// Remember is how long the id of a finished item is known: a week.
	Remember time.Duration
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(max(c.Lease, 0), 30*time.Second)
	c.Backoff = cmp.Or(max(c.Backoff, 0), 5*time.Second)
	c.MaxBackoff = cmp.Or(max(c.MaxBackoff, 0), time.Hour)
	c.Remember = cmp.Or(max(c.Remember, 0), 7*24*time.Hour)
	c.Attempts = cmp.Or(max(c.Attempts, 0), 8)
	return c
}

// Queue is a durable queue. Its keys are name/i/id the item, name/d/due/id when
// it is due, name/x/id items put aside, name/t/id finished ones.
type Queue struct {
	store plugin.Store
	cfg   Config
}

// New opens a queue in a store.
func New(store plugin.Store, cfg Config) *Queue { return &Queue{store, cfg.withDefaults()} }

// ErrLost says that an item belongs to another worker now.
var ErrLost = errors.New("the item belongs to somebody else")

// errID is the refusal of an id.
var errID = errors.New("an id has 1 to 200 bytes")

// Item is one piece of work. One that Take returned belongs to its holder.
type Item struct {
	ID string
	// Attempt counts the tries, this one included.
	Attempt int
	// Error is what went wrong last.
	Error string
	Added time.Time
	// Due is when a waiting item is tried next, and when a held one is lost.
	Due time.Time

	payload json.RawMessage
	epoch   int64
	// until is when a held one is lost on this process's own clock, and never too
	// late.
	until time.Time
}

// Decode reads the item's payload.
func (it Item) Decode(into any) error {
	if err := json.Unmarshal(it.payload, into); err != nil {
		return fmt.Errorf("decode queued item: %w", err)
	}
	return nil
}

// record is an item as it is stored.
type record struct {
	Payload json.RawMessage `json:"payload"`
	Attempt int             `json:"attempt,omitempty"`
	Epoch   int64           `json:"epoch,omitempty"`
	Due     int64           `json:"due"` // Unix milliseconds
	Added   int64           `json:"added"`
	Error   string          `json:"error,omitempty"`
}

func (r record) item(id string) Item {
	return Item{
		ID: id, Attempt: r.Attempt, Error: r.Error, Added: time.UnixMilli(r.Added), Due: time.UnixMilli(r.Due),
		payload: r.Payload, epoch: r.Epoch,
	}
}

func (q *Queue) key(kind, id string) string { return q.cfg.Name + "/" + kind + "/" + id }

func (q *Queue) dueKey(due int64, id string) string {
	return fmt.Sprintf("%s/d/%016d/%s", q.cfg.Name, due, id)
}

func (q *Queue) load(ctx context.Context, tx plugin.Tx, kind, id string) (record, bool, error) {
	var r record
	value, ok, err := tx.Get(ctx, q.key(kind, id))
	if err != nil || !ok {
		return r, false, err
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return r, false, fmt.Errorf("decode queue record: %w", err)
	}
	return r, true, nil
}

func (q *Queue) save(ctx context.Context, tx plugin.Tx, kind, id string, r record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return tx.Put(ctx, q.key(kind, id), value, 0)
}

// reschedule stores a waiting item under a new time.
func (q *Queue) reschedule(ctx context.Context, tx plugin.Tx, id string, r record, due time.Time) (record, error) {
	if err := tx.Delete(ctx, q.dueKey(r.Due, id)); err != nil {
		return r, err
	}
	r.Due = due.UnixMilli()
	if err := tx.Put(ctx, q.dueKey(r.Due, id), []byte{1}, 0); err != nil {
		return r, err
	}
	return r, q.save(ctx, tx, "i", id, r)
}

// Add puts an item into the queue, to be worked on after a delay, as part of the
// caller's transaction. It reports false when the id is known: waiting, put
// aside or finished not long ago.
func (q *Queue) Add(ctx context.Context, tx plugin.Tx, id string, payload any, delay time.Duration) (bool, error) {
	if id == "" || len(id) > 200 {
		return false, errID
	}
	if known, err := q.known(ctx, tx, id); err != nil || known {
		return false, err
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return false, fmt.Errorf("encode queued item: %w", err)
	}
	_, err = q.reschedule(ctx, tx, id, record{Payload: data, Added: tx.Now().UnixMilli()}, tx.Now().Add(delay))
	return err == nil, err
}

// Known reports whether Add would refuse an id, without a transaction: whoever
// adds the same things again and again asks first.
func (q *Queue) Known(ctx context.Context, id string) (bool, error) { return q.known(ctx, q.store, id) }

func (q *Queue) known(ctx context.Context, from interface {
	Get(ctx context.Context, key string) ([]byte, bool, error)
}, id string,
) (bool, error) {
	for _, kind := range []string{"t", "i", "x"} {
		if _, known, err := from.Get(ctx, q.key(kind, id)); err != nil || known {
			return known, err
		}
	}
	return false, nil
}

// Take hands out up to n items that are due. Each belongs to the caller until
// its lease ends.
func (q *Queue) Take(ctx context.Context, n int) ([]Item, error) {
	if first, err := q.store.Scan(ctx, plugin.Range{Prefix: q.cfg.Name + "/d/", Limit: 1}); err != nil || len(first) == 0 {
		return nil, err
	}
	var out []Item
	err := q.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		out = nil
		until := time.Now().Add(q.cfg.Lease)
		waiting, err := tx.Scan(ctx, plugin.Range{Prefix: q.cfg.Name + "/d/", Limit: n})
		if err != nil {
			return err
		}
		for _, e := range waiting {
			rest := strings.TrimPrefix(e.Key, q.cfg.Name+"/d/")
			if len(rest) < 18 || e.Key > q.dueKey(tx.Now().UnixMilli(), "\U0010ffff") {
				break
			}
			id := rest[17:]
			r, ok, err := q.load(ctx, tx, "i", id)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if r.Attempt >= deadly*q.cfg.Attempts {
				if err := q.bury(ctx, tx, id, r, "its workers died, or lost it, too often"); err != nil {
					return err
				}
				continue
			}
			r.Attempt++
			r.Epoch++
			if r, err = q.reschedule(ctx, tx, id, r, tx.Now().Add(q.cfg.Lease)); err != nil {
				return err
			}
			it := r.item(id)
			it.until = until
			out = append(out, it)
		}
		return nil
	})
	return out, err
}

// deadly, in attempts, is how often an item is taken that nobody gives back: its
// workers may die of it.
const deadly = 2

// held runs fn on the record of an item that the caller still holds.
func (q *Queue) held(ctx context.Context, it Item, fn func(ctx context.Context, tx plugin.Tx, r record) error) error {
	return q.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		r, ok, err := q.load(ctx, tx, "i", it.ID)
		if err != nil {
			return err
		}
		if !ok || r.Epoch != it.epoch {
			return ErrLost
		}
		return fn(ctx, tx, r)
	})
}

// Renew keeps an item for another lease.
func (q *Queue) Renew(ctx context.Context, it Item) error {
	return q.held(ctx, it, func(ctx context.Context, tx plugin.Tx, r record) error {
		_, err := q.reschedule(ctx, tx, it.ID, r, tx.Now().Add(q.cfg.Lease))
		return err
	})
}

// Save stores how far the work has come, for whoever does it next.
func (q *Queue) Save(ctx context.Context, it Item, payload any) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode queued item: %w", err)
	}
	return q.held(ctx, it, func(ctx context.Context, tx plugin.Tx, r record) error {
		r.Payload = data
		_, err := q.reschedule(ctx, tx, it.ID, r, tx.Now().Add(q.cfg.Lease))
		return err
	})
}

// Finish ends an item, together with what finish writes.
func (q *Queue) Finish(ctx context.Context, it Item, finish func(ctx context.Context, tx plugin.Tx) error) error {
	return q.held(ctx, it, func(ctx context.Context, tx plugin.Tx, r record) error {
		if finish != nil {
			if err := finish(ctx, tx); err != nil {
				return err
			}
		}
		if err := q.drop(ctx, tx, it.ID, r); err != nil {
			return err
		}
		return tx.Put(ctx, q.key("t", it.ID), []byte{1}, q.cfg.Remember)
	})
}

func (q *Queue) drop(ctx context.Context, tx plugin.Tx, id string, r record) error {
	if err := tx.Delete(ctx, q.dueKey(r.Due, id)); err != nil {
		return err
	}
	return tx.Delete(ctx, q.key("i", id))
}

// Postpone gives an item back for later without counting the try.
func (q *Queue) Postpone(ctx context.Context, it Item, delay time.Duration) error {
	return q.held(ctx, it, func(ctx context.Context, tx plugin.Tx, r record) error {
		r.Attempt--
		_, err := q.reschedule(ctx, tx, it.ID, r, tx.Now().Add(delay))
		return err
	})
}

// Fail gives an item back after a try that failed, and reports whether that was
// the last one. reason is shown to operators.
func (q *Queue) Fail(ctx context.Context, it Item, reason string) (buried bool, err error) {
	if it.Attempt >= q.cfg.Attempts {
		return true, q.Bury(ctx, it, reason)
	}
	return false, q.held(ctx, it, func(ctx context.Context, tx plugin.Tx, r record) error {
		r.Error = short(reason)
		_, err := q.reschedule(ctx, tx, it.ID, r, tx.Now().Add(q.pause(it.Attempt)))
		return err
	})
}

// pause is the wait after a failed try: doubled each time, with some chance so
// that what failed together does not come back together.
func (q *Queue) pause(attempt int) time.Duration {
	wait := q.cfg.Backoff
	for i := 1; i < attempt && wait < q.cfg.MaxBackoff; i++ {
		wait *= 2
	}
	wait = min(wait, q.cfg.MaxBackoff)
	return wait + time.Duration(rand.Int64N(int64(wait)/5+1)) //nolint:gosec // a spread, not a secret
}

// Bury puts an item aside. It stays until somebody requeues it.
func (q *Queue) Bury(ctx context.Context, it Item, reason string) error {
	return q.held(ctx, it, func(ctx context.Context, tx plugin.Tx, r record) error {
		return q.bury(ctx, tx, it.ID, r, reason)
	})
}

func (q *Queue) bury(ctx context.Context, tx plugin.Tx, id string, r record, reason string) error {
	if err := q.drop(ctx, tx, id, r); err != nil {
		return err
	}
	r.Error, r.Due = short(reason), tx.Now().UnixMilli()
	return q.save(ctx, tx, "x", id, r)
}

func short(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), 500)], "")
}

// Buried lists items that were put aside, in the order of their ids.
func (q *Queue) Buried(ctx context.Context, after string, limit int) ([]Item, error) {
	r := plugin.Range{Prefix: q.key("x", ""), Limit: limit}
	if after != "" {
		r.After = q.key("x", after)
	}
	found, err := q.store.Scan(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]Item, len(found))
	for i, e := range found {
		var r record
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return nil, fmt.Errorf("decode queue record: %w", err)
		}
		out[i] = r.item(strings.TrimPrefix(e.Key, q.key("x", "")))
	}
	return out, nil
}

// Requeue gives a buried item all its tries again, at once. It reports false
// when there is none.
func (q *Queue) Requeue(ctx context.Context, id string) (bool, error) {
	if id == "" || len(id) > 200 {
		return false, nil
	}
	var found bool
	err := q.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		r, ok, err := q.load(ctx, tx, "x", id)
		if found = ok; err != nil || !ok {
			return err
		}
		if err := tx.Delete(ctx, q.key("x", id)); err != nil {
			return err
		}
		r.Attempt = 0
		_, err = q.reschedule(ctx, tx, id, r, tx.Now())
		return err
	})
	return found, err
}
