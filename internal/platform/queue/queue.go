// Package queue is a durable queue in the database: work that was promised in
// the transaction that made it necessary, and that some node does later.
//
// It promises that an item which was added in a committed transaction is worked
// on until somebody finishes it, whatever dies in between; that one worker of
// all nodes holds it at a time, by the database's clock; that what a worker
// writes after it lost an item is refused; and that lanes take turns: an item of
// one lane never waits for a second one of another.
//
// It does not promise order, nor that the work happens once: a worker that died
// after the effect and before the end is followed by another one. Effects outside
// the database therefore need a key of their own, for which the id is there.
// Payloads are small; what is large belongs in a table of whoever adds the item.
//
// Decision: ADR 0167.
package queue

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"math"
	randv2 "math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the schema.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "queue", FS: files} }

// Config tunes a queue. Name is needed, the rest has defaults.
type Config struct {
	// Name tells the queues of one database apart.
	Name string
	// Lease is how long an item belongs to a worker that does not renew it: 30s.
	Lease time.Duration
	// Backoff is the pause after the first failure, and grows four times with each
	// more, up to MaxBackoff: 5s and 24h.
	Backoff, MaxBackoff time.Duration
	// Attempts is how often an item is tried before it counts as hopeless: 9.
	Attempts int
	// Quiet, when set, spares workers looks while the queue is empty.
	Quiet *quiet.Watch
}

func (c Config) withDefaults() Config {
	if c.Lease <= 0 {
		c.Lease = 30 * time.Second
	}
	if c.Backoff <= 0 {
		c.Backoff = 5 * time.Second
	}
	if c.MaxBackoff <= 0 {
		c.MaxBackoff = 24 * time.Hour
	}
	if c.Attempts <= 0 {
		c.Attempts = 9
	}
	return c
}

// Pause is how long to wait after the n-th failure, counted from 1: it grows,
// and is spread over a half to one and a half of its middle, so that what failed
// together does not come back together.
func (c Config) Pause(n int) time.Duration {
	c = c.withDefaults()
	middle := float64(c.Backoff) * math.Pow(4, float64(min(max(n, 1), 60)-1))
	//nolint:gosec // spreads load, guards nothing
	spread := time.Duration(math.Min(middle, float64(c.MaxBackoff)) * (0.5 + randv2.Float64()))
	return min(spread, c.MaxBackoff)
}

// Queue is one durable queue. It is safe for concurrent use.
type Queue struct {
	db  *sqldb.DB
	cfg Config

	mu   sync.Mutex
	last string // the lane that had its turn last, on this node
}

// New opens a queue in a database whose migrations were applied.
func New(db *sqldb.DB, cfg Config) *Queue { return &Queue{db: db, cfg: cfg.withDefaults()} }

// ErrLost says that an item belongs to another worker now, or is done.
var ErrLost error = fault.New(fault.Conflict, "The work has moved to another node.")

var (
	errID   = errors.New("an item has an id and a lane of 1 to 255 bytes")
	errSize = errors.New("the payload of an item has at most 64 KiB")
)

const maxPayload = 64 << 10

// Item is one piece of work. One that Take returned belongs to its holder.
type Item struct {
	ID string
	// Lane is whose it is: lanes take turns.
	Lane    string
	Payload []byte
	// Attempt counts the tries, this one included.
	Attempt int
	// Last says that a failure of this try is the end of it.
	Last  bool
	Added time.Time

	holder string
	taken  int64
	// until is when it is lost on this process's own clock, and never too late.
	until time.Time
}

// Add puts an item into the queue as part of the caller's transaction, to be
// worked on after a delay. It reports false when its id is waiting already.
func (q *Queue) Add(ctx context.Context, tx sqldb.Querier, it Item, delay time.Duration) (bool, error) {
	if it.ID == "" || len(it.ID) > 255 || it.Lane == "" || len(it.Lane) > 255 {
		return false, errID
	}
	if len(it.Payload) > maxPayload {
		return false, errSize
	}
	now, err := q.db.NowIn(ctx, tx)
	if err != nil {
		return false, err
	}
	payload := it.Payload
	if payload == nil {
		payload = []byte{}
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO queue_items (queue, id, lane, payload, added_ms, due_ms, attempt, taken, holder)
		VALUES ($1, $2, $3, $4, $5, $6, 0, 0, '') ON CONFLICT (queue, id) DO NOTHING`,
		q.cfg.Name, it.ID, it.Lane, payload, sqldb.MS(now), sqldb.MS(now.Add(delay)))
	if err != nil {
		return false, fmt.Errorf("add to queue: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// Hasten makes a waiting item due at once and forgets its failures; false when
// there is none, or somebody works on it.
func (q *Queue) Hasten(ctx context.Context, tx sqldb.Querier, id string) (bool, error) {
	now, err := q.db.NowIn(ctx, tx)
	if err != nil {
		return false, err
	}
	res, err := tx.ExecContext(ctx, `UPDATE queue_items SET due_ms = $1, attempt = 0 WHERE queue = $2 AND id = $3 AND holder = ''`,
		sqldb.MS(now), q.cfg.Name, id)
	if err != nil {
		return false, fmt.Errorf("hasten item: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// lanePage is how many lanes are looked at in one statement.
const lanePage = 128

// Take hands out up to n items that are due, at most one of each lane, and none
// of a lane that skip names. Lanes after the one that was served last come first.
func (q *Queue) Take(ctx context.Context, n int, skip func(lane string) bool) ([]Item, error) {
	// Most queues are empty most of the time, and every node looks at each every second.
	if empty, err := q.isEmpty(ctx); err != nil || empty {
		return nil, err
	}
	return q.take(ctx, n, skip)
}

// isEmpty reports that nothing waits, neither what is due later nor what others have.
func (q *Queue) isEmpty(ctx context.Context) (bool, error) {
	var there int
	err := q.db.Read().QueryRowContext(ctx, `SELECT 1 FROM queue_items WHERE queue = $1 LIMIT 1`, q.cfg.Name).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look into queue: %w", err)
	}
	return false, nil
}

func (q *Queue) take(ctx context.Context, n int, skip func(lane string) bool) ([]Item, error) {
	until := time.Now().Add(q.cfg.Lease)
	now, err := q.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	ids, err := q.due(ctx, n, sqldb.MS(now), skip)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	holder := rand.Text()
	args := []any{holder, sqldb.MS(now.Add(q.cfg.Lease)), q.cfg.Name, sqldb.MS(now)}
	marks := make([]string, len(ids))
	for i, id := range ids {
		args = append(args, id)
		marks[i] = fmt.Sprintf("$%d", len(args))
	}
	// Another node may have read the same: of the two the second finds the item
	// not due any more.
	if _, err := q.db.WriteOne(ctx, `UPDATE queue_items SET holder = $1, taken = taken + 1, due_ms = $2
		WHERE queue = $3 AND due_ms <= $4 AND id IN (`+strings.Join(marks, ", ")+`)`, args...); err != nil {
		return nil, fmt.Errorf("take from queue: %w", err)
	}
	return q.heldBy(ctx, holder, until)
}

// due finds one item of each lane whose turn it is.
func (q *Queue) due(ctx context.Context, n int, now int64, skip func(lane string) bool) ([]string, error) {
	var ids []string
	start, wrapped := q.last, q.last == ""
	for after := start; ; {
		lanes, err := q.lanes(ctx, after, now)
		if err != nil {
			return nil, err
		}
		for _, l := range lanes {
			after = l.name
			if wrapped && start != "" && l.name > start {
				return ids, nil // all the way round
			}
			if !l.id.Valid || skip != nil && skip(l.name) {
				continue
			}
			ids, q.last = append(ids, l.id.String), l.name
			if len(ids) == n {
				return ids, nil
			}
		}
		if len(lanes) == lanePage {
			continue
		}
		if wrapped {
			return ids, nil
		}
		wrapped, after = true, ""
	}
}

type laneDue struct {
	name string
	id   sql.NullString
}

// lanes lists the lanes after one, each with the item that has been due for
// longest. It hops from lane to lane in the index, however many items each has.
func (q *Queue) lanes(ctx context.Context, after string, now int64) (list []laneDue, err error) {
	rows, err := q.db.Read().QueryContext(ctx, `WITH RECURSIVE lanes(lane) AS (
			SELECT (SELECT MIN(lane) FROM queue_items WHERE queue = $1 AND lane > $2)
			UNION ALL
			SELECT (SELECT MIN(i.lane) FROM queue_items i WHERE i.queue = $1 AND i.lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL
		)
		SELECT lane, (SELECT i.id FROM queue_items i WHERE i.queue = $1 AND i.lane = lanes.lane AND i.due_ms <= $3 ORDER BY i.due_ms, i.id LIMIT 1)
		FROM lanes WHERE lane IS NOT NULL LIMIT $4`, q.cfg.Name, after, now, lanePage)
	if err != nil {
		return nil, fmt.Errorf("look into queue: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var l laneDue
		if err := rows.Scan(&l.name, &l.id); err != nil {
			return nil, fmt.Errorf("read lane: %w", err)
		}
		list = append(list, l)
	}
	return list, rows.Err()
}

func (q *Queue) heldBy(ctx context.Context, holder string, until time.Time) (items []Item, err error) {
	// Its index has only those that somebody holds, and the engine wants to be told so.
	rows, err := q.db.Read().QueryContext(ctx, `SELECT id, lane, payload, added_ms, attempt, taken FROM queue_items
		WHERE holder = $1 AND holder <> ''`, holder)
	if err != nil {
		return nil, fmt.Errorf("read taken items: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		it := Item{holder: holder, until: until}
		var added int64
		if err := rows.Scan(&it.ID, &it.Lane, &it.Payload, &added, &it.Attempt, &it.taken); err != nil {
			return nil, fmt.Errorf("read taken item: %w", err)
		}
		it.Added = sqldb.Time(added)
		it.Attempt++
		it.Last = it.Attempt >= q.cfg.Attempts
		items = append(items, it)
	}
	return items, rows.Err()
}

// held runs a statement on an item that the caller still holds, with what else
// belongs to that transaction. Its arguments begin with queue, id, holder, taken.
func (q *Queue) held(ctx context.Context, it Item, text string, after time.Duration, also Write) error {
	return q.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		args := []any{q.cfg.Name, it.ID, it.holder, it.taken}
		if strings.Contains(text, "$5") {
			now, err := q.db.NowIn(ctx, tx)
			if err != nil {
				return err
			}
			args = append(args, sqldb.MS(now.Add(after)))
		}
		res, err := tx.ExecContext(ctx, text+` WHERE queue = $1 AND id = $2 AND holder = $3 AND taken = $4`, args...)
		if err != nil {
			return fmt.Errorf("change queued item: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrLost)
		}
		if also == nil {
			return nil
		}
		return also(ctx, tx)
	})
}

// Write is what belongs to the end of a try, in the same transaction.
type Write func(ctx context.Context, tx sqldb.Querier) error

// Finish ends an item. It fails with ErrLost when somebody else has it.
func (q *Queue) Finish(ctx context.Context, it Item, also Write) error {
	return q.held(ctx, it, `DELETE FROM queue_items`, 0, also)
}

// Retry gives an item back after a failure, to be tried again after a pause.
func (q *Queue) Retry(ctx context.Context, it Item, after time.Duration, also Write) error {
	return q.held(ctx, it, `UPDATE queue_items SET holder = '', attempt = attempt + 1, due_ms = $5`, after, also)
}

// Release gives an item back untried.
func (q *Queue) Release(ctx context.Context, it Item) error {
	return q.held(ctx, it, `UPDATE queue_items SET holder = '', due_ms = $5`, 0, nil)
}

// Renew keeps an item for another lease.
func (q *Queue) Renew(ctx context.Context, it Item) error {
	return q.held(ctx, it, `UPDATE queue_items SET due_ms = $5`, q.cfg.Lease, nil)
}

// Waiting counts the items of a queue, and says since when the oldest is due.
func (q *Queue) Waiting(ctx context.Context) (n int64, oldest time.Time, err error) {
	var due sql.NullInt64
	err = q.db.Read().QueryRowContext(ctx, `SELECT COUNT(*), MIN(due_ms) FROM queue_items WHERE queue = $1`, q.cfg.Name).Scan(&n, &due)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count queue: %w", err)
	}
	return n, sqldb.Time(due.Int64), nil
}
