// Package ussdsmssql keeps text messages in SQLite or PostgreSQL, and hands them out
// from the durable queue. Its tables are those of ussdsql.
//
// A message is added in the transaction of whoever tells something, with its place in
// the limits of the day. Texts are sealed, and gone when they were sent or answered.
package ussdsmssql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
)

// Config is what a Store needs.
type Config struct {
	Keys   *ussdpin.Keys
	Limits ussdsms.Limits
	// Price is what a part costs where the gateway does not say.
	Price ussdsms.Cost
	// Backoff is the first pause after a failure; 0 is 5 s.
	Backoff time.Duration
	// Quiet, when set, spares workers looks while nothing waits.
	Quiet *quiet.Watch
	Now   func() time.Time
}

// Store implements ussdsms.Store.
type Store struct {
	db              *sqldb.DB
	cfg             Config
	out, in         *queue.Queue
	wakeOut, wakeIn chan struct{}
}

var _ ussdsms.Store = (*Store)(nil)

// A message that could not be sent for a quarter of an hour is of no use: codes have
// run out, and who asked has dialled.
const (
	sendTries  = 6
	longest    = 10 * time.Minute
	askTries   = 3
	sendAtOnce = 8
	askAtOnce  = 4
	look       = time.Second
)

// New returns a store on a migrated database.
func New(db *sqldb.DB, cfg Config) *Store {
	open := func(name string, tries int) *queue.Queue {
		return queue.New(db, queue.Config{
			Name: name, Backoff: cfg.Backoff, MaxBackoff: longest, Attempts: tries, Quiet: cfg.Quiet,
		})
	}
	return &Store{
		db: db, cfg: cfg, out: open("sms", sendTries), in: open("sms received", askTries), wakeOut: make(chan struct{}, 1),
		wakeIn: make(chan struct{}, 1),
	}
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func wakeOne(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// TellIn writes a message in the transaction of what it tells, and says why it is
// refused, or "". The same message again changes nothing.
func (s *Store) TellIn(ctx context.Context, tx sqldb.Querier, m ussdsms.Message) (refused string, err error) {
	parts := ussdsms.Parts(m.Text)
	fresh, err := s.add(ctx, tx, m, parts)
	if err != nil || !fresh {
		return "", err
	}
	if refused, err = s.admit(ctx, tx, m, parts); err != nil {
		return "", err
	}
	if refused != "" {
		return refused, s.settle(ctx, tx, m.ID, ussdsms.Refused, ussdsms.Sent{}, refused, m.At)
	}
	// Lanes are kinds: a code does not wait for a hundred answers.
	_, err = s.out.Add(ctx, tx, queue.Item{ID: m.ID, Lane: string(m.Kind)}, 0)
	wakeOne(s.wakeOut) // too early by a commit, and then seen at the next look
	return "", err
}

// add writes a message that waits, unless it is there.
func (s *Store) add(ctx context.Context, tx sqldb.Querier, m ussdsms.Message, parts int) (fresh bool, err error) {
	res, err := tx.ExecContext(ctx, `INSERT INTO ussd_sms (id, kind, phone, sealed, parts, state, attempts, reference, cost_micros, currency, error, created_ms, settled_ms)
		VALUES ($1, $2, $3, $4, $5, $6, 0, '', 0, '', '', $7, 0) ON CONFLICT (id) DO NOTHING`,
		m.ID, string(m.Kind), m.Phone, s.cfg.Keys.SealText(m.ID, m.Text), parts, string(ussdsms.Waiting), sqldb.MS(m.At))
	if err != nil {
		return false, fmt.Errorf("store text message: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, wrap("store text message", err)
}

// admit counts a message, or says why it may not be sent.
func (s *Store) admit(ctx context.Context, tx sqldb.Querier, m ussdsms.Message, parts int) (refused string, err error) {
	if is, err := stopped(ctx, tx, m.Phone); err != nil || is {
		return ussdsms.RefusedStopped, err
	}
	day := dayOf(m.At)
	if ok, err := count(ctx, tx, day, m.Phone, parts, s.cfg.Limits.Number); err != nil || !ok {
		return ussdsms.RefusedNumber, err
	}
	if ok, err := count(ctx, tx, day, everybody, parts, s.cfg.Limits.DayFor(m.Kind)); err != nil || ok {
		return "", err
	}
	_, err = tx.ExecContext(ctx, `UPDATE ussd_sms_days SET parts = parts - $1 WHERE day = $2 AND phone = $3`, parts, day, m.Phone)
	return ussdsms.RefusedDay, wrap("give parts back", err)
}

// everybody stands in the place of a number for all of them.
const everybody = ""

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// stopped reports whether a number wants no messages.
func stopped(ctx context.Context, q sqldb.Querier, phone string) (bool, error) {
	var one int
	err := q.QueryRowContext(ctx, `SELECT 1 FROM ussd_sms_stopped WHERE phone = $1`, phone).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrap("look for a stop", err)
}

// silent says why a number gets no reply now, however short, or "". Nothing is counted.
func (s *Store) silent(ctx context.Context, phone string, now time.Time) (why string, err error) {
	if is, err := stopped(ctx, s.db.Read(), phone); err != nil || is {
		return ussdsms.RefusedStopped, err
	}
	for _, one := range []struct {
		phone, why string
		limit      int
	}{{phone, ussdsms.RefusedNumber, s.cfg.Limits.Number}, {
		everybody, ussdsms.RefusedDay, s.cfg.Limits.DayFor(ussdsms.KindReply),
	}} {
		var parts int
		err := s.db.Read().QueryRowContext(ctx, `SELECT parts FROM ussd_sms_days WHERE day = $1 AND phone = $2`, dayOf(now), one.phone).Scan(&parts)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return "", fmt.Errorf("look at the parts of the day: %w", err)
		}
		if parts >= one.limit {
			return one.why, nil
		}
	}
	return "", nil
}

// count takes parts of a day's limit, if there are so many left. The row makes all
// who count take turns.
func count(ctx context.Context, tx sqldb.Querier, day, phone string, parts, limit int) (bool, error) {
	if parts > limit {
		return false, nil
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO ussd_sms_days (day, phone, parts) VALUES ($1, $2, $3)
		ON CONFLICT (day, phone) DO UPDATE SET parts = ussd_sms_days.parts + excluded.parts WHERE ussd_sms_days.parts + excluded.parts <= $4`,
		day, phone, parts, limit)
	if err != nil {
		return false, fmt.Errorf("count parts: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, wrap("count parts", err)
}

// settle writes down what became of a message, and forgets its text.
func (s *Store) settle(ctx context.Context, tx sqldb.Querier, id string, state ussdsms.State, sent ussdsms.Sent,
	why string, now time.Time,
) error {
	_, err := tx.ExecContext(ctx, `UPDATE ussd_sms SET state = $1, sealed = $2, reference = $3, cost_micros = $4, currency = $5, error = $6, settled_ms = $7,
		parts = CASE WHEN $8 > 0 THEN $8 ELSE parts END WHERE id = $9`,
		string(state), []byte{}, sent.Reference, sent.Cost.Micros, sent.Cost.Currency, why, sqldb.MS(now), sent.Parts, id)
	return wrap("settle text message", err)
}

// SendDue implements ussdsms.Store.
func (s *Store) SendDue(ctx context.Context,
	send func(ctx context.Context, m ussdsms.Message) (ussdsms.Sent, error),
) error {
	crew := queue.Crew{Parallel: sendAtOnce, PerLane: sendAtOnce / 2, Every: look, Wake: s.wakeOut}
	return s.out.Work(ctx, crew, func(ctx context.Context, it queue.Item) (queue.Outcome, error) {
		m, sealed, err := s.message(ctx, it.ID)
		if errors.Is(err, sql.ErrNoRows) { // erased meanwhile
			return queue.Outcome{}, nil
		}
		if err != nil {
			return queue.Outcome{}, err
		}
		var sent ussdsms.Sent
		if m.Text, err = s.cfg.Keys.OpenText(m.ID, sealed); err == nil { // else another node may have the key
			sent, err = send(ctx, m)
		}
		if ctx.Err() != nil && err != nil {
			return queue.Outcome{}, err
		}
		_, final := errors.AsType[*ussdsms.RefusedError](err)
		why, state := "", ussdsms.Taken
		switch {
		case err == nil:
			if sent.Cost.Currency == "" {
				parts := int64(cmp.Or(sent.Parts, ussdsms.Parts(m.Text)))
				sent.Cost = ussdsms.Cost{Micros: s.cfg.Price.Micros * parts, Currency: s.cfg.Price.Currency}
			}
		case final || it.Last:
			why, state = err.Error(), ussdsms.Failed
		default:
			return queue.Outcome{Failed: true, Write: func(ctx context.Context, tx sqldb.Querier) error {
				_, err := tx.ExecContext(ctx, `UPDATE ussd_sms SET attempts = attempts + 1, error = $1 WHERE id = $2`, err.Error(), m.ID)
				return wrap("note try", err)
			}}, nil
		}
		return queue.Outcome{Write: func(ctx context.Context, tx sqldb.Querier) error {
			return s.settle(ctx, tx, m.ID, state, sent, why, s.cfg.Now())
		}}, nil
	})
}

// Report implements ussdsms.Store. What arrived has arrived: no later report takes that back.
func (s *Store) Report(ctx context.Context, r ussdsms.Report) (kind ussdsms.Kind, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		kind = ""
		err := tx.QueryRowContext(ctx, `UPDATE ussd_sms SET state = $1, error = $2 WHERE reference = $3 AND reference <> '' AND state IN ($4, $5) AND state <> $1
			RETURNING kind`, string(r.State), r.Why, r.Reference, string(ussdsms.Taken), string(ussdsms.Undelivered)).Scan(&kind)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return wrap("note a report", err)
	})
	return kind, err
}

// message reads a message that waits, with its text sealed.
func (s *Store) message(ctx context.Context, id string) (m ussdsms.Message, sealed []byte, err error) {
	var at int64
	if err := s.db.Read().QueryRowContext(ctx, `SELECT kind, phone, sealed, created_ms FROM ussd_sms WHERE id = $1 AND state = $2`, id, string(ussdsms.Waiting)).
		Scan(&m.Kind, &m.Phone, &sealed, &at); err != nil {
		return m, nil, fmt.Errorf("read text message: %w", err)
	}
	m.ID, m.At = id, sqldb.Time(at)
	return m, sealed, nil
}

// Receive implements ussdsms.Store.
func (s *Store) Receive(ctx context.Context, in ussdsms.Incoming) (fresh bool, err error) {
	defer wakeOne(s.wakeIn)
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		fresh = false
		wish := ussdsms.WishOf(in.Text)
		sealed := s.cfg.Keys.SealText(in.ID, in.Text)
		if wish != ussdsms.WishNone {
			sealed = []byte{}
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO ussd_sms_received (id, phone, sealed, at_ms) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
			in.ID, in.Phone, sealed, sqldb.MS(in.At))
		if err != nil {
			return fmt.Errorf("store received message: %w", err)
		}
		n, err := res.RowsAffected()
		if fresh = n > 0; err != nil || !fresh {
			return err
		}
		switch wish {
		case ussdsms.WishStop:
			_, err = tx.ExecContext(ctx, `INSERT INTO ussd_sms_stopped (phone, at_ms) VALUES ($1, $2) ON CONFLICT (phone) DO NOTHING`, in.Phone, sqldb.MS(in.At))
			return wrap("note stop", err)
		case ussdsms.WishStart:
			_, err = tx.ExecContext(ctx, `DELETE FROM ussd_sms_stopped WHERE phone = $1`, in.Phone)
			return wrap("forget stop", err)
		case ussdsms.WishNone:
		}
		// A lane for each number: who writes much waits for itself.
		_, err = s.in.Add(ctx, tx, queue.Item{ID: in.ID, Lane: s.cfg.Keys.Alias(in.Phone)}, 0)
		return err
	})
	return fresh, err
}

// AskDue implements ussdsms.Store.
func (s *Store) AskDue(ctx context.Context, ask func(ctx context.Context, in ussdsms.Incoming) (string, error)) error {
	return s.in.Work(ctx, queue.Crew{Parallel: askAtOnce, PerLane: 1, Every: look, Wake: s.wakeIn},
		func(ctx context.Context, it queue.Item) (queue.Outcome, error) {
			in := ussdsms.Incoming{ID: it.ID, Last: it.Last}
			var sealed []byte
			var at int64
			err := s.db.Read().QueryRowContext(ctx, `SELECT phone, sealed, at_ms FROM ussd_sms_received WHERE id = $1`, it.ID).Scan(&in.Phone, &sealed, &at)
			if errors.Is(err, sql.ErrNoRows) {
				return queue.Outcome{}, nil
			}
			if err != nil {
				return queue.Outcome{}, fmt.Errorf("read received message: %w", err)
			}
			in.At = sqldb.Time(at)
			if in.Text, err = s.cfg.Keys.OpenText(it.ID, sealed); err != nil {
				if it.Last { // nobody has the key any more
					return queue.Outcome{}, nil
				}
				return queue.Outcome{}, err
			}
			silent, err := s.silent(ctx, in.Phone, s.cfg.Now())
			if err != nil {
				return queue.Outcome{}, err
			}
			reply := ""
			if silent == "" { // what nobody may be told need not be asked: that costs too
				if reply, err = ask(ctx, in); err != nil {
					return queue.Outcome{}, err
				}
			}
			return queue.Outcome{Write: func(ctx context.Context, tx sqldb.Querier) error {
				res, err := tx.ExecContext(ctx, `UPDATE ussd_sms_received SET sealed = $1 WHERE id = $2`, []byte{}, in.ID)
				if err != nil {
					return fmt.Errorf("forget received text: %w", err)
				}
				if n, err := res.RowsAffected(); err != nil || n == 0 { // erased meanwhile
					return err
				}
				m := ussdsms.Message{ID: "reply/" + in.ID, Kind: ussdsms.KindReply, Phone: in.Phone, Text: reply, At: s.cfg.Now()}
				if silent == "" {
					_, err = s.TellIn(ctx, tx, m)
					return err
				}
				if fresh, err := s.add(ctx, tx, m, 1); err != nil || !fresh {
					return err
				}
				return s.settle(ctx, tx, m.ID, ussdsms.Refused, ussdsms.Sent{}, silent, m.At)
			}}, nil
		})
}

// Trouble says why messages wait that the gateway did not take twice, or "".
func (s *Store) Trouble(ctx context.Context) (why string, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT error FROM ussd_sms WHERE state = 'waiting' AND attempts >= 2 ORDER BY created_ms DESC LIMIT 1`).Scan(&why)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return why, wrap("look for messages that wait", err)
}

// Totals implements ussdsms.Store.
func (s *Store) Totals(ctx context.Context, since time.Time) (_ []ussdsms.Total, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT kind, state, currency, COUNT(*), CAST(SUM(parts) AS BIGINT), CAST(SUM(cost_micros) AS BIGINT) FROM ussd_sms
		WHERE created_ms >= $1 GROUP BY kind, state, currency ORDER BY kind, state, currency`, sqldb.MS(since))
	if err != nil {
		return nil, fmt.Errorf("add up text messages: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []ussdsms.Total
	for rows.Next() {
		var one ussdsms.Total
		if err := rows.Scan(&one.Kind, &one.State, &one.Currency, &one.Messages, &one.Parts, &one.Micros); err != nil {
			return nil, fmt.Errorf("add up text messages: %w", err)
		}
		all = append(all, one)
	}
	return all, wrap("add up text messages", rows.Err())
}
