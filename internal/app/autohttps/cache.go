package autohttps

import (
	"context"
	"crypto/x509"
	"database/sql"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the schema.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "https", FS: files} }

// staleChallenge is when an answer to a challenge serves nobody any more.
const staleChallenge = 24 * time.Hour

// cache is an autocert.Cache in the database. Whoever has the database alone can read
// nothing of it; a name that was exchanged for another does not open.
type cache struct {
	db   *sqldb.DB
	seal sealing.Sealer
	held func() (lease.Lease, bool)
}

var _ autocert.Cache = (*cache)(nil)

// Get implements autocert.Cache.
func (c *cache) Get(ctx context.Context, name string) ([]byte, error) {
	var sealed []byte
	err := c.db.Read().QueryRowContext(ctx, `SELECT body FROM https_cache WHERE name = $1`, name).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, autocert.ErrCacheMiss
	}
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	plain, err := c.seal.Unseal(sealed, name)
	if err != nil {
		// Sealed by a key that is not ours any more: a new certificate is got.
		return nil, autocert.ErrCacheMiss
	}
	return plain, nil
}

// holds returns nil when there is a certificate for a name that is good at a time: the manager
// would order a new one in place of another.
func (c *cache) holds(ctx context.Context, name string, now time.Time) error {
	text, err := c.Get(ctx, name)
	if err != nil {
		return err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue // its key is before it
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err == nil && now.After(leaf.NotBefore) && now.Before(leaf.NotAfter) {
			return nil
		}
		break
	}
	return autocert.ErrCacheMiss
}

// Put implements autocert.Cache. Only the node that holds the lease writes.
func (c *cache) Put(ctx context.Context, name string, plain []byte) error {
	l, ok := c.held()
	if !ok {
		return errNotHeld
	}
	sealed, err := c.seal.Seal(plain, name)
	if err != nil {
		return fmt.Errorf("seal certificate: %w", err)
	}
	return c.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		now, err := c.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO https_cache (name, body, written_ms) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET body = excluded.body, written_ms = excluded.written_ms`, name, sealed, sqldb.MS(now))
		return err
	})
}

// Delete implements autocert.Cache. What a node without the lease leaves, sweep forgets.
func (c *cache) Delete(ctx context.Context, name string) error {
	l, ok := c.held()
	if !ok {
		return errNotHeld
	}
	return c.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM https_cache WHERE name = $1`, name)
		return err
	})
}

// sweep forgets answers to challenges of nodes that died before they did.
func (c *cache) sweep(ctx context.Context, l lease.Lease) error {
	return c.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		now, err := c.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM https_cache WHERE written_ms < $1 AND (name LIKE '%+token' OR name LIKE '%+http-01')`,
			sqldb.MS(now.Add(-staleChallenge)))
		return err
	})
}
