// Package webhooksql keeps webhooks in the database, and puts deliveries on the
// durable queue.
//
// Outbox is what other services' stores call in the transaction of what they
// report. It costs one look at the owner's endpoints, and nothing more for those
// who have none.
package webhooksql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/webhook"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the schema. The tables of package queue are needed too.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "webhook", FS: files} }

// Store is a webhook.Store.
type Store struct {
	db    *sqldb.DB
	queue *queue.Queue
	cfg   queue.Config
	// wake makes this node look at once for what it has just promised.
	wake chan struct{}
}

var _ webhook.Store = (*Store)(nil)

// New returns a store on a database whose migrations were applied. The name of
// the queue is set here; zero values of the rest are what production uses.
func New(db *sqldb.DB, cfg queue.Config) *Store {
	cfg.Name = "webhook"
	if cfg.Lease <= 0 {
		cfg.Lease = 15 * time.Second
	}
	return &Store{db: db, queue: queue.New(db, cfg), cfg: cfg, wake: make(chan struct{}, 1)}
}

const endpointColumns = `e.id, e.owner, e.url, e.description, e.events, e.created_ms, e.paused, e.disabled_ms, e.reason,
	COALESCE(h.success_ms, 0), COALESCE(h.failing_ms, 0)`

const fromEndpoints = ` FROM webhook_endpoints e LEFT JOIN webhook_health h ON h.endpoint = e.id `

type scanner interface{ Scan(into ...any) error }

func scanEndpoint(row scanner) (e webhook.Endpoint, err error) {
	var (
		events                              string
		created, paused, disabled, ok, fail int64
	)
	err = row.Scan(&e.ID, &e.Owner, &e.URL, &e.Description, &events, &created, &paused, &disabled, &e.Reason, &ok, &fail)
	if errors.Is(err, sql.ErrNoRows) {
		return e, webhook.ErrNotFound
	}
	if err != nil {
		return e, fmt.Errorf("read webhook: %w", err)
	}
	e.Created, e.Paused = sqldb.Time(created), paused != 0
	e.Disabled, e.LastSuccess, e.FailingSince = timeOrZero(disabled), timeOrZero(ok), timeOrZero(fail)
	if err := json.Unmarshal([]byte(events), &e.Events); err != nil {
		return e, fmt.Errorf("decode chosen events: %w", err)
	}
	return e, nil
}

func timeOrZero(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return sqldb.Time(ms)
}

func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) (list []T, _ error) {
	if err != nil {
		return nil, fmt.Errorf("select webhooks: %w", err)
	}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		list = append(list, one)
	}
	return list, errors.Join(rows.Err(), rows.Close())
}

// Create implements webhook.Store.
func (s *Store) Create(ctx context.Context, e webhook.Endpoint, secret []byte, limit int) error {
	events, err := json.Marshal(e.Events)
	if err != nil {
		return fmt.Errorf("encode chosen events: %w", err)
	}
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var has int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM webhook_endpoints WHERE owner = $1`, e.Owner).Scan(&has); err != nil {
			return fmt.Errorf("count webhooks: %w", err)
		}
		if has >= limit {
			return fault.Newf(fault.Conflict, "you have %d webhooks already", has).WithCode("too_many_webhooks")
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO webhook_endpoints (id, owner, url, description, events, created_ms, paused, disabled_ms, reason)
			VALUES ($1, $2, $3, $4, $5, $6, 0, 0, '')`, e.ID, e.Owner, e.URL, e.Description, string(events), sqldb.MS(e.Created)); err != nil {
			return fmt.Errorf("insert webhook: %w", err)
		}
		return insertSecret(ctx, tx, e.ID, secret, e.Created)
	})
}

func insertSecret(ctx context.Context, tx sqldb.Querier, endpoint string, secret []byte, at time.Time) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO webhook_secrets (endpoint, created_ms, nonce, sealed, until_ms) VALUES ($1, $2, $3, $4, 0)`,
		endpoint, sqldb.MS(at), rand.Text(), secret); err != nil {
		return fmt.Errorf("insert webhook secret: %w", err)
	}
	return nil
}

// Endpoints implements webhook.Store.
func (s *Store) Endpoints(ctx context.Context, owner string) ([]webhook.Endpoint, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+endpointColumns+fromEndpoints+`WHERE e.owner = $1 ORDER BY e.created_ms, e.id`, owner)
	return collect(rows, err, scanEndpoint)
}

// Endpoint implements webhook.Store.
func (s *Store) Endpoint(ctx context.Context, owner, id string) (webhook.Endpoint, error) {
	return endpointIn(ctx, s.db.Read(), owner, id)
}

func endpointIn(ctx context.Context, q sqldb.Querier, owner, id string) (webhook.Endpoint, error) {
	return scanEndpoint(q.QueryRowContext(ctx, `SELECT `+endpointColumns+fromEndpoints+`WHERE e.id = $1 AND e.owner = $2`, id, owner))
}

// Change implements webhook.Store.
func (s *Store) Change(ctx context.Context, owner, id string, c webhook.Change) (e webhook.Endpoint, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if e, err = endpointIn(ctx, tx, owner, id); err != nil {
			return err
		}
		if c.URL != nil {
			e.URL = *c.URL
		}
		if c.Description != nil {
			e.Description = *c.Description
		}
		if c.Events != nil {
			e.Events = c.Events
		}
		if c.Paused != nil {
			e.Paused = *c.Paused
			if !e.Paused {
				e.Disabled, e.Reason, e.FailingSince = time.Time{}, "", time.Time{}
				if _, err := tx.ExecContext(ctx, `UPDATE webhook_health SET failing_ms = 0 WHERE endpoint = $1`, id); err != nil {
					return fmt.Errorf("reset webhook health: %w", err)
				}
			}
		}
		events, err := json.Marshal(e.Events)
		if err != nil {
			return fmt.Errorf("encode chosen events: %w", err)
		}
		disabled := int64(0)
		if !e.Disabled.IsZero() {
			disabled = sqldb.MS(e.Disabled)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE webhook_endpoints SET url = $1, description = $2, events = $3, paused = $4, disabled_ms = $5, reason = $6
			WHERE id = $7 AND owner = $8`, e.URL, e.Description, string(events), flag(e.Paused), disabled, e.Reason, id, owner); err != nil {
			return fmt.Errorf("update webhook: %w", err)
		}
		return nil
	})
	return e, err
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Delete implements webhook.Store. Deliveries go with Prune, and what waits is
// dropped when its time comes.
func (s *Store) Delete(ctx context.Context, owner, id string) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM webhook_endpoints WHERE id = $1 AND owner = $2`, id, owner)
		if err != nil {
			return fmt.Errorf("delete webhook: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, webhook.ErrNotFound)
		}
		for _, table := range []string{"webhook_secrets", "webhook_health"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE endpoint = $1`, id); err != nil {
				return fmt.Errorf("delete from %s: %w", table, err)
			}
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO webhook_deleted (endpoint, at_ms) VALUES ($1, `+s.db.Dialect().NowMS()+`)`, id); err != nil {
			return fmt.Errorf("note what is left of a webhook: %w", err)
		}
		return nil
	})
}

// AddSecret implements webhook.Store.
func (s *Store) AddSecret(ctx context.Context, owner, id string, secret []byte, at, othersUntil time.Time,
	limit int,
) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := endpointIn(ctx, tx, owner, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM webhook_secrets WHERE endpoint = $1 AND until_ms > 0 AND until_ms <= $2`, id, sqldb.MS(at)); err != nil {
			return fmt.Errorf("forget secrets: %w", err)
		}
		var has int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM webhook_secrets WHERE endpoint = $1`, id).Scan(&has); err != nil {
			return fmt.Errorf("count secrets: %w", err)
		}
		if has >= limit {
			return fault.Newf(fault.Conflict, "%d secrets sign for this webhook already: wait until the oldest has ended, or make another webhook", has).WithCode("too_many_secrets")
		}
		if _, err := tx.ExecContext(ctx, `UPDATE webhook_secrets SET until_ms = $1 WHERE endpoint = $2 AND until_ms = 0`, sqldb.MS(othersUntil), id); err != nil {
			return fmt.Errorf("end secrets: %w", err)
		}
		return insertSecret(ctx, tx, id, secret, at)
	})
}

// Prune implements webhook.Store.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	for _, text := range []string{
		`DELETE FROM webhook_events WHERE id IN (SELECT id FROM webhook_events WHERE at_ms < $1 LIMIT $2)`,
		`DELETE FROM webhook_deliveries WHERE (endpoint, event) IN (SELECT endpoint, event FROM webhook_deliveries WHERE created_ms < $1 LIMIT $2)`,
	} {
		n, err := s.db.WriteOne(ctx, text, sqldb.MS(before), limit)
		if err != nil {
			return false, fmt.Errorf("prune webhooks: %w", err)
		}
		more = more || n == int64(limit)
	}
	if more { // what is deleted is looked at once, when the rest is done
		return true, nil
	}
	if more, err = s.pruneDeleted(ctx, limit); err != nil {
		return false, fmt.Errorf("prune deleted webhooks: %w", err)
	}
	return more, nil
}

// pruneDeleted forgets what is left of webhooks that were deleted, the first ones first:
// one by one, since a join may be made by reading all deliveries. A day later nobody notes
// anything of them any more.
func (s *Store) pruneDeleted(ctx context.Context, limit int) (more bool, err error) {
	gone, err := sqldb.Strings(ctx, s.db.Read(), `SELECT endpoint FROM webhook_deleted ORDER BY at_ms LIMIT $1`, limit)
	if err != nil {
		return false, err
	}
	for _, id := range gone {
		n, err := s.db.WriteOne(ctx, `DELETE FROM webhook_deliveries WHERE endpoint = $1
			AND event IN (SELECT event FROM webhook_deliveries WHERE endpoint = $1 LIMIT $2)`, id, limit)
		if err != nil {
			return false, err
		}
		if n == int64(limit) {
			more = true
			continue
		}
		if _, err := s.db.WriteOne(ctx, `DELETE FROM webhook_health WHERE endpoint = $1`, id); err != nil {
			return false, err
		}
		if _, err := s.db.WriteOne(ctx, `DELETE FROM webhook_deleted WHERE endpoint = $1 AND at_ms < `+s.db.Dialect().NowMS()+` - 86400000`, id); err != nil {
			return false, err
		}
	}
	return more, nil
}
