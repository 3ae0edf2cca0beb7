package membership

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/feed"
)

// hintQuotas is the subject on which a node tells the others that a quota changed.
const hintQuotas = "identity.quotas"

// MaxQuota keeps sums of what was used far from the end of the numbers.
const MaxQuota = 1 << 60

// Allowance is what a person may have; 0 is no limit, and nil what everybody may.
type Allowance struct {
	// Bytes are those of all versions of their files.
	Bytes *int64
	// Messages are those that they send to the oracle in a day of UTC, CostMicros what
	// the answers cost, in millionths of a US dollar.
	Messages, CostMicros *int64
}

// Own reports whether it says anything.
func (a Allowance) Own() bool { return a != Allowance{} }

// Quota is what operators let one person have in place of what everybody may.
type Quota struct {
	DID string
	Allowance
	// By is the operator.
	By string
	At time.Time
	// Feed is its number among all changes.
	Feed int64
}

// SetQuota lets a person have something else than everybody may; an empty allowance takes
// that back. Every node knows it within a second.
func (b *Book) SetQuota(ctx context.Context, text string, a Allowance, by string) (Quota, error) {
	d, err := parseMember(text)
	if err != nil {
		return Quota{}, err
	}
	for _, one := range []struct {
		name  string
		value *int64
	}{{"bytes", a.Bytes}, {"messages", a.Messages}, {"costMicros", a.CostMicros}} {
		if v := one.value; v != nil && (*v < 0 || *v > MaxQuota) {
			return Quota{}, fault.Newf(fault.Invalid, "%s: given %d, allowed are 0 (no limit) to %d, or null for what everybody may have", one.name, *v, int64(MaxQuota))
		}
	}
	q := Quota{DID: d, Allowance: a, By: by, At: b.now()}
	if err := b.store.SetQuota(ctx, q); err != nil {
		return Quota{}, fmt.Errorf("set quota: %w", err)
	}
	return q, nil
}

// QuotaOf is what a person may have in place of what everybody may; nil: nothing else.
func (b *Book) QuotaOf(ctx context.Context, text string) (*Quota, error) {
	d, err := parseMember(text)
	if err != nil {
		return nil, err
	}
	q, err := b.store.Quota(ctx, d)
	if err != nil || q == nil || !q.Own() {
		return nil, err
	}
	return q, nil
}

// Quotas are those that a node knows: all of them, by their feed. A node that cannot read
// the feed goes on by what it knew.
type Quotas struct {
	store Store
	news  *feed.Follower
	log   *slog.Logger
	// cursor is how far the feed was read; only the follower's reading moves it.
	cursor int64
	// known is never changed, but replaced.
	known atomic.Pointer[map[string]Allowance]
}

// NewQuotas returns what knows nobody's yet: Load reads them, and Run keeps them fresh.
func NewQuotas(book *Book, hints feed.Hints, head *feed.Head, log *slog.Logger) *Quotas {
	q := &Quotas{store: book.store, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	q.known.Store(&map[string]Allowance{})
	q.news = feed.New(feed.Config{
		Subject: hintQuotas, Read: q.read, Unknown: "What you may have cannot be found out at the moment.", Hints: hints,
		Head: head, Logger: log,
	})
	return q
}

// Load reads what is new.
func (q *Quotas) Load(ctx context.Context) error { return q.news.Load(ctx) }

// Run follows the changes until the context ends.
func (q *Quotas) Run(ctx context.Context) error { return q.news.Run(ctx) }

// Announce makes every node look, at once here.
func (q *Quotas) Announce(ctx context.Context) {
	q.news.Tell(ctx)
	if err := q.Load(ctx); err != nil {
		q.log.LogAttrs(ctx, slog.LevelDebug, "quotas are read later", slog.Any("error", err))
	}
}

// Of is what a DID may have in place of what everybody may.
func (q *Quotas) Of(did string) Allowance { return (*q.known.Load())[did] }

const quotaPage = 1000

func (q *Quotas) read(ctx context.Context) (more bool, err error) {
	news, err := q.store.QuotaChanges(ctx, q.cursor, quotaPage)
	if err != nil || len(news) == 0 {
		return false, err
	}
	next := maps.Clone(*q.known.Load())
	for _, n := range news {
		if n.Own() {
			next[n.DID] = n.Allowance
		} else {
			delete(next, n.DID)
		}
	}
	q.known.Store(&next)
	q.cursor = news[len(news)-1].Feed
	return len(news) == quotaPage, nil
}
