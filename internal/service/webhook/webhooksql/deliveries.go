package webhooksql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/webhook"
)

const deliveryColumns = `d.event, d.type, d.created_ms, d.state, d.attempts, d.tried_ms, d.next_ms, d.status, d.took_ms, d.error, d.answer`

// ownDeliveries puts the owner into the question.
const ownDeliveries = ` FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint WHERE e.owner = $1 AND d.endpoint = $2 `

func scanDelivery(row scanner) (d webhook.Delivery, err error) {
	var (
		state                      string
		created, tried, next, took int64
	)
	err = row.Scan(&d.Event, &d.Type, &created, &state, &d.Attempts, &tried, &next, &d.Status, &took, &d.Error, &d.Answer)
	if errors.Is(err, sql.ErrNoRows) {
		return d, webhook.ErrNotFound
	}
	if err != nil {
		return d, fmt.Errorf("read delivery: %w", err)
	}
	d.Created, d.State, d.Took = sqldb.Time(created), webhook.State(state), time.Duration(took)*time.Millisecond
	d.Tried, d.Next = timeOrZero(tried), timeOrZero(next)
	return d, nil
}

// Deliveries implements webhook.Store.
func (s *Store) Deliveries(ctx context.Context, owner, id string,
	q webhook.DeliveryQuery,
) (list []webhook.Delivery, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := endpointIn(ctx, tx, owner, id); err != nil {
			return err
		}
		text, args := `SELECT `+deliveryColumns+ownDeliveries, []any{owner, id}
		add := func(condition string, more ...any) {
			for _, arg := range more {
				args = append(args, arg)
				condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
			}
			text += condition
		}
		if q.State != "" {
			add(` AND d.state = ?`, string(q.State))
		}
		if q.Before != "" {
			before, err := scanDelivery(tx.QueryRowContext(ctx, `SELECT `+deliveryColumns+ownDeliveries+`AND d.event = $3`, owner, id, q.Before))
			if err != nil {
				return err
			}
			at := sqldb.MS(before.Created)
			add(` AND (d.created_ms < ? OR d.created_ms = ? AND d.event < ?)`, at, at, before.Event)
		}
		add(` ORDER BY d.created_ms DESC, d.event DESC LIMIT ?`, q.Limit)
		rows, err := tx.QueryContext(ctx, text, args...)
		list, err = collect(rows, err, scanDelivery)
		return err
	})
	return list, err
}

// Replay implements webhook.Store.
func (s *Store) Replay(ctx context.Context, owner, id, event string) error {
	defer s.wakeSender()
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := scanDelivery(tx.QueryRowContext(ctx, `SELECT `+deliveryColumns+ownDeliveries+`AND d.event = $3`, owner,
			id, event)); err != nil {
			return err
		}
		return s.again(ctx, tx, owner, id, event)
	})
}

// again puts a delivery on its way once more, or makes one that waits go at once.
func (s *Store) again(ctx context.Context, tx sqldb.Querier, owner, id, event string) error {
	now, err := s.db.NowIn(ctx, tx)
	if err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `UPDATE webhook_deliveries SET state = 'waiting', attempts = 0, next_ms = $1
		WHERE endpoint = $2 AND event = $3 AND state <> 'waiting'`, sqldb.MS(now), id, event)
	if err != nil {
		return fmt.Errorf("replay delivery: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n > 0 {
		return s.enqueue(ctx, tx, owner, id, event, 0)
	}
	_, err = s.queue.Hasten(ctx, tx, id+"/"+event) // false: it is being sent right now
	return err
}

// ReplaySince implements webhook.Store.
func (s *Store) ReplaySince(ctx context.Context, owner, id string, r webhook.ReplayQuery,
	limit int,
) (page []webhook.Delivery, err error) {
	defer s.wakeSender()
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		at := int64(0)
		if r.After != "" {
			last, err := scanDelivery(tx.QueryRowContext(ctx, `SELECT `+deliveryColumns+ownDeliveries+`AND d.event = $3`, owner, id, r.After))
			if err != nil {
				return err
			}
			at = sqldb.MS(last.Created)
		} else {
			at = sqldb.MS(r.Since)
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+deliveryColumns+ownDeliveries+`AND (d.created_ms > $3 OR d.created_ms = $3 AND d.event > $4)
			AND ($5 = 1 OR d.state <> 'delivered') ORDER BY d.created_ms, d.event LIMIT $6`, owner, id, at, r.After, flag(r.Delivered), limit)
		if page, err = collect(rows, err, scanDelivery); err != nil {
			return err
		}
		for _, d := range page {
			if err := s.again(ctx, tx, owner, id, d.Event); err != nil {
				return err
			}
		}
		return nil
	})
	return page, err
}

// How a node works: a receiver that hangs takes at most four places.
const (
	parallel = 16
	perOwner = 4
	look     = time.Second
)

// Work implements webhook.Store.
func (s *Store) Work(ctx context.Context, now func() time.Time,
	do func(ctx context.Context, d webhook.Due) (webhook.Result, error),
) error {
	return s.queue.Work(ctx, queue.Crew{Parallel: parallel, PerLane: perOwner, Every: look, Wake: s.wake},
		func(ctx context.Context, it queue.Item) (queue.Outcome, error) {
			endpoint, event, _ := strings.Cut(it.ID, "/")
			due, err := s.due(ctx, endpoint, event, now())
			if err != nil {
				return queue.Outcome{}, err
			}
			due.Last = it.Last
			result, err := do(ctx, due)
			if err != nil {
				return queue.Outcome{}, err
			}
			failed := !result.Gone && !result.Held && !result.Delivered && result.Disable == "" && !it.Last
			pause := s.pause(it.Attempt, result)
			return queue.Outcome{Failed: failed, Pause: pause, Write: func(ctx context.Context, tx sqldb.Querier) error {
				return s.settle(ctx, tx, due, result, failed, pause)
			}}, nil
		})
}

// pause is how long to wait after the n-th failure: by our own schedule, or longer when the
// receiver asked for it.
func (s *Store) pause(n int, r webhook.Result) time.Duration {
	return max(s.cfg.Pause(n), r.RetryAfter)
}

// due reads a delivery. Its endpoint is empty when one of the two is gone.
func (s *Store) due(ctx context.Context, endpoint, event string, now time.Time) (d webhook.Due, err error) {
	d.Event = event
	err = s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		err := tx.QueryRowContext(ctx, `SELECT v.body FROM webhook_deliveries d JOIN webhook_events v ON v.id = d.event
			WHERE d.endpoint = $1 AND d.event = $2`, endpoint, event).Scan(&d.Body)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		d.Endpoint, d.Secrets, err = callee(ctx, tx, endpoint, now)
		if errors.Is(err, webhook.ErrNotFound) {
			return nil
		}
		return err
	})
	return d, err
}

// Callee implements webhook.Store.
func (s *Store) Callee(ctx context.Context, id string,
	now time.Time,
) (e webhook.Endpoint, secrets [][]byte, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		e, secrets, err = callee(ctx, tx, id, now)
		return err
	})
	return e, secrets, err
}

func callee(ctx context.Context, tx sqldb.Querier, id string, now time.Time) (webhook.Endpoint, [][]byte, error) {
	e, err := scanEndpoint(tx.QueryRowContext(ctx, `SELECT `+endpointColumns+fromEndpoints+`WHERE e.id = $1`, id))
	if err != nil {
		return webhook.Endpoint{}, nil, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT sealed FROM webhook_secrets WHERE endpoint = $1 AND (until_ms = 0 OR until_ms > $2)
		ORDER BY until_ms <> 0, created_ms DESC`, id, sqldb.MS(now))
	secrets, err := collect(rows, err, func(row scanner) (b []byte, err error) { return b, row.Scan(&b) })
	return e, secrets, err
}

// settle writes down what an attempt came to.
func (s *Store) settle(ctx context.Context, tx sqldb.Querier, d webhook.Due, r webhook.Result, again bool,
	pause time.Duration,
) error {
	if r.Gone {
		return nil
	}
	if r.Held {
		_, err := tx.ExecContext(ctx, `UPDATE webhook_deliveries SET state = 'held', next_ms = 0 WHERE endpoint = $1 AND event = $2`, d.Endpoint.ID, d.Event)
		if err != nil {
			return fmt.Errorf("hold delivery: %w", err)
		}
		return nil
	}
	state, next := webhook.Failed, int64(0)
	switch {
	case r.Delivered:
		state = webhook.Delivered
	case again:
		state, next = webhook.Waiting, sqldb.MS(r.At.Add(pause))
	}
	var created int64
	err := tx.QueryRowContext(ctx, `UPDATE webhook_deliveries SET state = $1, attempts = attempts + 1, tried_ms = $2, next_ms = $3, status = $4,
		took_ms = $5, error = $6, answer = $7 WHERE endpoint = $8 AND event = $9 RETURNING created_ms`,
		string(state), sqldb.MS(r.At), next, r.Status, r.Took.Milliseconds(), r.Error, r.Answer,
		d.Endpoint.ID, d.Event).Scan(&created)
	if errors.Is(err, sql.ErrNoRows) { // pruned meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("note delivery: %w", err)
	}
	success, err := noteHealth(ctx, tx, d.Endpoint.ID, r)
	if err != nil {
		return err
	}
	reason := r.Disable
	if state == webhook.Failed && reason == "" && success < created {
		reason = "nothing arrived for more than a day: " + r.Error
	}
	if reason == "" {
		return nil
	}
	return s.disable(ctx, tx, d.Endpoint, reason, r.At)
}

// noteHealth remembers the attempt and returns when one succeeded last.
func noteHealth(ctx context.Context, tx sqldb.Querier, endpoint string, r webhook.Result) (success int64, err error) {
	at := sqldb.MS(r.At)
	text := `INSERT INTO webhook_health (endpoint, success_ms, failing_ms) VALUES ($1, 0, $2)
		ON CONFLICT (endpoint) DO UPDATE SET failing_ms = CASE WHEN webhook_health.failing_ms = 0 THEN excluded.failing_ms ELSE webhook_health.failing_ms END
		RETURNING success_ms`
	if r.Delivered {
		text = `INSERT INTO webhook_health (endpoint, success_ms, failing_ms) VALUES ($1, $2, 0)
			ON CONFLICT (endpoint) DO UPDATE SET success_ms = excluded.success_ms, failing_ms = 0 RETURNING success_ms`
	}
	if err := tx.QueryRowContext(ctx, text, endpoint, at).Scan(&success); err != nil {
		return 0, fmt.Errorf("note webhook health: %w", err)
	}
	return success, nil
}

// disable switches an endpoint off, once, and tells its owner's other endpoints.
func (s *Store) disable(ctx context.Context, tx sqldb.Querier, e webhook.Endpoint, reason string, at time.Time) error {
	res, err := tx.ExecContext(ctx, `UPDATE webhook_endpoints SET disabled_ms = $1, reason = $2 WHERE id = $3 AND disabled_ms = 0`, sqldb.MS(at), reason, e.ID)
	if err != nil {
		return fmt.Errorf("disable webhook: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return s.Emit(ctx, tx, e.Owner, webhook.TypeDisabled, at, map[string]string{"endpointId": e.ID, "reason": reason})
}
