package coldstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Thaw brings a session back for somebody who uses it, if it is cold. It stays for as long
// as one that was used now.
func (s *Store) Thaw(ctx context.Context, session string) error {
	return s.bringBack(ctx, session, true)
}

// ThawRun is Thaw for the session of a run of an owner, if that is cold.
func (s *Store) ThawRun(ctx context.Context, owner, run string) error {
	var session string
	err := s.DB.Read().QueryRowContext(ctx, `SELECT s.id FROM oracle_cold_runs r JOIN oracle_sessions s ON s.id = r.session_id
		WHERE r.id = $1 AND ($2 = '' OR s.owner = $2)`, run, owner).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the session of a run: %w", err)
	}
	return s.Thaw(ctx, session)
}

// bringBack puts a session that is archived back into the database.
func (s *Store) bringBack(ctx context.Context, session string, used bool) error {
	o, ok, err := s.find(ctx, session)
	if err != nil || !ok {
		return err
	}
	tables, err := s.open(ctx, o)
	if err != nil {
		if now, ok, findErr := s.find(ctx, session); findErr == nil && (!ok || now.id != o.id) {
			return nil // somebody else has brought it back, or deleted it
		}
		if errors.Is(err, oracle.ErrLost) { // to come again later does not help
			return fmt.Errorf("bring back conversation %s: %w", session, err)
		}
		return away(session, fmt.Errorf("bring it back: %w", err))
	}
	return s.restore(ctx, o, tables, used)
}

const objectColumns = `id, session_id, wrapped_key, size, sealed, bytes, digest, oldest_run_ms`

func scanObject(row interface{ Scan(dest ...any) error }) (o object, err error) {
	err = row.Scan(&o.id, &o.session, &o.wrapped, &o.size, &o.sealed, &o.bytes, &o.digest, &o.oldestRun)
	return o, err
}

// find returns the object that is a session.
func (s *Store) find(ctx context.Context, session string) (o object, ok bool, err error) {
	o, err = scanObject(s.DB.Read().QueryRowContext(ctx, `SELECT `+objectColumns+` FROM oracle_cold WHERE session_id = $1 AND dead_ms = 0`, session))
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	if err != nil {
		return o, false, fmt.Errorf("find archived conversation: %w", err)
	}
	return o, true, nil
}

// fetch reads an object, and compares it with what was stored.
func (s *Store) fetch(ctx context.Context, o object) (_ []byte, err error) {
	if o.sealed > maxSealed {
		return nil, fmt.Errorf("%w: the object %s has %d bytes, more than any", oracle.ErrLost, name(o.id), o.sealed)
	}
	body, err := s.Blobs.Get(ctx, name(o.id), 0, -1)
	if errors.Is(err, blob.ErrNotFound) {
		err = s.absent(ctx, err)
	}
	if err != nil {
		return nil, fmt.Errorf("get the object %s: %w", name(o.id), err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	sealed, err := io.ReadAll(io.LimitReader(body, o.sealed+1))
	if err != nil {
		return nil, fmt.Errorf("read the object %s: %w", name(o.id), err)
	}
	if sum := sha256.Sum256(sealed); hex.EncodeToString(sum[:]) != o.digest {
		return nil, fmt.Errorf("%w: the object %s is not what was stored", oracle.ErrLost, name(o.id))
	}
	return sealed, nil
}

// absent judges that the store has no such object. It is lost where the store has others:
// a folder that is not mounted and a proxy in front of nothing have none of them, and what
// is taken for lost may be erased.
func (s *Store) absent(ctx context.Context, err error) error {
	if placeErr := s.rightPlace(ctx); placeErr != nil {
		return errors.Join(err, placeErr)
	}
	return errors.Join(oracle.ErrLost, err)
}

// rightPlace fails where the store has nothing of an archive that should have much. Nothing
// is taken for lost there, and nothing is moved there: what the archive really holds would
// count as lost from then on.
func (s *Store) rightPlace(ctx context.Context) error {
	for _, err := range s.Blobs.List(ctx, Prefix) {
		if err != nil {
			return fmt.Errorf("list the archive: %w", err)
		}
		return nil
	}
	t, err := s.Totals(ctx)
	if err != nil || t.Conversations > 1 {
		return errors.Join(errors.New("the archive is empty and should not be: is it the right folder or bucket"), err)
	}
	return nil
}

// open reads what an object holds.
func (s *Store) open(ctx context.Context, o object) ([]table, error) {
	vault, err := s.vault(ctx)
	if err != nil {
		return nil, err
	}
	sealed, err := s.fetch(ctx, o)
	if err != nil {
		return nil, err
	}
	packed, err := vault.OpenBytes(kind, o.session, o.id, o.wrapped, sealed, o.size)
	if err != nil {
		return nil, fmt.Errorf("%w: open the object %s: %w", oracle.ErrLost, name(o.id), err)
	}
	plain, err := s.unpack.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: unpack the object %s: %w", oracle.ErrLost, name(o.id), err)
	}
	tables, err := decode(plain)
	if err != nil {
		return nil, fmt.Errorf("%w: the object %s: %w", errUnreadable, name(o.id), err)
	}
	return tables, nil
}

// restore makes rows the conversation again, unless somebody else has.
func (s *Store) restore(ctx context.Context, o object, tables []table, used bool) error {
	err := s.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := s.DB.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		if err := changeOne(ctx, tx, `UPDATE oracle_cold SET dead_ms = $1, wrapped_key = $2 WHERE id = $3 AND dead_ms = 0`, sqldb.MS(now), []byte{}, o.id); err != nil {
			return err
		}
		var at int64
		if used {
			at = sqldb.MS(now)
		}
		var owner string
		if err := tx.QueryRowContext(ctx, `UPDATE oracle_sessions SET cold = 0, thawed_ms = CASE WHEN thawed_ms >= $1 THEN thawed_ms + 1 ELSE $1 END
			WHERE id = $2 AND cold = 1 RETURNING owner`, at, o.session).Scan(&owner); err != nil {
			return fmt.Errorf("bring back session: %w", err)
		}
		for _, t := range tables {
			if err := t.insert(ctx, tx, owner); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM oracle_cold_runs WHERE session_id = $1`, o.session); err != nil {
			return fmt.Errorf("forget archived runs: %w", err)
		}
		return count(ctx, tx, -1, -o.bytes, -o.sealed)
	})
	if errors.Is(err, errTouched) {
		return nil
	}
	return err
}
