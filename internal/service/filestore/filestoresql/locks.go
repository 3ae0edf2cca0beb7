package filestoresql

import (
	"context"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

const lockFields = `SELECT l.ns, l.path, l.token, l.deep, l.shared, l.owner_xml, l.holder, l.timeout_ms, l.expires_ms FROM filestore_locks l WHERE `

func scanLock(r scanner) (davstate.Lock, error) {
	var l davstate.Lock
	var deep, shared, timeout, expires int64
	err := r.Scan(&l.Namespace, &l.Path, &l.Token, &deep, &shared, &l.OwnerXML, &l.Holder, &timeout, &expires)
	l.Deep, l.Shared = deep != 0, shared != 0
	l.Timeout, l.Expires = time.Duration(timeout)*time.Millisecond, sqldb.Time(expires)
	return l, absent(err, "lock")
}

// locksOn selects locks that hold for places and, where that is set, those on what is
// below them.
func locksOn(ns string, now time.Time, places ...filestore.LockPlace) *scoped.Query {
	q := scoped.New(lockFields).Add("l.ns = ? AND l.expires_ms > ? AND (", ns, sqldb.MS(now))
	for i, p := range places {
		if i > 0 {
			q.Add(" OR ")
		}
		q.Add("l.path = ?", p.Path)
		if p.Path != "/" {
			q.Add(" OR (l.deep = 1")
			q.In("l.path", append(above(p.Path), "/"))
			q.Add(")")
		}
		if p.Below {
			q.Add(" OR ").Under("l.path", vfspath.Below(p.Path))
		}
	}
	return q.Add(") ORDER BY l.path, l.token LIMIT ?", davstate.MaxLocks)
}

// Locks implements davstate.Store.
func (s *Store) Locks(ctx context.Context, ns, path string, below bool, now time.Time) ([]davstate.Lock, error) {
	return collect(ctx, s.db.Read(), locksOn(ns, now, filestore.LockPlace{Path: path, Below: below}), scanLock)
}

// heedLocks fails when a lock is in the way of a change.
func (s *Store) heedLocks(ctx context.Context, tx sqldb.Querier, c filestore.Change) error {
	places := c.Scope.Claims.Places
	if len(places) == 0 {
		return nil
	}
	if s.db.Dialect() == sqldb.SQLite { // most namespaces have no lock: there that is seen for less
		var some bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM filestore_locks WHERE ns = $1)`, c.Scope.Namespace).Scan(&some)
		if err != nil || !some {
			return err
		}
	}
	free, err := lockFree(ctx, tx, c, places)
	if err != nil || free {
		return err
	}
	// There are locks: now it matters which places count.
	var count []filestore.LockPlace
	for _, p := range places {
		var there bool
		if p.Unless != "" {
			err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM filestore_files WHERE ns = $1 AND path = $2 AND trashed_ms = 0)`,
				c.Scope.Namespace, p.Unless).Scan(&there)
			if err != nil {
				return fmt.Errorf("look for the file: %w", err)
			}
		}
		if !there {
			count = append(count, p)
		}
	}
	if len(count) < len(places) {
		free, err = lockFree(ctx, tx, c, count)
	}
	if err != nil || free {
		return err
	}
	return fault.New(fault.Conflict, "somebody has locked this").WithCode(filestore.CodeLockInTheWay)
}

// lockFree reports whether places are free of the locks of others.
func lockFree(ctx context.Context, tx sqldb.Querier, c filestore.Change, places []filestore.LockPlace) (bool, error) {
	if len(places) == 0 {
		return true, nil
	}
	locks, err := collect(ctx, tx, locksOn(c.Scope.Namespace, c.Now, places...), scanLock)
	return err == nil && davstate.Free(locks, c.By.Invoker, c.Scope.Claims.Tokens), err
}

// AddLock implements davstate.Store.
func (s *Store) AddLock(ctx context.Context, l davstate.Lock, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM filestore_locks WHERE ns = $1 AND expires_ms <= $2`, l.Namespace, sqldb.MS(now)); err != nil {
			return fmt.Errorf("forget locks: %w", err)
		}
		others, err := collect(ctx, tx, locksOn(l.Namespace, now, filestore.LockPlace{Path: l.Path, Below: l.Deep}), scanLock)
		if err != nil {
			return err
		}
		for _, o := range others {
			if !o.Shared || !l.Shared {
				return davstate.ErrLocked
			}
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM filestore_locks WHERE ns = $1`, l.Namespace).Scan(&n); err != nil {
			return fmt.Errorf("count locks: %w", err)
		}
		if n >= davstate.MaxLocks {
			return fault.Newf(fault.Conflict, "a namespace has at most %d locks", davstate.MaxLocks).WithCode("too_many_locks")
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO filestore_locks (ns, path, token, deep, shared, owner_xml, holder, timeout_ms, expires_ms)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			l.Namespace, l.Path, l.Token, flag(l.Deep), flag(l.Shared), l.OwnerXML, l.Holder,
			l.Timeout.Milliseconds(), sqldb.MS(l.Expires))
		if err != nil {
			return fmt.Errorf("add lock: %w", err)
		}
		return nil
	})
}

// RenewLock implements davstate.Store.
func (s *Store) RenewLock(ctx context.Context, l davstate.Lock) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		r, err := tx.ExecContext(ctx, `UPDATE filestore_locks SET timeout_ms = $1, expires_ms = $2 WHERE ns = $3 AND path = $4 AND token = $5`,
			l.Timeout.Milliseconds(), sqldb.MS(l.Expires), l.Namespace, l.Path, l.Token)
		return affectedOne(r, err, fault.New(fault.NotFound, "no such lock"))
	})
}

// RemoveLock implements davstate.Store.
func (s *Store) RemoveLock(ctx context.Context, l davstate.Lock) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM filestore_locks WHERE ns = $1 AND path = $2 AND token = $3`, l.Namespace, l.Path, l.Token)
		return err
	})
}

// RemoveLocks implements davstate.Store.
func (s *Store) RemoveLocks(ctx context.Context, ns, path string) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		q := scoped.New("DELETE FROM filestore_locks WHERE ").Add("ns = ? AND ", ns).Under("path", vfspath.Root(path))
		_, err := tx.ExecContext(ctx, q.Text(), q.Args...)
		return err
	})
}
