// Package pulse knows whether writes go through.
//
// A database can answer every question and take no change: its synchronous standby
// is away and commits hang, it is full, it was fenced. So a node makes one small
// write now and then, which nobody waits for, and whoever wants to know reads what
// became of it: probes cost nothing and never hang.
//
// There is at most one such write at a time. It does not notice a database that
// cannot grow and still has room for what is there.
//
// Decision: ADR 0244.
package pulse

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	// interval is how often is written, and again how soon after a failure.
	interval = 5 * time.Second
	again    = time.Second
	// late is how long a write may take: telephones wait no longer for their answer.
	late = 8 * time.Second
	// failures is how many writes fail in a row until that is called trouble: the first
	// may have met a line that a server had dropped.
	failures = 2
	// slots bounds the rows that all nodes that ever ran leave behind.
	slots = 64
)

// What is wrong, for operators: the names of sentences (platform/trouble).
const (
	Full     = "health.full"
	ReadOnly = "health.readOnly"
	Fails    = "health.writesFail"
	Hangs    = "health.writesHang"
)

// Pulse is the write of one node. It is safe for concurrent use.
type Pulse struct {
	write func(context.Context) error

	mu      sync.Mutex
	began   time.Time // of the write under way; zero when there is none
	failed  int       // writes in a row
	trouble string    // why the last writes failed
}

// New returns the pulse of a node.
func New(db *sqldb.DB, node string) *Pulse {
	h := fnv.New32a()
	_, _ = h.Write([]byte(node))
	slot := int64(h.Sum32() % slots)
	return &Pulse{write: func(ctx context.Context) error {
		_, err := db.WriteOne(ctx, `INSERT INTO app_pulse (slot, node, written_ms) VALUES ($1, $2, $3)
			ON CONFLICT (slot) DO UPDATE SET node = excluded.node, written_ms = excluded.written_ms`, slot, node, sqldb.MS(time.Now()))
		if err != nil {
			return fmt.Errorf("try a write: %w", err)
		}
		return nil
	}}
}

// Run writes until the context ends. Nodes do so at the same times of the clock: whoever
// looks whether anything was written (platform/quiet) is told once for all of them.
func (p *Pulse) Run(ctx context.Context) error {
	for {
		wait := again
		if p.beat(ctx) == nil {
			now := time.Now()
			wait = now.Truncate(interval).Add(interval).Sub(now)
		}
		if err := pace.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// beat writes once and notes what became of it.
func (p *Pulse) beat(ctx context.Context) error {
	p.mu.Lock()
	p.began = time.Now()
	p.mu.Unlock()
	err := p.write(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.began)
	p.began = time.Time{}
	switch {
	case err == nil:
		p.failed, p.trouble = 0, ""
	case ctx.Err() != nil: // the node ends, which says nothing about the database
	default:
		if p.failed++; took >= late {
			p.failed, p.trouble = max(p.failed, failures), Hangs
		} else {
			p.trouble = kind(err)
		}
	}
	return err
}

func kind(err error) string {
	switch {
	case fault.Is(err, fault.StorageFull):
		return Full
	case sqldb.IsReadOnly(err):
		return ReadOnly
	}
	return Fails
}

// Trouble says what keeps writes from going through; nothing means that they do.
func (p *Pulse) Trouble() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.failed >= failures:
		return p.trouble
	case !p.began.IsZero() && time.Since(p.began) >= late:
		return Hangs
	}
	return ""
}
