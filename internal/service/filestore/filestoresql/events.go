package filestoresql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filereport"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/bulk"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

func feedName(ns string) string { return "filestore/" + ns }

// record stores an event with the namespace's next number, and reports it.
func (s *Store) record(ctx context.Context, tx sqldb.Querier, ns string, e filestore.Event) (int64, error) {
	return s.recordAll(ctx, tx, ns, []filestore.Event{e})
}

// recordAll stores events with the namespace's next numbers, reports them, and
// returns the last number.
func (s *Store) recordAll(ctx context.Context, tx sqldb.Querier, ns string, events []filestore.Event) (int64, error) {
	if len(events) == 0 {
		return 0, nil
	}
	last, err := sqldb.NextFeedN(ctx, tx, feedName(ns), int64(len(events)))
	if err != nil {
		return 0, err
	}
	err = bulk.Insert(ctx, tx, `filestore_events
		(ns, seq, at_ms, op, file_id, path, hidden, from_path, from_hidden, version, cid, before_cid, size, mime, invoker, actor, proof)`,
		len(events), func(i int) []any {
			e := events[i]
			return []any{
				ns, last - int64(len(events)-1-i), sqldb.MS(e.At), string(e.Op), e.FileID, e.Path, flag(vfspath.IsHidden(e.Path)),
				e.From, flag(vfspath.IsHidden(e.From)),
				e.Version, e.CID, e.Before, e.Size, e.MimeType, e.By.Invoker, e.By.Actor, e.By.Proof,
			}
		})
	if err != nil {
		return 0, fmt.Errorf("record events: %w", err)
	}
	if err := tellIndexer(ctx, tx, ns, last); err != nil {
		return 0, fmt.Errorf("tell the indexer: %w", err)
	}
	for _, e := range events {
		if err := filereport.Change(ctx, tx, s.outbox, ns, e); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// FirstEvent implements filestore.Records. The newest event of a namespace is never erased.
func (s *Store) FirstEvent(ctx context.Context, ns string) (first int64, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT COALESCE(MIN(seq), 0) FROM filestore_events WHERE ns = $1`, ns).Scan(&first)
	return first, err
}

// Events implements filestore.Records. A move that leaves or enters the scope
// tells only the path inside.
func (s *Store) Events(ctx context.Context, scope filestore.Scope, after int64,
	limit int,
) ([]filestore.Event, int64, error) {
	var events []filestore.Event
	var newest int64
	err := s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		err := tx.QueryRowContext(ctx, `SELECT last FROM platform_feeds WHERE name = $1`, feedName(scope.Namespace)).Scan(&newest)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		q := scoped.New(`SELECT e.seq, e.at_ms, e.op, e.file_id, e.path, e.from_path, e.version, e.cid, e.before_cid, e.size, e.mime,
			e.invoker, e.actor, e.proof FROM filestore_events e WHERE `).
			Add("e.ns = ? AND e.seq > ? AND ((", scope.Namespace, after).
			Scope(scope, scoped.Columns{NS: "e.ns", Path: "e.path", Hidden: "e.hidden", CID: "e.cid"}).
			Add(") OR (e.from_path <> '' AND ").
			Scope(scope, scoped.Columns{NS: "e.ns", Path: "e.from_path", Hidden: "e.from_hidden", CID: "e.cid"}).
			Add(")) ORDER BY e.seq LIMIT ?", limit)
		events, err = collect(ctx, tx, q, scanEvent)
		return err
	})
	for i := range events {
		if e := &events[i]; e.From != "" {
			if !scope.Allows(e.Path) {
				e.Path, e.FileID, e.CID = "", "", ""
			}
			if !scope.Allows(e.From) {
				e.From = ""
			}
		}
	}
	return events, newest, err
}

func scanEvent(r scanner) (filestore.Event, error) {
	var e filestore.Event
	var at int64
	var op string
	err := r.Scan(&e.Seq, &at, &op, &e.FileID, &e.Path, &e.From, &e.Version, &e.CID, &e.Before, &e.Size, &e.MimeType,
		&e.By.Invoker, &e.By.Actor, &e.By.Proof)
	e.At, e.Op = sqldb.Time(at), filestore.Op(op)
	return e, err
}

// delta is how a change moves the namespace's counters.
type delta struct{ files, bytes, trashFiles, trashBytes, versions, versionBytes int64 }

const countUsage = `INSERT INTO filestore_usage (ns, files, bytes, trash_files, trash_bytes, versions, version_bytes)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (ns) DO UPDATE SET files = filestore_usage.files + excluded.files,
		bytes = filestore_usage.bytes + excluded.bytes, trash_files = filestore_usage.trash_files + excluded.trash_files,
		trash_bytes = filestore_usage.trash_bytes + excluded.trash_bytes, versions = filestore_usage.versions + excluded.versions,
		version_bytes = filestore_usage.version_bytes + excluded.version_bytes`

// apply moves the counters. Beyond the quota, unless it is 0, it fails; without one it does not ask for the sum.
func (d delta) apply(ctx context.Context, tx sqldb.Querier, ns string, quota int64) error {
	if d == (delta{}) && quota <= 0 {
		return nil
	}
	sum := []int64{d.files, d.bytes, d.trashFiles, d.trashBytes, d.versions, d.versionBytes}
	if quota <= 0 {
		return sqldb.Gather(ctx, tx, sqldb.Gathered{
			Table: "filestore_usage", Row: ns, Sum: sum,
			Join: func(sum, more []int64) {
				for i := range sum {
					sum[i] += more[i]
				}
			},
			Write: func(ctx context.Context, tx sqldb.Querier, sum []int64) error {
				_, err := tx.ExecContext(ctx, countUsage, usageArgs(ns, sum)...)
				return err
			},
		})
	}
	var bytes, versions int64
	err := tx.QueryRowContext(ctx, countUsage+` RETURNING version_bytes, versions`, usageArgs(ns, sum)...).Scan(&bytes, &versions)
	switch {
	case err == nil && bytes > quota:
		return quotaError(quota)
	case err == nil && d.versions > 0 && versions > QuotaOfVersions(quota):
		return versionsError(quota)
	}
	return err
}

func usageArgs(ns string, sum []int64) []any {
	args := []any{ns}
	for _, n := range sum {
		args = append(args, n)
	}
	return args
}

// HasFiles reports whether a namespace has files, in the trash too, as q sees it.
func HasFiles(ctx context.Context, q sqldb.Querier, ns string) (has bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM filestore_usage WHERE ns = $1 AND files + trash_files > 0)`, ns).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for files: %w", err)
	}
	return has, nil
}

// Usage implements filestore.Records.
func (s *Store) Usage(ctx context.Context, scope filestore.Scope) (filestore.Usage, error) {
	var u filestore.Usage
	ns := scope.Namespace
	if !whole(scope) {
		q := scoped.New("SELECT COUNT(*), COALESCE(SUM(f.size), 0) FROM filestore_files f WHERE ").Scope(scope, fileColumns).Add(" AND f.trashed_ms = 0")
		return u, s.db.Read().QueryRowContext(ctx, q.Text(), q.Args...).Scan(&u.Files, &u.Bytes)
	}
	err := s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		row := tx.QueryRowContext(ctx, `SELECT files, bytes, trash_files, trash_bytes, versions, version_bytes FROM filestore_usage WHERE ns = $1`, ns)
		if err := row.Scan(&u.Files, &u.Bytes, &u.TrashFiles, &u.TrashBytes, &u.Versions, &u.VersionBytes); err != nil &&
			!errors.Is(err, sql.ErrNoRows) {
			return err
		}
		for _, c := range []struct {
			text, arg string
			to        *int64
		}{
			{`SELECT COALESCE(MAX(last), 0) FROM platform_feeds WHERE name = $1`, feedName(ns), &u.Last},
			{`SELECT COALESCE(MAX(seq), 0) FROM filestore_text_indexes WHERE id = $1`, ns, &u.IndexedThrough},
		} {
			if err := tx.QueryRowContext(ctx, c.text, c.arg).Scan(c.to); err != nil {
				return err
			}
		}
		return nil
	})
	return u, err
}
