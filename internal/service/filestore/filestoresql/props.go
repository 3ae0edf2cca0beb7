package filestoresql

import (
	"context"
	"encoding/xml"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/bulk"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

var _ davstate.Store = (*Store)(nil)

// batches calls do with the ids, some hundred at a time.
func batches(ids []string, do func(ids []string) error) error {
	for from := 0; from < len(ids); from += bulk.Step {
		if err := do(ids[from:min(from+bulk.Step, len(ids))]); err != nil {
			return err
		}
	}
	return nil
}

// markRow is a row of what a client said.
type markRow struct {
	fileID  string
	version int64
	filestore.Mark
}

func scanMark(r scanner) (m markRow, err error) {
	var modified int64
	err = r.Scan(&m.fileID, &m.version, &modified, &m.SHA1, &m.MD5)
	if modified != 0 {
		m.Modified = sqldb.Time(modified)
	}
	return m, err
}

// putMark keeps what was said of a file's current version.
func putMark(ctx context.Context, tx sqldb.Querier, f filestore.File, m filestore.Mark) error {
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

// copyMarks gives copies what was said of the originals' contents.
func copyMarks(ctx context.Context, tx sqldb.Querier, from, to []filestore.File) error {
	at := map[string]int{}
	ids := make([]string, len(from))
	for i, f := range from {
		ids[i], at[f.ID] = f.ID, i
	}
	return batches(ids, func(ids []string) error {
		q := scoped.New("SELECT file_id, version, modified_ms, sha1, md5 FROM filestore_marks WHERE 1 = 1")
		q.In("file_id", ids)
		marks, err := collect(ctx, tx, q, scanMark)
		if err != nil {
			return fmt.Errorf("read marks: %w", err)
		}
		for _, m := range marks {
			i := at[m.fileID]
			if m.version != from[i].Version {
				continue
			}
			if err := putMark(ctx, tx, to[i], m.Mark); err != nil {
				return err
			}
		}
		return nil
	})
}

// propRow is a property with whose it is.
type propRow struct {
	owner string
	davstate.Prop
}

func scanProp(r scanner) (p propRow, err error) {
	return p, r.Scan(&p.owner, &p.Name.Space, &p.Name.Local, &p.XML)
}

func propsOf(ctx context.Context, tx sqldb.Querier, owners []string) (all []propRow, err error) {
	err = batches(owners, func(ids []string) error {
		q := scoped.New("SELECT owner, space, name, xml FROM filestore_props WHERE 1 = 1")
		q.In("owner", ids)
		some, err := collect(ctx, tx, q.Add(" ORDER BY owner, space, name"), scanProp)
		all = append(all, some...)
		return err
	})
	return all, err
}

// copyProps gives copies the properties of the originals.
func copyProps(ctx context.Context, tx sqldb.Querier, from, to []string) error {
	props, err := propsOf(ctx, tx, from)
	if err != nil {
		return fmt.Errorf("read properties: %w", err)
	}
	at := map[string]string{}
	for i, id := range from {
		at[id] = to[i]
	}
	for _, p := range props {
		if err := setProp(ctx, tx, at[p.owner], p.Prop); err != nil {
			return err
		}
	}
	return nil
}

func setProp(ctx context.Context, tx sqldb.Querier, owner string, p davstate.Prop) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO filestore_props (owner, space, name, xml) VALUES ($1, $2, $3, $4)
		ON CONFLICT (owner, space, name) DO UPDATE SET xml = excluded.xml`, owner, p.Name.Space, p.Name.Local, p.XML)
	if err != nil {
		return fmt.Errorf("keep property: %w", err)
	}
	return nil
}

// Props implements davstate.Store.
func (s *Store) Props(ctx context.Context, owners []string) (map[string][]davstate.Prop, error) {
	rows, err := propsOf(ctx, s.db.Read(), owners)
	all := map[string][]davstate.Prop{}
	for _, r := range rows {
		all[r.owner] = append(all[r.owner], r.Prop)
	}
	return all, err
}

// PatchProps implements davstate.Store.
func (s *Store) PatchProps(ctx context.Context, owner string, set []davstate.Prop, remove []xml.Name) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, name := range remove {
			if _, err := tx.ExecContext(ctx, `DELETE FROM filestore_props WHERE owner = $1 AND space = $2 AND name = $3`, owner, name.Space, name.Local); err != nil {
				return fmt.Errorf("remove property: %w", err)
			}
		}
		for _, p := range set {
			if err := setProp(ctx, tx, owner, p); err != nil {
				return err
			}
		}
		var n, size int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(LENGTH(xml)), 0) FROM filestore_props WHERE owner = $1`, owner).Scan(&n, &size); err != nil {
			return fmt.Errorf("count properties: %w", err)
		}
		if size > davstate.MaxPropBytes && len(set) > 0 {
			return fault.Newf(fault.Conflict, "the properties of a file have at most %d bytes", davstate.MaxPropBytes).WithCode("too_many_properties")
		}
		if n > davstate.MaxProps {
			return fault.Newf(fault.Conflict, "a file has at most %d properties", davstate.MaxProps).WithCode("too_many_properties")
		}
		return nil
	})
}

// MarkFile implements davstate.Store.
func (s *Store) MarkFile(ctx context.Context, f filestore.File, m filestore.Mark) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error { return putMark(ctx, tx, f, m) })
}
