package knowledgesql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

const collectionFields = `SELECT c.id, c.ns, c.name, c.folder, c.readers, c.wrapped_key, c.master_id, c.revision, c.scanned, c.created_ms, c.updated_ms,
	COALESCE((SELECT p.readers FROM knowledge_published p WHERE p.collection = c.id), '') FROM knowledge_collections c`

func scanCollection(r scanner) (knowledge.Collection, error) {
	var c knowledge.Collection
	var scanned int
	var created, updated int64
	err := r.Scan(&c.ID, &c.Namespace, &c.Name, &c.Folder, &c.Readers, &c.WrappedKey, &c.MasterID, &c.Revision, &scanned,
		&created, &updated, &c.Consent)
	c.Scanned, c.Created, c.Updated = scanned != 0, sqldb.Time(created), sqldb.Time(updated)
	return c, err
}

// CreateCollection implements knowledge.Collections.
func (s *Store) CreateCollection(ctx context.Context, c knowledge.Collection, feed int64, most int) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO knowledge_owners (ns, seq, served) VALUES ($1, $2, 0) ON CONFLICT (ns) DO NOTHING`, c.Namespace, feed); err != nil {
			return err
		}
		var n, taken, nested int
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN name = $2 OR folder = $3 THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN substr(folder, 1, length($4)) = $4 OR substr($4, 1, length(folder) + 1) = folder || '/' THEN 1 ELSE 0 END), 0)
			FROM knowledge_collections WHERE ns = $1`, c.Namespace, c.Name, c.Folder, c.Folder+"/").Scan(&n, &taken, &nested)
		switch {
		case err != nil:
			return err
		case taken > 0:
			return fault.New(fault.Conflict, "You have a collection with this name or folder already.").WithCode("collection_exists")
		case nested >= knowledge.MaxNested:
			return fault.Newf(fault.Conflict, "At most %d collections are in or around one another.", knowledge.MaxNested).WithCode("too_many_collections")
		case n >= most:
			return fault.Newf(fault.Conflict, "You have %d collections, which is the most.", n).WithCode("too_many_collections")
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO knowledge_collections
			(id, ns, name, folder, readers, wrapped_key, master_id, revision, scan_after, scanned, dirty_ms, created_ms, updated_ms)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 1, '', 0, 0, $8, $8)`,
			c.ID, c.Namespace, c.Name, c.Folder, string(c.Readers), c.WrappedKey, c.MasterID, sqldb.MS(c.Created))
		if err != nil {
			return err
		}
		return saveReaders(ctx, tx, c)
	})
}

func saveReaders(ctx context.Context, tx sqldb.Querier, c knowledge.Collection) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM knowledge_readers WHERE collection = $1`, c.ID); err != nil {
		return err
	}
	for _, did := range c.DIDs {
		if _, err := tx.ExecContext(ctx, `INSERT INTO knowledge_readers (did, collection) VALUES ($1, $2) ON CONFLICT DO NOTHING`, did, c.ID); err != nil {
			return err
		}
	}
	return nil
}

// ChangeCollection implements knowledge.Collections.
func (s *Store) ChangeCollection(ctx context.Context, r knowledge.Reach, id string,
	change func(knowledge.Collection) (knowledge.Collection, error),
) (c knowledge.Collection, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		was, err := oneCollection(ctx, tx, r, id, s.db.Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if c, err = change(was); err != nil {
			return err
		}
		var taken int
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM knowledge_collections WHERE ns = $1 AND name = $2 AND id <> $3`, was.Namespace, c.Name, id).Scan(&taken)
		if err != nil {
			return err
		}
		if taken > 0 {
			return fault.New(fault.Conflict, "You have a collection with this name already.").WithCode("collection_exists")
		}
		if _, err := tx.ExecContext(ctx, `UPDATE knowledge_collections SET name = $1, readers = $2, updated_ms = $3 WHERE ns = $4 AND id = $5`,
			c.Name, string(c.Readers), sqldb.MS(c.Updated), was.Namespace, id); err != nil {
			return err
		}
		return saveReaders(ctx, tx, c)
	})
	return c, err
}

// DeleteCollection implements knowledge.Collections. Without the collection's key
// its segments cannot be opened any more; the objects are swept later.
func (s *Store) DeleteCollection(ctx context.Context, ns, id string, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		r, err := tx.ExecContext(ctx, `DELETE FROM knowledge_collections WHERE ns = $1 AND id = $2`, ns, id)
		if err := one(r, err, fault.New(fault.NotFound, "no such collection")); err != nil {
			return err
		}
		for _, text := range []string{
			`DELETE FROM knowledge_readers WHERE collection = $1`, `DELETE FROM knowledge_documents WHERE collection = $1`,
			`DELETE FROM knowledge_inquiries WHERE collection = $1`, `DELETE FROM knowledge_pairs WHERE collection = $1`,
			`DELETE FROM knowledge_published WHERE collection = $1`, `DELETE FROM knowledge_vectors WHERE collection = $1`,
		} {
			if _, err := tx.ExecContext(ctx, text, id); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE knowledge_segments SET dead_ms = $1 WHERE collection = $2 AND dead_ms = 0`, sqldb.MS(now), id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM knowledge_owners WHERE ns = $1 AND NOT EXISTS (SELECT 1 FROM knowledge_collections WHERE ns = $1)`, ns); err != nil {
			return err
		}
		return s.tell(ctx, tx, ns, eventRemoved, now, removedReport{CollectionID: id})
	})
}

// Collection implements knowledge.Collections.
func (s *Store) Collection(ctx context.Context, r knowledge.Reach, id string) (knowledge.Collection, error) {
	return oneCollection(ctx, s.db.Read(), r, id, "")
}

func oneCollection(ctx context.Context, db sqldb.Querier, r knowledge.Reach, id,
	lock string,
) (knowledge.Collection, error) {
	q := within(new(query).add(collectionFields+` WHERE c.id = ? AND `, id), r).add(lock)
	c, err := scanCollection(db.QueryRowContext(ctx, q.b.String(), q.args...))
	if err != nil {
		return c, absent(err, "collection")
	}
	c.DIDs, err = sqldb.Strings(ctx, db, `SELECT did FROM knowledge_readers WHERE collection = $1 ORDER BY did`, id)
	return c, err
}

// FoldersOf implements knowledge.Following.
func (s *Store) FoldersOf(ctx context.Context, ns string) ([]knowledge.Collection, error) {
	return collect(ctx, s.db.Read(), new(query).add(collectionFields+` WHERE c.ns = ? ORDER BY c.name`, ns), scanCollection)
}

// CollectionsOf implements knowledge.Collections.
func (s *Store) CollectionsOf(ctx context.Context,
	r knowledge.Reach,
) (all []knowledge.Collection, counts []knowledge.Counts, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if all, err = collect(ctx, tx, within(new(query).add(collectionFields+` WHERE `), r).add(` ORDER BY c.name`),
			scanCollection); err != nil {
			return err
		}
		counts = make([]knowledge.Counts, len(all))
		at := map[string]int{}
		for i, c := range all {
			at[c.ID] = i
		}
		rows, err := tx.QueryContext(ctx, `SELECT collection, state, COUNT(*) FROM knowledge_documents WHERE ns = $1 GROUP BY collection, state`, r.Namespace)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id string
			var state knowledge.State
			var n int64
			if err := rows.Scan(&id, &state, &n); err != nil {
				return err
			}
			i, ok := at[id]
			if !ok {
				continue
			}
			*[]*int64{&counts[i].Waiting, &counts[i].Reading, &counts[i].Read, &counts[i].Failed}[state] = n
		}
		return rows.Err()
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		if all[i].DIDs, err = sqldb.Strings(ctx, s.db.Read(), `SELECT did FROM knowledge_readers WHERE collection = $1 ORDER BY did`, all[i].ID); err != nil {
			return nil, nil, err
		}
	}
	return all, counts, nil
}

// Readable implements knowledge.Collections.
func (s *Store) Readable(ctx context.Context, who knowledge.Caller) ([]knowledge.Collection, error) {
	return collect(ctx, s.db.Read(), readable(who).add(` ORDER BY c.name, c.id LIMIT ?`, maxListed), scanCollection)
}

// maxListed bounds a list of collections.
const maxListed = 1000

// readable selects what the caller may read.
func readable(who knowledge.Caller) *query {
	const consent = `EXISTS (SELECT 1 FROM knowledge_published p WHERE p.collection = c.id`
	q := new(query).add(collectionFields+` WHERE ((c.readers = ? AND `+consent+` AND p.readers = ?))`, string(knowledge.Everybody), string(knowledge.Everybody))
	if who.Member {
		q.add(` OR (c.readers IN (?, ?) AND `+consent+`))`, string(knowledge.Everybody), string(knowledge.Members))
	}
	if who.DID != "" {
		q.add(` OR c.ns = ?`, identity.NamespaceOf(who.DID))
		q.add(` OR (c.readers = ? AND c.id IN (SELECT r.collection FROM knowledge_readers r WHERE r.did = ?))`, string(knowledge.Named), who.DID)
	}
	for _, r := range reaches(who) {
		within(q.add(` OR `), r)
	}
	return q.add(`)`)
}

// reaches are where the caller has proved a right to passages.
func reaches(who knowledge.Caller) []knowledge.Reach {
	if len(who.Areas) == 0 {
		return who.Held
	}
	return append([]knowledge.Reach{who.Reach}, who.Held...)
}

// Searchable implements knowledge.Collections. The revision of a collection in which
// there never was anything is still the first.
func (s *Store) Searchable(ctx context.Context, who knowledge.Caller, ids []string,
	most int,
) ([]knowledge.Collection, error) {
	q := readable(who).add(` AND c.revision > 1`)
	if len(ids) > 0 {
		q.add(` AND c.id IN (`)
		for i, id := range ids {
			if i > 0 {
				q.add(`, `)
			}
			q.add(`?`, id)
		}
		q.add(`)`)
	}
	q.add(` ORDER BY CASE`)
	if who.DID != "" {
		q.add(` WHEN c.ns = ? THEN 0`, identity.NamespaceOf(who.DID))
	}
	for _, r := range reaches(who) {
		within(q.add(` WHEN `), r).add(` THEN 0`)
	}
	q.add(` WHEN EXISTS (SELECT 1 FROM knowledge_published p WHERE p.collection = c.id) THEN 1 ELSE 2 END, c.created_ms, c.id LIMIT ?`, most)
	return collect(ctx, s.db.Read(), q, scanCollection)
}

// within adds the condition that a collection lies within reach.
func within(q *query, r knowledge.Reach) *query {
	q.add(`(c.ns = ? AND (1 = 0`, r.Namespace)
	for _, a := range r.Areas {
		q.add(` OR `)
		under(q, a.Root)
	}
	return q.add(`))`)
}

// under adds the condition that a collection's folder lies in a subtree.
func under(q *query, subtree vfspath.Root) {
	root := string(subtree)
	folder, below := strings.CutSuffix(root, "/")
	switch {
	case root == "":
		q.add("1 = 0")
	case folder == "":
		q.add("1 = 1")
	case below: // what lies in the folder is all that a collection of it has
		q.add("(c.folder = ? OR (c.folder >= ? AND c.folder < ?))", folder, root, folder+"0")
	default:
		q.add("(c.folder = ? OR (c.folder >= ? AND c.folder < ?))", root, root+"/", root+"0")
	}
}

const documentFields = `SELECT d.collection, d.file_id, d.ns, d.path, d.mime, d.size, d.version, d.changed_ms, d.state, d.why, d.attempts,
	d.generation, d.read_version, d.read_ms, d.pages, d.language, d.passages FROM knowledge_documents d`

func scanDocument(r scanner) (knowledge.Document, error) {
	var d knowledge.Document
	var changed, read int64
	err := r.Scan(&d.Collection, &d.FileID, &d.Namespace, &d.Path, &d.MimeType, &d.Size, &d.Version, &changed, &d.State,
		&d.Why, &d.Attempts,
		&d.Generation, &d.ReadVersion, &read, &d.Pages, &d.Language, &d.Passages)
	d.Changed = sqldb.Time(changed)
	if read > 0 {
		d.Read = sqldb.Time(read)
	}
	return d, err
}

// Documents implements knowledge.Collections.
func (s *Store) Documents(ctx context.Context, ns, collection, after string, limit int) ([]knowledge.Document, error) {
	q := new(query).add(documentFields+` WHERE d.collection = ? AND d.ns = ? AND d.path > ? ORDER BY d.path LIMIT ?`, collection, ns, after, limit)
	return collect(ctx, s.db.Read(), q, scanDocument)
}

// MasterKeys names the master keys that collections are under.
func (s *Store) MasterKeys(ctx context.Context) ([]string, error) {
	return sqldb.Strings(ctx, s.db.Read(), `SELECT DISTINCT master_id FROM knowledge_collections`)
}

// Rewrap implements knowledge.Collections.
func (s *Store) Rewrap(ctx context.Context, masterID string,
	wrap func(knowledge.Collection) ([]byte, error),
) (int, error) {
	n := 0
	for {
		old, err := collect(ctx, s.db.Read(), new(query).add(collectionFields+` WHERE c.master_id <> ? LIMIT 100`, masterID), scanCollection)
		if err != nil || len(old) == 0 {
			return n, err
		}
		for _, c := range old {
			wrapped, err := wrap(c)
			if err != nil {
				return n, fmt.Errorf("wrap key of collection %s: %w", c.ID, err)
			}
			if _, err := s.db.WriteOne(ctx, `UPDATE knowledge_collections SET wrapped_key = $1, master_id = $2 WHERE id = $3 AND master_id = $4`,
				wrapped, masterID, c.ID, c.MasterID); err != nil {
				return n, err
			}
			n++
		}
	}
}
