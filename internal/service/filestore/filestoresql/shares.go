package filestoresql

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filereport"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

var shareColumns = scoped.Columns{NS: "s.ns", Path: "s.path", Hidden: "s.hidden", CID: "''"}

const shareFields = `SELECT s.id, s.ns, s.path, s.token_cid, s.twin_cid, s.created_ms, s.expires_ms, s.max_uses, s.uses, s.revoked_ms,
 s.invoker, s.actor, s.proof, COALESCE(d.max_bytes, 0), COALESCE(d.bytes, 0)
 FROM filestore_shares s LEFT JOIN filestore_drops d ON d.share_id = s.id WHERE `

func scanShare(r scanner) (filestore.Share, error) {
	var s filestore.Share
	var created, expires, revoked int64
	err := r.Scan(&s.ID, &s.Namespace, &s.Path, &s.TokenCID, &s.TwinCID, &created, &expires, &s.MaxUses, &s.Uses, &revoked,
		&s.By.Invoker, &s.By.Actor, &s.By.Proof, &s.MaxBytes, &s.Bytes)
	s.Created = sqldb.Time(created)
	if expires != 0 {
		s.Expires = sqldb.Time(expires)
	}
	if revoked != 0 {
		s.Revoked = sqldb.Time(revoked)
	}
	return s, absent(err, "link")
}

// CreateShare implements filestore.Shares.
func (s *Store) CreateShare(ctx context.Context, sh filestore.Share) error {
	expires := int64(0)
	if !sh.Expires.IsZero() {
		expires = sqldb.MS(sh.Expires)
	}
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO filestore_shares
			(id, ns, path, hidden, token_cid, twin_cid, created_ms, expires_ms, max_uses, uses, revoked_ms, invoker, actor, proof)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, $10, $11, $12)`,
			sh.ID, sh.Namespace, sh.Path, flag(vfspath.IsHidden(sh.Path)), sh.TokenCID, sh.TwinCID, sqldb.MS(sh.Created),
			expires, sh.MaxUses,
			sh.By.Invoker, sh.By.Actor, sh.By.Proof)
		if err == nil && sh.MaxBytes > 0 {
			_, err = tx.ExecContext(ctx, `INSERT INTO filestore_drops (share_id, max_bytes, bytes) VALUES ($1, $2, 0)`, sh.ID, sh.MaxBytes)
		}
		if err != nil {
			return err
		}
		return filereport.Share(ctx, tx, s.outbox, sh)
	})
}

// Shares implements filestore.Shares.
func (s *Store) Shares(ctx context.Context, w filestore.Whose, limit, offset int) ([]filestore.Share, error) {
	q := whose(scoped.New(shareFields), w).Add(" ORDER BY s.created_ms DESC, s.id LIMIT ? OFFSET ?", limit, offset)
	return collect(ctx, s.db.Read(), q, scanShare)
}

// whose adds the condition that a link is one of those that are meant.
func whose(q *scoped.Query, w filestore.Whose) *scoped.Query {
	return q.Add("((").Scope(w.Every, shareColumns).Add(") OR (s.invoker = ? AND ", w.Maker).Scope(w.Own, shareColumns).Add("))")
}

// SharesOf implements filestore.Shares.
func (s *Store) SharesOf(ctx context.Context, tokens []string) ([]filestore.Share, error) {
	q := scoped.New(shareFields).Add("(1 = 1")
	q.In("s.token_cid", tokens)
	q.Add(") OR (s.twin_cid <> ''")
	q.In("s.twin_cid", tokens)
	q.Add(")")
	return collect(ctx, s.db.Read(), q, scanShare)
}

// RevokeShare implements filestore.Shares.
func (s *Store) RevokeShare(ctx context.Context, w filestore.Whose, id string, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := one(ctx, tx, whose(scoped.New(shareFields).Add("s.id = ? AND ", id), w), scanShare); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE filestore_shares SET revoked_ms = $1 WHERE id = $2 AND revoked_ms = 0`, sqldb.MS(now), id)
		return err
	})
}

// UseShares implements filestore.Shares.
func (s *Store) UseShares(ctx context.Context, ids []string, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, id := range ids {
			if err := useShare(ctx, tx, id, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func useShare(ctx context.Context, tx sqldb.Querier, id string, now time.Time) error {
	r, err := tx.ExecContext(ctx, `UPDATE filestore_shares SET uses = uses + 1
		WHERE id = $1 AND revoked_ms = 0 AND (expires_ms = 0 OR expires_ms > $2) AND (max_uses = 0 OR uses < max_uses)`, id, sqldb.MS(now))
	return affectedOne(r, err, fault.New(fault.Forbidden, "the link is over").WithCode("link_over"))
}

// useDrop counts what comes by an upload link, unless it is over or would take too much.
func useDrop(ctx context.Context, tx sqldb.Querier, id string, size int64, now time.Time) error {
	if id == "" {
		return nil
	}
	if err := useShare(ctx, tx, id, now); err != nil {
		return err
	}
	r, err := tx.ExecContext(ctx, `UPDATE filestore_drops SET bytes = bytes + $1 WHERE share_id = $2 AND bytes + $1 <= max_bytes`, size, id)
	return affectedOne(r, err, filestore.DropFull())
}
