package filestoresql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/marks"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

// change runs fn in one transaction, with the promise of the idempotency key
// around it.
func (s *Store) change(ctx context.Context, c filestore.Change,
	fn func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error),
) (filestore.Receipt, error) {
	var out filestore.Receipt
	ns := c.Scope.Namespace
	err := s.joined.Write(ctx, feedName(ns), func(ctx context.Context, tx sqldb.Querier) error {
		r, found, err := replay(ctx, tx, ns, c.Once)
		if found || err != nil {
			out = r
			return err
		}
		if err := s.heedLocks(ctx, tx, c); err != nil {
			return err
		}
		if out, err = fn(ctx, tx); err != nil {
			return err
		}
		if c.Count != 0 {
			out.Count = c.Count
		}
		return remember(ctx, tx, ns, c, out)
	})
	if over, ok := errors.AsType[quotaError](err); ok {
		return filestore.Receipt{}, filestore.OverQuota(int64(over))
	}
	if over, ok := errors.AsType[versionsError](err); ok {
		return filestore.Receipt{}, tooManyVersions(int64(over))
	}
	if sqldb.IsUnique(err) {
		return filestore.Receipt{}, fault.Wrap(fault.Conflict, "a file already exists at this path", err)
	}
	if err != nil {
		return filestore.Receipt{}, err
	}
	return out, nil
}

// Replay implements filestore.Changer.
func (s *Store) Replay(ctx context.Context, ns string, once filestore.Once) (filestore.Receipt, bool, error) {
	return replay(ctx, s.db.Read(), ns, once)
}

func replay(ctx context.Context, tx sqldb.Querier, ns string, once filestore.Once) (filestore.Receipt, bool, error) {
	if once.Key == "" {
		return filestore.Receipt{}, false, nil
	}
	var fingerprint string
	var text []byte
	err := absent(tx.QueryRowContext(ctx, `SELECT fingerprint, receipt FROM filestore_once WHERE ns = $1 AND key = $2`, ns, once.Key).
		Scan(&fingerprint, &text), "receipt")
	if fault.Is(err, fault.NotFound) {
		return filestore.Receipt{}, false, nil
	}
	if err != nil {
		return filestore.Receipt{}, false, err
	}
	var s saved
	if err := json.Unmarshal(text, &s); err != nil {
		return filestore.Receipt{}, false, fmt.Errorf("read receipt: %w", err)
	}
	if fingerprint != once.Fingerprint || s.Body != "" && once.Body != "" && s.Body != once.Body {
		return filestore.Receipt{}, false, filestore.KeyReused()
	}
	s.Replayed = true
	return s.Receipt, true, nil
}

// saved is a receipt as it is kept: with what the body was, which receipts of
// earlier releases do not tell.
type saved struct {
	filestore.Receipt
	Body string `json:",omitempty"`
}

func remember(ctx context.Context, tx sqldb.Querier, ns string, c filestore.Change, r filestore.Receipt) error {
	if c.Once.Key == "" {
		return nil
	}
	text, err := json.Marshal(saved{r, c.Once.Body})
	if err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO filestore_once (ns, key, fingerprint, receipt, at_ms) VALUES ($1, $2, $3, $4, $5)`,
		ns, c.Once.Key, c.Once.Fingerprint, text, sqldb.MS(c.Now))
	return err
}

// quotaError carries a quota out of a transaction. It is no fault of the kind that
// the caller gets: the writer would take that one for a full disk.
type quotaError int64

func (q quotaError) Error() string { return fmt.Sprintf("more than %d bytes", int64(q)) }

// versionsError is the same, of more versions than the quota lets there be.
type versionsError int64

func (q versionsError) Error() string { return fmt.Sprintf("too many versions for %d bytes", int64(q)) }

// What has no bytes takes room in the database all the same: a namespace with a quota may hold a
// version for every KiB of it, and some beside.
const (
	versionsBeside = 1000
	bytesEach      = 1 << 10
)

// QuotaOfVersions is how many versions of files a namespace may hold, with the trash.
func QuotaOfVersions(quota int64) int64 { return versionsBeside + quota/bytesEach }

// tooManyVersions says that a namespace would hold more of them.
func tooManyVersions(quota int64) error {
	return fault.Newf(fault.StorageFull, "the namespace may hold %d files and old versions, with the trash: purge something first", QuotaOfVersions(quota)).
		WithCode("quota_exceeded")
}

// lockFile reads a file that is about to change.
func (s *Store) lockFile(ctx context.Context, tx sqldb.Querier, q *scoped.Query) (filestore.File, bool, error) {
	f, err := one(ctx, tx, q.Add(s.db.Dialect().ForUpdate()), scanFile)
	if fault.Is(err, fault.NotFound) {
		return filestore.File{}, false, nil
	}
	return f, err == nil, err
}

// Commit implements filestore.Changer.
func (s *Store) Commit(ctx context.Context, c filestore.Commit) (filestore.Receipt, error) {
	return s.change(ctx, c.Change, func(ctx context.Context, tx sqldb.Querier) (filestore.Receipt, error) {
		if err := useDrop(ctx, tx, c.Drop, c.Content.Size, c.Now); err != nil {
			return filestore.Receipt{}, err
		}
		q := byID(c.Scope, c.FileID, false)
		if c.FileID == "" {
			q = scoped.New(fileFields).Add("f.ns = ? AND f.path = ? AND f.trashed_ms = 0", c.Scope.Namespace, c.Path)
		}
		f, exists, err := s.lockFile(ctx, tx, q)
		if err != nil {
			return filestore.Receipt{}, err
		}
		if !exists && c.FileID != "" {
			return filestore.Receipt{}, fault.New(fault.NotFound, "no such file")
		}
		if err := c.Mode.Check(f, exists, c.If); err != nil {
			return filestore.Receipt{}, err
		}
		if !exists {
			if err := nameIsFree(ctx, tx, c.Scope.Namespace, c.Path, ""); err != nil {
				return filestore.Receipt{}, err
			}
		}
		if err := showBlob(ctx, tx, c); err != nil {
			return filestore.Receipt{}, err
		}
		return s.showVersion(ctx, tx, c, f, exists)
	})
}

// showVersion makes the content the file's newest version.
func (s *Store) showVersion(ctx context.Context, tx sqldb.Querier, c filestore.Commit, f filestore.File,
	exists bool,
) (filestore.Receipt, error) {
	d := delta{bytes: c.Content.Size - f.Size, versions: 1, versionBytes: c.Content.Size}
	e := filestore.Event{At: c.Now, Op: c.Op, Before: f.CID, By: c.By}
	if !exists {
		f = filestore.File{
			ID: c.NewID, Namespace: c.Scope.Namespace, Path: c.Path, Name: vfspath.BaseName(c.Path),
			Hidden: vfspath.IsHidden(c.Path), Created: c.Now,
		}
		d.bytes, d.files = c.Content.Size, 1
		e.Op = filestore.OpCreate
	}
	mime := f.MimeType
	f.Content, f.Updated = c.Content, c.Now
	f.Version++
	if f.MimeType == "" {
		f.MimeType = mime
	}
	if f.MimeType == "" {
		f.MimeType = filestore.MediaTypeOf(f.Name)
	}
	if err := writeFile(ctx, tx, f, exists); err != nil {
		return filestore.Receipt{}, err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO filestore_versions (file_id, version, blob_id, cid, hash, size, mime, created_ms, invoker, actor)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		f.ID, f.Version, f.Blob, f.CID, f.Hash, f.Size, f.MimeType, sqldb.MS(c.Now), c.By.Invoker, c.By.Actor)
	if err != nil {
		return filestore.Receipt{}, fmt.Errorf("insert version: %w", err)
	}
	if exists {
		if err := s.prune(ctx, tx, c, f, &d); err != nil {
			return filestore.Receipt{}, err
		}
	}
	if c.Mark != nil {
		if err := marks.Put(ctx, tx, f, *c.Mark); err != nil {
			return filestore.Receipt{}, err
		}
	}
	if err := d.apply(ctx, tx, f.Namespace, c.Quota); err != nil {
		return filestore.Receipt{}, err
	}
	e.FileID, e.Path, e.Version, e.CID, e.Size, e.MimeType = f.ID, f.Path, f.Version, f.CID, f.Size, f.MimeType
	seq, err := s.record(ctx, tx, f.Namespace, e)
	return filestore.Receipt{File: f, Created: !exists, Seq: seq}, err
}

func writeFile(ctx context.Context, tx sqldb.Querier, f filestore.File, exists bool) error {
	if exists {
		_, err := tx.ExecContext(ctx, `UPDATE filestore_files SET version = $1, blob_id = $2, cid = $3, hash = $4, size = $5, mime = $6, updated_ms = $7 WHERE id = $8`,
			f.Version, f.Blob, f.CID, f.Hash, f.Size, f.MimeType, sqldb.MS(f.Updated), f.ID)
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO filestore_files
		(id, ns, path, hidden, version, blob_id, cid, hash, size, mime, public_id, created_ms, updated_ms, trashed_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', $11, $12, 0)`,
		f.ID, f.Namespace, f.Path, flag(f.Hidden), f.Version, f.Blob, f.CID, f.Hash, f.Size, f.MimeType,
		sqldb.MS(f.Created), sqldb.MS(f.Updated))
	return err
}

// prune drops versions beyond the retention and shreds what only they used.
func (s *Store) prune(ctx context.Context, tx sqldb.Querier, c filestore.Commit, f filestore.File, d *delta) error {
	keep := c.Keep
	if keep <= 0 {
		if err := tx.QueryRowContext(ctx, `SELECT keep_versions FROM filestore_namespaces WHERE ns = $1`, f.Namespace).Scan(&keep); err != nil {
			return absent(err, "namespace")
		}
	}
	if f.Version <= keep {
		return nil
	}
	return dropVersions(ctx, tx, f.ID, f.Version-keep, c.Change, d)
}

// dropVersions removes the versions of a file up to a number.
func dropVersions(ctx context.Context, tx sqldb.Querier, fileID string, upTo int64, c filestore.Change,
	d *delta,
) error {
	old, err := collect(ctx, tx, scoped.New(versionFields+" WHERE ").Add("v.file_id = ? AND v.version <= ?", fileID, upTo), scanVersion)
	if err != nil || len(old) == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM filestore_versions WHERE file_id = $1 AND version <= $2`, fileID, upTo); err != nil {
		return fmt.Errorf("drop versions: %w", err)
	}
	for _, v := range old {
		d.versions--
		d.versionBytes -= v.Size
		if err := shred(ctx, tx, v.Blob, c); err != nil {
			return err
		}
	}
	return nil
}
