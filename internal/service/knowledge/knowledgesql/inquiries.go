package knowledgesql

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
)

var _ inquiry.Store = (*Store)(nil)

// replies is the queue of answers on their way.
func replies(db *sqldb.DB, w *quiet.Watch) *queue.Queue {
	return queue.New(db, queue.Config{
		Name: "knowledge replies", Backoff: 2 * time.Second, MaxBackoff: 10 * time.Minute, Attempts: 1 << 30, Quiet: w,
	})
}

// Pairs implements knowledge.Segments.
func (s *Store) Pairs(ctx context.Context, collection string) ([]knowledge.SealedPair, error) {
	return collect(ctx, s.db.Read(), new(query).add(`SELECT id, sealed FROM knowledge_pairs WHERE collection = ? ORDER BY id`, collection),
		func(r scanner) (p knowledge.SealedPair, err error) { return p, r.Scan(&p.ID, &p.Sealed) })
}

const inquiryFields = `SELECT i.id, i.asker, i.state, i.kept, i.sealed, i.created_ms, i.settled_ms,
	c.id, c.ns, c.name, c.folder, c.readers, c.wrapped_key, c.master_id
	FROM knowledge_inquiries i JOIN knowledge_collections c ON c.id = i.collection`

func scanInquiry(r scanner) (inquiry.Row, error) {
	var (
		row              inquiry.Row
		kept             int
		created, settled int64
	)
	c := &row.Collection
	err := r.Scan(&row.ID, &row.Asker, &row.State, &kept, &row.Sealed, &created, &settled,
		&c.ID, &c.Namespace, &c.Name, &c.Folder, &c.Readers, &c.WrappedKey, &c.MasterID)
	row.Kept, row.Created = kept != 0, sqldb.Time(created)
	if settled > 0 {
		row.Settled = sqldb.Time(settled)
	}
	return row, err
}

// withEvents adds what happened to each.
func (s *Store) withEvents(ctx context.Context, rows []inquiry.Row) ([]inquiry.Row, error) {
	for i := range rows {
		events, err := collect(ctx, s.db.Read(), new(query).add(`SELECT at_ms, actor, action FROM knowledge_inquiry_events WHERE inquiry = ? ORDER BY number`, rows[i].ID),
			func(r scanner) (inquiry.Event, error) {
				var e inquiry.Event
				var at int64
				err := r.Scan(&at, &e.By, &e.What)
				e.At = sqldb.Time(at)
				return e, err
			})
		if err != nil {
			return nil, err
		}
		rows[i].Events = events
	}
	return rows, nil
}

func addEvent(ctx context.Context, tx sqldb.Querier, id string, e inquiry.Event) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO knowledge_inquiry_events (inquiry, number, at_ms, actor, action)
		SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4 FROM knowledge_inquiry_events WHERE inquiry = $1`, id, sqldb.MS(e.At), e.By, e.What)
	return err
}

// among adds a condition on a list that is not empty.
func among(q *query, values []string) *query {
	q.add(`(`)
	for i, v := range values {
		if i > 0 {
			q.add(`, `)
		}
		q.add(`?`, v)
	}
	return q.add(`)`)
}

// AddInquiry implements inquiry.Store.
func (s *Store) AddInquiry(ctx context.Context, r inquiry.Row, askers []string, mostOfAsker,
	mostOfCollection int,
) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		// The collection's row is changed first, so that two who ask at once are counted one
		// after the other, and one that is deleted meanwhile gets no question.
		res, err := tx.ExecContext(ctx, `UPDATE knowledge_collections SET updated_ms = updated_ms WHERE id = $1`, r.Collection.ID)
		if err := one(res, err, fault.New(fault.NotFound, "no such collection")); err != nil {
			return err
		}
		there, err := collect(ctx, tx, new(query).add(`SELECT asker FROM knowledge_inquiries WHERE id = ?`, r.ID), func(row scanner) (a string, err error) {
			return a, row.Scan(&a)
		})
		if err != nil {
			return err
		}
		if len(there) > 0 {
			if slices.Contains(askers, there[0]) {
				return nil
			}
			return fault.New(fault.Conflict, "This question has another asker.")
		}
		var held, ofAsker int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM knowledge_inquiries WHERE collection = $1 AND state = 0`, r.Collection.ID).Scan(&held); err != nil {
			return err
		}
		q := among(new(query).add(`SELECT COUNT(*) FROM knowledge_inquiries WHERE state = 0 AND asker IN `), askers)
		if err := tx.QueryRowContext(ctx, q.b.String(), q.args...).Scan(&ofAsker); err != nil {
			return err
		}
		if ofAsker >= mostOfAsker || held >= mostOfCollection {
			return fault.New(fault.Conflict, "Enough questions wait for an answer. Ask again when some are answered.").WithCode("too_many_questions")
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO knowledge_inquiries (id, collection, asker, state, kept, sealed, created_ms, settled_ms)
			VALUES ($1, $2, $3, 0, 0, $4, $5, 0)`, r.ID, r.Collection.ID, r.Asker, r.Sealed, sqldb.MS(r.Created))
		if err != nil {
			return err
		}
		for _, e := range r.Events {
			if err := addEvent(ctx, tx, r.ID, e); err != nil {
				return err
			}
		}
		asked := inquiryReport{CollectionID: r.Collection.ID, InquiryID: r.ID}
		return s.tell(ctx, tx, r.Collection.Namespace, eventAsked, r.Created, asked)
	})
}

// inScope adds the condition that an inquiry's collection is within scope.
func inScope(q *query, s inquiry.Scope) *query {
	if s.All {
		return q.add(`1 = 1`)
	}
	return within(q, s.Reach)
}

// Inquiry implements inquiry.Store.
func (s *Store) Inquiry(ctx context.Context, scope inquiry.Scope, id string) (inquiry.Row, error) {
	q := inScope(new(query).add(inquiryFields+` WHERE i.id = ? AND `, id), scope)
	r, err := scanInquiry(s.db.Read().QueryRowContext(ctx, q.b.String(), q.args...))
	if err != nil {
		return r, absent(err, "question")
	}
	rows, err := s.withEvents(ctx, []inquiry.Row{r})
	if err != nil {
		return r, err
	}
	return rows[0], nil
}

// Inquiries implements inquiry.Store.
func (s *Store) Inquiries(ctx context.Context, scope inquiry.Scope, p inquiry.Page) ([]inquiry.Row, error) {
	q := inScope(new(query).add(inquiryFields+` WHERE i.state = ? AND `, int(p.State)), scope)
	if p.After != "" {
		q.add(` AND (i.created_ms, i.id) > (SELECT a.created_ms, a.id FROM knowledge_inquiries a WHERE a.id = ?)`, p.After)
	}
	rows, err := collect(ctx, s.db.Read(), q.add(` ORDER BY i.created_ms, i.id LIMIT ?`, p.Limit), scanInquiry)
	if err != nil {
		return nil, err
	}
	return s.withEvents(ctx, rows)
}

// InquiriesOf implements inquiry.Store.
func (s *Store) InquiriesOf(ctx context.Context, askers []string, limit int) ([]inquiry.Row, error) {
	q := among(new(query).add(inquiryFields+` WHERE i.asker IN `), askers).add(` ORDER BY i.created_ms DESC, i.id LIMIT ?`, limit)
	return collect(ctx, s.db.Read(), q, scanInquiry)
}

// RenameAsker implements inquiry.Store.
func (s *Store) RenameAsker(ctx context.Context, id, asker string) error {
	_, err := s.db.WriteOne(ctx, `UPDATE knowledge_inquiries SET asker = $1 WHERE id = $2`, asker, id)
	return err
}

// SettleInquiry implements inquiry.Store.
func (s *Store) SettleInquiry(ctx context.Context, in inquiry.Settling) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var collection string
		err := tx.QueryRowContext(ctx, `UPDATE knowledge_inquiries SET state = $1, sealed = $2, settled_ms = $3, kept = $4 WHERE id = $5 AND state = 0
			RETURNING collection`, int(in.State), in.Sealed, sqldb.MS(in.Event.At), flag(in.Pair != nil), in.ID).Scan(&collection)
		if err := absent(err, "question"); err != nil {
			if fault.Is(err, fault.NotFound) {
				return fault.New(fault.Conflict, "The question does not wait any more.").WithCode("question_settled")
			}
			return err
		}
		if err := addEvent(ctx, tx, in.ID, in.Event); err != nil {
			return err
		}
		if in.Pair != nil {
			if err := keepPair(ctx, tx, collection, *in.Pair, in.MaxPairs); err != nil {
				return err
			}
		}
		if in.Deliver {
			if _, err := replies(s.db, nil).Add(ctx, tx, queue.Item{ID: in.ID, Lane: collection}, 0); err != nil {
				return err
			}
		}
		return s.reportSettled(ctx, tx, inquiryReport{collection, in.ID, in.State.String()}, in.Event.At)
	})
}

func keepPair(ctx context.Context, tx sqldb.Querier, collection string, p knowledge.SealedPair, most int) error {
	// The revision is raised first: two who keep at once are counted one after the other.
	if err := touch(ctx, tx, collection, time.Time{}); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM knowledge_pairs WHERE collection = $1`, collection).Scan(&n); err != nil {
		return err
	}
	if n >= most {
		return fault.Newf(fault.Conflict, "The collection keeps %d answers, which is the most. Put some into a document.", n).WithCode("too_many_pairs")
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO knowledge_pairs (id, collection, sealed) VALUES ($1, $2, $3)`, p.ID, collection, p.Sealed)
	return err
}

// RemoveInquiry implements inquiry.Store.
func (s *Store) RemoveInquiry(ctx context.Context, id string, e inquiry.Event) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var (
			collection string
			state      inquiry.State
		)
		err := tx.QueryRowContext(ctx, `DELETE FROM knowledge_inquiries WHERE id = $1 RETURNING collection, state`, id).Scan(&collection, &state)
		if err := absent(err, "question"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM knowledge_pairs WHERE id = $1`, id); err != nil {
			return err
		}
		if err := addEvent(ctx, tx, id, e); err != nil {
			return err
		}
		if state == inquiry.Waiting { // of others it was told before
			if err := s.reportSettled(ctx, tx, inquiryReport{collection, id, e.What}, e.At); err != nil {
				return err
			}
		}
		return touch(ctx, tx, collection, time.Time{})
	})
}

// repliesEvery is how often a node looks for answers that others left.
const repliesEvery = time.Second

// WorkReplies implements inquiry.Store.
func (s *Store) WorkReplies(ctx context.Context, wake <-chan struct{},
	deliver func(ctx context.Context, id string) error,
) error {
	q := replies(s.db, s.quiet)
	err := q.Work(ctx, queue.Crew{Parallel: 4, PerLane: 2, Every: repliesEvery, Wake: wake},
		func(ctx context.Context, it queue.Item) (queue.Outcome, error) {
			return queue.Outcome{}, deliver(ctx, it.ID)
		})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
