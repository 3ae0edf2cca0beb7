package ussdsql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcode"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// Codes implements ussd.Store.
func (s *Store) Codes(ctx context.Context, account, purpose string, now time.Time) (_ []ussdcode.Code, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT issuer, mac, created_ms, expires_ms FROM ussd_codes
		WHERE account = $1 AND purpose = $2 AND expires_ms > $3 ORDER BY issuer`, account, purpose, sqldb.MS(now))
	if err != nil {
		return nil, fmt.Errorf("read codes: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []ussdcode.Code
	for rows.Next() {
		c := ussdcode.Code{Account: account, Purpose: purpose}
		var created, expires int64
		if err := rows.Scan(&c.Issuer, &c.MAC, &created, &expires); err != nil {
			return nil, fmt.Errorf("read codes: %w", err)
		}
		c.Created, c.Expires = sqldb.Time(created), sqldb.Time(expires)
		out = append(out, c)
	}
	return out, wrap("read codes", rows.Err())
}

// useCode takes a code away; one that is gone or over is ErrStale.
func useCode(ctx context.Context, tx sqldb.Querier, p ussdcode.Proof, now time.Time) error {
	res, err := tx.ExecContext(ctx, `DELETE FROM ussd_codes WHERE account = $1 AND purpose = $2 AND issuer = $3 AND mac = $4 AND expires_ms > $5`,
		p.Account, p.Purpose, p.Issuer, p.MAC, sqldb.MS(now))
	return changedOne(res, err, ussd.ErrStale)
}

func resetPIN(ctx context.Context, tx sqldb.Querier, e ussd.ResetPIN, now time.Time) error {
	account := e.Proof.Account
	if err := useCode(ctx, tx, e.Proof, now); err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `UPDATE ussd_accounts SET pin = $1, updated_ms = $2 WHERE id = $3`, e.Sealed, sqldb.MS(now), account)
	if err := changedOne(res, err, ussd.ErrNoAccount); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_attempts WHERE subject = $1 AND origin = $2`, account, ussdpin.OriginOwn); err != nil {
		return fmt.Errorf("forget wrong PINs: %w", err)
	}
	if err := endSessions(ctx, tx, account, e.Except, now); err != nil {
		return err
	}
	if e.Proof.Issuer == ussdcode.IssuerOperator {
		// What an operator opened is not the person's any more, until that person says so.
		if err := unlinkAccount(ctx, tx, ussd.UnlinkAccount{Account: account}, now); err != nil {
			return err
		}
	}
	return addAct(ctx, tx, ussdpeople.Act{
		At: now, Actor: ussdpeople.ActorCaller, Act: ussdpeople.ActPINReset,
		Account: account, Detail: "code of " + e.Proof.Issuer,
	})
}

// addAct notes who did what to an account, together with the deed.
func addAct(ctx context.Context, tx sqldb.Querier, a ussdpeople.Act) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO ussd_acts (id, at_ms, actor, act, account, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
		rand.Text(), sqldb.MS(a.At), a.Actor, a.Act, a.Account, a.Detail)
	return wrap("note act", err)
}

func linkAccount(ctx context.Context, tx sqldb.Querier, e ussd.LinkAccount, now time.Time) error {
	account, did := e.Proof.Account, e.Proof.Issuer
	if err := useCode(ctx, tx, e.Proof, now); err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO ussd_links (account, did, created_ms) SELECT id, $1, $2 FROM ussd_accounts WHERE id = $3
		ON CONFLICT (account) DO UPDATE SET did = excluded.did, created_ms = excluded.created_ms`, did, sqldb.MS(now), account)
	if err := changedOne(res, err, ussd.ErrNoAccount); err != nil {
		return err
	}
	// A request for a new key was for the person before.
	if err := cancelKeyRequest(ctx, tx, account, ussdpeople.ActorCaller, now); err != nil {
		return err
	}
	// The person before, if there was one, makes no codes for it any more.
	if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_codes WHERE account = $1 AND purpose = $2 AND issuer NOT IN ($3, $4)`,
		account, ussdpin.PurposeReset, ussdcode.IssuerOperator, did); err != nil {
		return fmt.Errorf("forget codes: %w", err)
	}
	return addAct(ctx, tx, ussdpeople.Act{
		At: now, Actor: ussdpeople.ActorCaller, Act: ussdpeople.ActLink, Account: account, Detail: did,
	})
}

// unlinkAccount ends an account's link, with the codes that it let its person make. To
// have none is fine.
func unlinkAccount(ctx context.Context, tx sqldb.Querier, e ussd.UnlinkAccount, now time.Time) error {
	var did string
	err := tx.QueryRowContext(ctx, `DELETE FROM ussd_links WHERE account = $1 RETURNING did`, e.Account).Scan(&did)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("unlink: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_codes WHERE account = $1 AND issuer = $2`, e.Account, did); err != nil {
		return fmt.Errorf("forget codes: %w", err)
	}
	if err := cancelKeyRequest(ctx, tx, e.Account, ussdpeople.ActorCaller, now); err != nil {
		return err
	}
	return addAct(ctx, tx, ussdpeople.Act{
		At: now, Actor: ussdpeople.ActorCaller, Act: ussdpeople.ActUnlink, Account: e.Account, Detail: did,
	})
}
