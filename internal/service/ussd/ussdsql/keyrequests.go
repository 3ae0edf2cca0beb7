package ussdsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
)

var _ ussdkey.Store = (*Store)(nil)

// Keys says which key signs for a person, in the transaction that decides so.
type Keys interface {
	// Bind makes a new key sign for a person in the place of the one that does.
	Bind(ctx context.Context, tx sqldb.Querier, person, key, by string, at time.Time) error
	// Unbind gives the person back the one whose place the key took.
	Unbind(ctx context.Context, tx sqldb.Querier, person, key string) error
}

// WithKeys returns the store with somebody who binds keys, and somebody who says how those
// stand who are concerned, as the transaction sees it; without, none can be.
func (s *Store) WithKeys(k Keys, stand func(tx sqldb.Querier) ussdkey.Witness) *Store {
	with := *s
	with.keys, with.stand = k, stand
	return &with
}

// KeyRequest implements ussd.Store.
func (s *Store) KeyRequest(ctx context.Context, account string,
	now time.Time,
) (key string, asked time.Time, err error) {
	var ms int64
	err = s.db.Read().QueryRowContext(ctx, `SELECT key_did, asked_ms FROM ussd_key_requests
		WHERE account = $1 AND state = 'waiting' AND expires_ms > $2`, account, sqldb.MS(now)).Scan(&key, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, nil
	}
	return key, sqldb.Time(ms), wrap("read request for a key", err)
}

// These events are a contract with those who listen.
const (
	eventKeyAsked  = "key.asked"
	eventKeyBound  = "key.bound"
	eventKeyUndone = "key.undone"
)

// keyAsked tells a person that somebody asked for another key.
type keyAsked struct {
	keyDecided
	Ready time.Time `json:"readyAt"`
}

// keyDecided tells a person that another key signs for them, or no longer does.
type keyDecided struct {
	Request string `json:"requestId"`
	Account string `json:"account"`
	Key     string `json:"key"`
}

func (s *Store) askNewKey(ctx context.Context, tx sqldb.Querier, e ussd.AskNewKey, now time.Time) error {
	account, key := e.Proof.Account, e.Proof.Issuer
	if err := useCode(ctx, tx, e.Proof, now); err != nil {
		return err
	}
	var person string
	var linked int64
	err := tx.QueryRowContext(ctx, `SELECT did, created_ms FROM ussd_links WHERE account = $1`+s.db.Dialect().ForUpdate(), account).Scan(&person, &linked)
	if errors.Is(err, sql.ErrNoRows) {
		return ussd.ErrStale // it was unlinked meanwhile
	}
	if err != nil {
		return fmt.Errorf("read link: %w", err)
	}
	// A person has one request: also that of another telephone gives way.
	if _, err := tx.ExecContext(ctx, `UPDATE ussd_key_requests SET state = $1, decided_ms = $2, decided_by = $3
		WHERE state = 'waiting' AND (account = $4 OR person = $5)`, string(ussdkey.Cancelled), sqldb.MS(now), ussdpeople.ActorCaller, account, person); err != nil {
		return fmt.Errorf("replace request for a key: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO ussd_key_requests (id, account, person, key_did, linked_ms, asked_ms, ready_ms, expires_ms, state,
		decided_ms, decided_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', 0, '')`,
		e.ID, account, person, key, linked, sqldb.MS(now), sqldb.MS(e.Ready), sqldb.MS(e.Expires)); err != nil {
		return fmt.Errorf("store request for a key: %w", err)
	}
	if s.outbox != nil {
		told := keyAsked{keyDecided{Request: e.ID, Account: account, Key: key}, e.Ready}
		if err := s.outbox.EmitIn(ctx, tx, person, eventKeyAsked, now, told); err != nil {
			return err
		}
	}
	return addAct(ctx, tx, ussdpeople.Act{
		At: now, Actor: ussdpeople.ActorCaller, Act: ussdpeople.ActAskKey, Account: account, Detail: key,
	})
}

// cancelKeyRequest ends the request of an account that waits. To have none is fine.
func cancelKeyRequest(ctx context.Context, tx sqldb.Querier, account, by string, now time.Time) error {
	var key string
	err := tx.QueryRowContext(ctx, `UPDATE ussd_key_requests SET state = $1, decided_ms = $2, decided_by = $3
		WHERE account = $4 AND state = 'waiting' RETURNING key_did`, string(ussdkey.Cancelled), sqldb.MS(now), by, account).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cancel request for a key: %w", err)
	}
	return addAct(ctx, tx, ussdpeople.Act{At: now, Actor: by, Act: ussdpeople.ActCancelKey, Account: account, Detail: key})
}

const keyRequestColumns = `r.id, r.account, COALESCE(a.phone, ''), r.person, r.key_did, r.linked_ms, r.asked_ms, r.ready_ms, r.expires_ms,
	r.state, r.decided_ms, r.decided_by FROM ussd_key_requests r LEFT JOIN ussd_accounts a ON a.id = r.account`

func scanKeyRequest(row scanner) (ussdkey.Request, error) {
	var r ussdkey.Request
	var linked, asked, ready, expires, decided int64
	err := row.Scan(&r.ID, &r.Account, &r.Phone, &r.Person, &r.Key, &linked, &asked, &ready, &expires,
		&r.State, &decided, &r.DecidedBy)
	if errors.Is(err, sql.ErrNoRows) {
		return ussdkey.Request{}, ussdkey.ErrNone()
	}
	if err != nil {
		return ussdkey.Request{}, fmt.Errorf("read request for a key: %w", err)
	}
	r.Linked, r.Asked, r.Ready, r.Expires = sqldb.Time(linked), sqldb.Time(asked), sqldb.Time(ready), sqldb.Time(expires)
	if decided != 0 {
		r.Decided = sqldb.Time(decided)
	}
	return r, nil
}

// KeyRequests implements ussdkey.Store.
func (s *Store) KeyRequests(ctx context.Context, f ussdkey.Filter) (_ []ussdkey.Request, err error) {
	where, args := `1 = 1`, []any{f.Limit}
	if f.Open {
		args = append(args, sqldb.MS(f.Now), sqldb.MS(f.Now.Add(-ussdkey.UndoTime)))
		where = `(r.state = 'approved' AND r.decided_ms > $3 OR r.state = 'waiting' AND r.expires_ms > $2)`
	}
	if f.DID != "" {
		args = append(args, f.DID)
		where += fmt.Sprintf(` AND (r.person = $%d OR r.key_did = $%[1]d)`, len(args))
	}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+keyRequestColumns+` WHERE `+where+` ORDER BY r.asked_ms DESC, r.id LIMIT $1`, args...)
	if err != nil {
		return nil, fmt.Errorf("list requests for keys: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []ussdkey.Request{}
	for rows.Next() {
		r, err := scanKeyRequest(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, wrap("list requests for keys", rows.Err())
}

// KeyRequestOf implements ussdkey.Store.
func (s *Store) KeyRequestOf(ctx context.Context, id string) (ussdkey.Request, error) {
	return scanKeyRequest(s.db.Read().QueryRowContext(ctx, `SELECT `+keyRequestColumns+` WHERE r.id = $1`, id))
}

var keyActs = map[ussdkey.State]string{
	ussdkey.Approved: ussdpeople.ActApproveKey, ussdkey.Refused: ussdpeople.ActRefuseKey,
	ussdkey.Undone: ussdpeople.ActUndoKey,
}

var keyEvents = map[ussdkey.State]string{ussdkey.Approved: eventKeyBound, ussdkey.Undone: eventKeyUndone}

// DecideKey implements ussdkey.Store.
func (s *Store) DecideKey(ctx context.Context, id string, step ussdkey.Step) (ussdkey.Request, error) {
	var r ussdkey.Request
	to, by, at := step.To, step.By, step.At
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) (err error) {
		// The row is locked by the change that is decided upon, so that two take turns.
		if _, err := tx.ExecContext(ctx, `UPDATE ussd_key_requests SET id = id WHERE id = $1`, id); err != nil {
			return fmt.Errorf("lock request for a key: %w", err)
		}
		r, err = scanKeyRequest(tx.QueryRowContext(ctx, `SELECT `+keyRequestColumns+` WHERE r.id = $1`, id))
		if err != nil {
			return err
		}
		if err := r.May(to, at); err != nil {
			return err
		}
		if to != ussdkey.Refused && s.keys == nil {
			return errNoKeys
		}
		if step.Allowed != nil {
			if err := step.Allowed(ctx, r, s.stand(tx)); err != nil {
				return err
			}
		}
		if err := s.bindKey(ctx, tx, r, to, by, at); err != nil {
			return err
		}
		r.State, r.Decided, r.DecidedBy = to, at, by
		if _, err := tx.ExecContext(ctx, `UPDATE ussd_key_requests SET state = $1, decided_ms = $2, decided_by = $3 WHERE id = $4`,
			string(to), sqldb.MS(at), by, id); err != nil {
			return fmt.Errorf("decide request for a key: %w", err)
		}
		if event := keyEvents[to]; event != "" && s.outbox != nil {
			if err := s.outbox.EmitIn(ctx, tx, r.Person, event, at, keyDecided{r.ID, r.Account, r.Key}); err != nil {
				return err
			}
		}
		return addAct(ctx, tx, ussdpeople.Act{At: at, Actor: by, Act: keyActs[to], Account: r.Account, Detail: r.Key})
	})
	return r, err
}

var (
	errNotLinked = fault.New(fault.Conflict, "The account is not linked with the person any more.").WithCode("not_linked")
	errNoKeys    = fault.New(fault.Unavailable, "This node binds no keys.")
)

// bindKey does what the decision means for the person's key.
func (s *Store) bindKey(ctx context.Context, tx sqldb.Querier, r ussdkey.Request, to ussdkey.State, by string,
	at time.Time,
) error {
	switch to {
	case ussdkey.Refused:
		return nil
	case ussdkey.Undone:
		// Telephones that the key linked in the person's name, or that asked for it, are not theirs.
		if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_links WHERE did = $1 AND (account = $2 OR created_ms >= $3)`,
			r.Person, r.Account, sqldb.MS(r.Decided)); err != nil {
			return fmt.Errorf("end the links of an undone key: %w", err)
		}
		return s.keys.Unbind(ctx, tx, r.Person, r.Key)
	}
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM ussd_links WHERE account = $1 AND did = $2`+s.db.Dialect().ForUpdate(), r.Account, r.Person).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return errNotLinked
	}
	if err != nil {
		return fmt.Errorf("read link: %w", err)
	}
	return s.keys.Bind(ctx, tx, r.Person, r.Key, by, at)
}
