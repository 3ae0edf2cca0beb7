package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Gathered is a row that many writes add to, as counters are: when they share a
// transaction, it is written once for all of them.
type Gathered struct {
	// Table is where the row is, and Row tells it from others there.
	Table, Row string
	// Sum is what a write adds, and Join adds what came later. Nil keeps the greater
	// of each.
	Sum  []int64
	Join func(sum, more []int64)
	// Write adds the sum to the row. It may be called more than once in a transaction.
	Write func(ctx context.Context, tx Querier, sum []int64) error
}

// Gather writes a row together with what others add to it in the same transaction: on
// SQLite before it is committed, or before a statement that names the table; elsewhere
// at once. A failure is that of all who share the transaction, so the row must be one
// that can always be written.
func Gather(ctx context.Context, tx Querier, g Gathered) error {
	h, ok := tx.(*handle)
	if !ok || h.shared == nil {
		return g.Write(ctx, tx, g.Sum)
	}
	if err := h.check(ctx); err != nil {
		return h.note(err)
	}
	h.wrote = true
	h.shared.add(g)
	return nil
}

// gatherer holds what the functions of a transaction have gathered. It belongs to the writer's loop.
type gatherer struct {
	rows   []Gathered
	tables []string
	// feeds are the last numbers of the feeds that this transaction has taken numbers of.
	feeds map[string]int64
	err   error
}

func (s *gatherer) add(g Gathered) {
	for _, have := range s.rows {
		if have.Table == g.Table && have.Row == g.Row {
			have.join(g.Sum)
			return
		}
	}
	s.rows = append(s.rows, g)
	if !slices.Contains(s.tables, g.Table) {
		s.tables = append(s.tables, g.Table)
	}
}

func (g Gathered) join(more []int64) {
	if g.Join != nil {
		g.Join(g.Sum, more)
		return
	}
	for i := range g.Sum {
		g.Sum[i] = max(g.Sum[i], more[i])
	}
}

// forget is for a transaction that was rolled back or is over.
func (s *gatherer) forget() {
	clear(s.rows)
	s.rows, s.tables, s.err = s.rows[:0], s.tables[:0], nil
	clear(s.feeds)
}

// before writes what a statement could read.
func (s *gatherer) before(q Querier, query string) error {
	if len(s.feeds) > 0 && strings.Contains(query, "platform_feeds") {
		return s.write(q)
	}
	for _, table := range s.tables {
		if strings.Contains(query, table) {
			return s.write(q)
		}
	}
	return nil
}

// write writes what was gathered. When it fails the transaction is lost for everybody.
func (s *gatherer) write(q Querier) error {
	if s.err != nil {
		return s.err
	}
	rows := s.rows
	s.rows, s.tables = nil, s.tables[:0]
	clear(s.feeds) // whoever names their table may change it
	for _, g := range rows {
		h := &handle{q: q, detached: true}
		err := g.Write(context.Background(), h, g.Sum)
		if err = h.finish(context.Background(), err); err != nil {
			s.err = fmt.Errorf("write what was gathered for %s: %w", g.Table, err)
			return s.err
		}
	}
	clear(rows)
	s.rows = rows[:0]
	return nil
}
