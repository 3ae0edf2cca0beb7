package webhooksql

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/webhook"
)

// Emit writes an event for those of the owner's endpoints that chose it, in the
// transaction of what it reports: both are there, or neither.
func (s *Store) Emit(ctx context.Context, tx sqldb.Querier, owner, kind string, at time.Time, data any) error {
	open, err := chosen(ctx, tx, owner, kind)
	if err != nil || len(open) == 0 {
		return err
	}
	event, err := webhook.NewEvent(owner, kind, at, data)
	if err != nil {
		return err
	}
	return s.send(ctx, tx, event, open)
}

// target is an endpoint that an event is for.
type target struct {
	id string
	// held ones are paused or disabled: the event waits for its owner.
	held bool
}

func chosen(ctx context.Context, tx sqldb.Querier, owner, kind string) ([]target, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, events, paused, disabled_ms FROM webhook_endpoints WHERE owner = $1 ORDER BY id`, owner)
	all, err := collect(rows, err, func(row scanner) (out target, err error) {
		var (
			events           []string
			text             string
			paused, disabled int64
		)
		if err := row.Scan(&out.id, &text, &paused, &disabled); err != nil {
			return out, err
		}
		if err := json.Unmarshal([]byte(text), &events); err != nil {
			return out, fmt.Errorf("decode chosen events: %w", err)
		}
		if !webhook.Chosen(events, kind) {
			out.id = ""
		}
		out.held = paused != 0 || disabled != 0
		return out, nil
	})
	var out []target
	for _, t := range all {
		if t.id != "" {
			out = append(out, t)
		}
	}
	return out, err
}

func (s *Store) send(ctx context.Context, tx sqldb.Querier, e webhook.Event, to []target) error {
	if err := insertEvent(ctx, tx, e); err != nil {
		return err
	}
	for _, t := range to {
		d := webhook.Delivery{State: webhook.Waiting, Next: e.At}
		if t.held {
			d.State, d.Next = webhook.Held, time.Time{}
		}
		if err := insertDelivery(ctx, tx, t.id, e, d); err != nil {
			return err
		}
		if t.held {
			continue
		}
		if err := s.enqueue(ctx, tx, e.Owner, t.id, e.ID, 0); err != nil {
			return err
		}
	}
	return nil
}

func insertEvent(ctx context.Context, tx sqldb.Querier, e webhook.Event) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO webhook_events (id, type, at_ms, body) VALUES ($1, $2, $3, $4)`, e.ID, e.Type, sqldb.MS(e.At), e.Body); err != nil {
		return fmt.Errorf("insert event: %w", err)
	}
	return nil
}

func insertDelivery(ctx context.Context, tx sqldb.Querier, endpoint string, e webhook.Event, d webhook.Delivery) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO webhook_deliveries
		(endpoint, event, type, created_ms, state, attempts, tried_ms, next_ms, status, took_ms, error, answer)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, endpoint, e.ID, e.Type, sqldb.MS(e.At), string(d.State), d.Attempts,
		msOrZero(d.Tried), msOrZero(d.Next), d.Status, d.Took.Milliseconds(), d.Error, d.Answer); err != nil {
		return fmt.Errorf("insert delivery: %w", err)
	}
	return nil
}

func msOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return sqldb.MS(t)
}

// KeepCall writes down a call that was made, in the transaction of what came of it:
// who answered is noted, and who did not is sent the same again when again says so.
func (s *Store) KeepCall(ctx context.Context, tx sqldb.Querier, c webhook.Called, again bool) error {
	r := c.Result
	d := webhook.Delivery{
		State: webhook.Failed, Attempts: 1, Tried: r.At, Status: r.Status, Took: r.Took, Error: r.Error, Answer: r.Answer,
	}
	switch {
	case r.Delivered:
		d.State = webhook.Delivered
	case again && r.Disable == "":
		pause := s.pause(1, r)
		d.State, d.Next = webhook.Waiting, r.At.Add(pause)
		if err := s.enqueue(ctx, tx, c.Event.Owner, c.Endpoint.ID, c.Event.ID, pause); err != nil {
			return err
		}
	}
	if err := insertEvent(ctx, tx, c.Event); err != nil {
		return err
	}
	if err := insertDelivery(ctx, tx, c.Endpoint.ID, c.Event, d); err != nil {
		return err
	}
	if _, err := noteHealth(ctx, tx, c.Endpoint.ID, r); err != nil || r.Disable == "" {
		return err
	}
	return s.disable(ctx, tx, c.Endpoint, r.Disable, r.At)
}

// enqueue promises a delivery. Lanes are owners, by a hash of bounded length.
func (s *Store) enqueue(ctx context.Context, tx sqldb.Querier, owner, endpoint, event string,
	pause time.Duration,
) error {
	sum := sha256.Sum256([]byte(owner))
	_, err := s.queue.Add(ctx, tx,
		queue.Item{ID: endpoint + "/" + event, Lane: base64.RawURLEncoding.EncodeToString(sum[:])}, pause)
	return err
}

// Send implements webhook.Store.
func (s *Store) Send(ctx context.Context, endpoint string, e webhook.Event) error {
	defer s.wakeSender()
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := endpointIn(ctx, tx, e.Owner, endpoint); err != nil {
			return err
		}
		return s.send(ctx, tx, e, []target{{id: endpoint}})
	})
}

func (s *Store) wakeSender() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
