// Package marks keeps, in the transactions of filestoresql, what clients said of files: when
// their content was changed and its digests, and the properties of WebDAV.
//
// It promises that the properties of a namespace have at most davstate.MaxTogether characters,
// whichever way they came: they are in no quota, and a folder is copied with those of all
// that is in it.
package marks

import (
	"context"
	"database/sql"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

// step is how many files one statement asks about: engines limit arguments.
const step = 200

// codeTooMany is the machine word of a refusal of properties.
const codeTooMany = "too_many_properties"

// each reads the rows of a query.
func each(ctx context.Context, tx sqldb.Querier, q *scoped.Query, read func(scan func(...any) error) error) error {
	rows, err := tx.QueryContext(ctx, q.Text(), q.Args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Put keeps what was said of a file's current version.
func Put(ctx context.Context, tx sqldb.Querier, f filestore.File, m filestore.Mark) error {
	var modified int64
	if !m.Modified.IsZero() {
		modified = sqldb.MS(m.Modified)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO filestore_marks (file_id, version, modified_ms, sha1, md5) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (file_id) DO UPDATE SET version = excluded.version, modified_ms = excluded.modified_ms, sha1 = excluded.sha1, md5 = excluded.md5`,
		f.ID, f.Version, modified, m.SHA1, m.MD5)
	if err != nil {
		return fmt.Errorf("keep marks: %w", err)
	}
	return nil
}

// Copy gives copies what was said of the originals' contents, and their properties.
func Copy(ctx context.Context, tx sqldb.Querier, ns string, from, to []filestore.File) error {
	at := map[string]int{}
	originals, copies := make([]string, len(from)), make([]string, len(from))
	for i, f := range from {
		originals[i], copies[i], at[f.ID] = f.ID, to[i].ID, i
	}
	for some := range slices.Chunk(originals, step) {
		q := scoped.New("SELECT file_id, version, modified_ms, sha1, md5 FROM filestore_marks WHERE 1 = 1")
		q.In("file_id", some)
		said := map[int]filestore.Mark{}
		err := each(ctx, tx, q, func(scan func(...any) error) error {
			var id string
			var version, modified int64
			var m filestore.Mark
			if err := scan(&id, &version, &modified, &m.SHA1, &m.MD5); err != nil {
				return err
			}
			if modified != 0 {
				m.Modified = sqldb.Time(modified)
			}
			if i := at[id]; version == from[i].Version {
				said[i] = m
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read marks: %w", err)
		}
		for i, m := range said {
			if err := Put(ctx, tx, to[i], m); err != nil {
				return err
			}
		}
	}
	return CopyProps(ctx, tx, ns, originals, copies)
}

// Props returns the properties of files and folders by their id.
func Props(ctx context.Context, q sqldb.Querier, owners []string) (map[string][]davstate.Prop, error) {
	all := map[string][]davstate.Prop{}
	for some := range slices.Chunk(owners, step) {
		query := scoped.New("SELECT owner, space, name, xml FROM filestore_props WHERE 1 = 1")
		query.In("owner", some)
		err := each(ctx, q, query.Add(" ORDER BY owner, space, name"), func(scan func(...any) error) error {
			var owner string
			var p davstate.Prop
			if err := scan(&owner, &p.Name.Space, &p.Name.Local, &p.XML); err != nil {
				return err
			}
			all[owner] = append(all[owner], p)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read properties: %w", err)
		}
	}
	return all, nil
}

// CopyProps gives copies the properties of the originals, some hundred at a time: together they may be
// as much as a namespace may have.
func CopyProps(ctx context.Context, tx sqldb.Querier, ns string, from, to []string) error {
	for at := 0; at < len(from); at += step {
		end := min(at+step, len(from))
		size, err := sizeOf(ctx, tx, from[at:end])
		if err == nil {
			err = count(ctx, tx, ns, size) // before they are read: it may be too much
		}
		if err != nil {
			return err
		}
		props, err := Props(ctx, tx, from[at:end])
		if err != nil {
			return err
		}
		for i, id := range from[at:end] {
			for _, p := range props[id] {
				if err := set(ctx, tx, to[at+i], p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Drop forgets the properties of files and folders.
func Drop(ctx context.Context, tx sqldb.Querier, ns string, owners ...string) error {
	for some := range slices.Chunk(owners, step) {
		size, err := sizeOf(ctx, tx, some)
		if err != nil {
			return err
		}
		q := scoped.New("DELETE FROM filestore_props WHERE 1 = 1")
		q.In("owner", some)
		if _, err := tx.ExecContext(ctx, q.Text(), q.Args...); err != nil {
			return fmt.Errorf("forget properties: %w", err)
		}
		if err := count(ctx, tx, ns, -size); err != nil {
			return err
		}
	}
	return nil
}

// Patch changes the properties of a file or a folder, if it is there.
func Patch(ctx context.Context, tx sqldb.Querier, owner string, put []davstate.Prop, remove []xml.Name) error {
	var ns string
	err := tx.QueryRowContext(ctx, `SELECT ns FROM filestore_files WHERE id = $1 UNION ALL SELECT ns FROM filestore_folders WHERE id = $1`, owner).Scan(&ns)
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "no such file")
	}
	if err != nil {
		return fmt.Errorf("find what has properties: %w", err)
	}
	before, err := sizeOf(ctx, tx, []string{owner})
	if err != nil {
		return err
	}
	for _, name := range remove {
		if _, err := tx.ExecContext(ctx, `DELETE FROM filestore_props WHERE owner = $1 AND space = $2 AND name = $3`, owner, name.Space, name.Local); err != nil {
			return fmt.Errorf("remove property: %w", err)
		}
	}
	for _, p := range put {
		if err := set(ctx, tx, owner, p); err != nil {
			return err
		}
	}
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM filestore_props WHERE owner = $1`, owner).Scan(&n); err != nil {
		return fmt.Errorf("count properties: %w", err)
	}
	after, err := sizeOf(ctx, tx, []string{owner})
	switch {
	case err != nil:
		return err
	case after > davstate.MaxPropBytes && len(put) > 0:
		return fault.Newf(fault.Conflict, "the properties of a file have at most %d bytes", davstate.MaxPropBytes).WithCode(codeTooMany)
	case n > davstate.MaxProps:
		return fault.Newf(fault.Conflict, "a file has at most %d properties", davstate.MaxProps).WithCode(codeTooMany)
	}
	return count(ctx, tx, ns, after-before)
}

func set(ctx context.Context, tx sqldb.Querier, owner string, p davstate.Prop) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO filestore_props (owner, space, name, xml) VALUES ($1, $2, $3, $4)
		ON CONFLICT (owner, space, name) DO UPDATE SET xml = excluded.xml`, owner, p.Name.Space, p.Name.Local, p.XML)
	if err != nil {
		return fmt.Errorf("keep property: %w", err)
	}
	return nil
}

// sizeOf is how many characters properties have, counted alike wherever they are.
func sizeOf(ctx context.Context, tx sqldb.Querier, owners []string) (size int64, err error) {
	q := scoped.New("SELECT COALESCE(SUM(LENGTH(xml)), 0) FROM filestore_props WHERE 1 = 1")
	q.In("owner", owners)
	if err := tx.QueryRowContext(ctx, q.Text(), q.Args...).Scan(&size); err != nil {
		return 0, fmt.Errorf("measure properties: %w", err)
	}
	return size, nil
}

// count moves the sum of a namespace, and refuses what would be too much.
func count(ctx context.Context, tx sqldb.Querier, ns string, by int64) error {
	if by == 0 {
		return nil
	}
	var size int64
	err := tx.QueryRowContext(ctx, `INSERT INTO filestore_props_size (ns, size) VALUES ($1, $2) ON CONFLICT (ns) DO UPDATE
		SET size = CASE WHEN filestore_props_size.size + $3 > 0 THEN filestore_props_size.size + $3 ELSE 0 END RETURNING size`,
		ns, max(by, 0), by).Scan(&size)
	if err != nil {
		return fmt.Errorf("count properties: %w", err)
	}
	if by > 0 && size > davstate.MaxTogether {
		return fault.Newf(fault.Conflict, "the properties of all files together have at most %d bytes", int64(davstate.MaxTogether)).WithCode(codeTooMany)
	}
	return nil
}
