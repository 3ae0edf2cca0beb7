package coldstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

const (
	// deadFor is how long an object stays that is no conversation any more, or not yet: a
	// backup that has copied the tables copies the objects after them.
	deadFor = 24 * time.Hour
	// page is how many records are read at once.
	page = 200
	// between lets requests through.
	between = 20 * time.Millisecond
)

// Tidy deletes objects that are dead, and brings back conversations that must be in the
// tables: the search index is to read them anew, or runs in them ended before a time and
// are to be erased. It runs on one node at a time, under a lease.
func (s *Store) Tidy(ctx context.Context, runsBefore time.Time) error {
	if err := s.sweep(ctx); err != nil {
		return err
	}
	return s.bringDue(ctx, runsBefore)
}

// sweep deletes objects that have been dead for long. They are condemned first, so that
// nobody makes one count whose object is gone; a node that dies leaves them condemned.
func (s *Store) sweep(ctx context.Context) error {
	now, err := s.DB.Now(ctx)
	if err != nil {
		return err
	}
	before := sqldb.MS(now.Add(-deadFor))
	for {
		ids, err := sqldb.Strings(ctx, s.DB.Read(), `SELECT id FROM oracle_cold WHERE dead_ms > 0 AND dead_ms < $1 ORDER BY dead_ms LIMIT $2`, before, page)
		if err != nil {
			return fmt.Errorf("find dead objects: %w", err)
		}
		for _, id := range ids {
			if _, err := s.DB.WriteOne(ctx, `UPDATE oracle_cold SET dead_ms = 1 WHERE id = $1 AND dead_ms > 0`, id); err != nil {
				return fmt.Errorf("condemn object: %w", err)
			}
			if err := s.Blobs.Delete(ctx, name(id)); err != nil {
				return fmt.Errorf("delete dead object: %w", err)
			}
			if _, err := s.DB.WriteOne(ctx, `DELETE FROM oracle_cold WHERE id = $1 AND dead_ms = 1`, id); err != nil {
				return fmt.Errorf("forget dead object: %w", err)
			}
		}
		if len(ids) < page {
			return nil
		}
		s.Log.Debug("objects of conversations were deleted", slog.Int("objects", len(ids)))
	}
}

// Knows reports whether a record names an object.
func Knows(ctx context.Context, db *sqldb.DB, id string) (bool, error) {
	found, err := sqldb.Strings(ctx, db.Read(), `SELECT id FROM oracle_cold WHERE id = $1`, id)
	return len(found) > 0, err
}

// DropOrphans deletes objects that no record names, where nobody is writing any: a backup
// has some that were stored after it had copied the tables.
func DropOrphans(ctx context.Context, db *sqldb.DB, blobs blob.Store) (n int, err error) {
	for info, err := range blobs.List(ctx, Prefix) {
		if err != nil {
			return n, fmt.Errorf("list archived conversations: %w", err)
		}
		known, err := Knows(ctx, db, info.Key[strings.LastIndexByte(info.Key, '/')+1:])
		if err != nil {
			return n, err
		}
		if known {
			continue
		}
		if err := blobs.Delete(ctx, info.Key); err != nil {
			return n, fmt.Errorf("delete an orphan: %w", err)
		}
		n++
	}
	return n, nil
}

// Examine looks whether every cold conversation has its object; deep opens each of them. It
// tells of those that cannot be brought back, and returns how many there are.
func (s *Store) Examine(ctx context.Context, deep bool, tell func(problem string)) (all int, err error) {
	after := ""
	for {
		objects, err := s.pageAfter(ctx, after)
		if err != nil {
			return all, err
		}
		for _, o := range objects {
			after = o.id
			problem := s.examine(ctx, o, deep)
			if ctx.Err() != nil {
				return all, ctx.Err()
			}
			if problem != nil {
				if now, ok, err := s.find(ctx, o.session); err != nil || !ok || now.id != o.id {
					if err != nil {
						return all, err
					}
					continue // it came back meanwhile
				}
				tell(fmt.Sprintf("conversation %s: %v", o.session, problem))
			}
			all++
		}
		if len(objects) < page {
			return all, nil
		}
	}
}

func (s *Store) examine(ctx context.Context, o object, deep bool) error {
	if deep {
		_, err := s.open(ctx, o)
		return err
	}
	info, err := s.Blobs.Stat(ctx, name(o.id))
	if errors.Is(err, blob.ErrNotFound) {
		err = s.absent(ctx, err)
	}
	if err != nil {
		return fmt.Errorf("the object %s: %w", name(o.id), err)
	}
	if info.Size != o.sealed {
		return fmt.Errorf("%w: the object %s has %d bytes, and had %d", oracle.ErrLost, name(o.id), info.Size, o.sealed)
	}
	return nil
}

func (s *Store) pageAfter(ctx context.Context, after string) (out []object, err error) {
	rows, err := s.DB.Read().QueryContext(ctx, `SELECT `+objectColumns+` FROM oracle_cold WHERE id > $1 AND dead_ms = 0 ORDER BY id LIMIT $2`, after, page)
	if err != nil {
		return nil, fmt.Errorf("list archived conversations: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		o, err := scanObject(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}
