package membershipsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const invitationColumns = `id, hash, note, max_uses, uses, created_ms, expires_ms, revoked_ms`

func scanInvitation(row interface{ Scan(into ...any) error }) (i membership.Invitation, err error) {
	var created, expires, revoked int64
	err = row.Scan(&i.ID, &i.Hash, &i.Note, &i.MaxUses, &i.Uses, &created, &expires, &revoked)
	i.Created, i.Expires = sqldb.Time(created), sqldb.Time(expires)
	if revoked > 0 {
		i.Revoked = sqldb.Time(revoked)
	}
	return i, err
}

// AddInvitation implements membership.Store.
func (s *Store) AddInvitation(ctx context.Context, i membership.Invitation) error {
	_, err := s.db.WriteOne(ctx, `INSERT INTO membership_invitations (`+invitationColumns+`) VALUES ($1, $2, $3, $4, 0, $5, $6, 0)`,
		i.ID, i.Hash, i.Note, i.MaxUses, sqldb.MS(i.Created), sqldb.MS(i.Expires))
	if err != nil {
		return fmt.Errorf("insert invitation: %w", err)
	}
	return nil
}

// Invitations implements membership.Store.
func (s *Store) Invitations(ctx context.Context, before time.Time, limit int) ([]membership.Invitation, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+invitationColumns+` FROM membership_invitations
		WHERE created_ms < $1 ORDER BY created_ms DESC, id LIMIT $2`, sqldb.MS(before), limit)
	return collect(rows, err, func(rows *sql.Rows) (membership.Invitation, error) { return scanInvitation(rows) })
}

// RevokeInvitation implements membership.Store.
func (s *Store) RevokeInvitation(ctx context.Context, id string, at time.Time) (bool, error) {
	n, err := s.db.WriteOne(ctx, `UPDATE membership_invitations SET revoked_ms = $1
		WHERE id = $2 AND revoked_ms = 0 AND expires_ms > $1`, sqldb.MS(at), id)
	if err != nil {
		return false, fmt.Errorf("revoke invitation: %w", err)
	}
	return n > 0, nil
}

// Redeem implements membership.Store. The member's row says by which invitation
// they came, so that an answer that got lost can be asked for again.
func (s *Store) Redeem(ctx context.Context, r membership.Redemption) (member membership.Member, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		member, err = redeem(ctx, tx, r)
		return err
	})
	if err != nil {
		return membership.Member{}, err
	}
	return member, nil
}

func redeem(ctx context.Context, tx sqldb.Querier, r membership.Redemption) (membership.Member, error) {
	i, err := scanInvitation(tx.QueryRowContext(ctx, `SELECT `+invitationColumns+` FROM membership_invitations WHERE hash = $1`, r.Hash))
	if errors.Is(err, sql.ErrNoRows) {
		return membership.Member{}, membership.ErrNoInvitation
	}
	if err != nil {
		return membership.Member{}, fmt.Errorf("look for invitation: %w", err)
	}
	var removed int64
	m, err := scanMember(scanWith{tx.QueryRowContext(ctx, `SELECT `+memberColumns+`, removed_ms FROM membership_members WHERE did = $1`, r.DID), &removed})
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return membership.Member{}, fmt.Errorf("look for member: %w", err)
	case removed == 0:
		return m, nil
	case removed >= sqldb.MS(i.Created):
		return membership.Member{}, membership.ErrRemoved
	}
	if why := i.Over(r.At); why != "" {
		return membership.Member{}, membership.ErrOver(why)
	}
	// The condition stands in the statement too, whatever others do meanwhile.
	result, err := tx.ExecContext(ctx, `UPDATE membership_invitations SET uses = uses + 1
		WHERE id = $1 AND uses < max_uses AND revoked_ms = 0 AND expires_ms > $2`, i.ID, sqldb.MS(r.At))
	if err != nil {
		return membership.Member{}, fmt.Errorf("count use: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return membership.Member{}, errors.Join(membership.ErrOver("has been used up"), err)
	}
	m = membership.Member{DID: r.DID, Note: i.Note, Invite: i.ID, Added: sqldb.Time(sqldb.MS(r.At))}
	_, err = addMember(ctx, tx, m)
	return m, err
}

// scanWith scans one column more than the scanner knows of.
type scanWith struct {
	row  *sql.Row
	last any
}

// Scan reads the row.
func (s scanWith) Scan(into ...any) error { return s.row.Scan(append(into, s.last)...) }
