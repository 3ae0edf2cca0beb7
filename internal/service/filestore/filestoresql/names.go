package filestoresql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// nameIsFree fails when a file at the path would have the name of a folder, or would
// lie below a file. The file that is about to move does not count. What older
// releases left that way stays readable and can be renamed.
func nameIsFree(ctx context.Context, tx sqldb.Querier, ns, path, moving string) error {
	q := newQuery("SELECT path FROM (").below("filestore_files", ns, path, " AND trashed_ms = 0 AND id <> ?", moving).add(") AS a UNION ALL SELECT path FROM (")
	q.add("SELECT path FROM filestore_folders WHERE ns = ? AND ", ns).under("path", vfspath.Root(path))
	q.add(" LIMIT 1) AS b")
	q.filesAbove(ns, path, moving)
	return takenName(ctx, tx, q, path)
}

// folderNameIsFree fails when a folder at the path would have the name of a file, or
// would lie below one.
func folderNameIsFree(ctx context.Context, tx sqldb.Querier, ns, path string) error {
	q := newQuery("SELECT path FROM filestore_files WHERE ").add("ns = ? AND path = ? AND trashed_ms = 0", ns, path)
	q.filesAbove(ns, path, "")
	return takenName(ctx, tx, q, path)
}

// noFileAbove fails when the path lies below a file.
func noFileAbove(ctx context.Context, tx sqldb.Querier, ns, path string) error {
	q := newQuery("SELECT path FROM filestore_files WHERE 1 = 0")
	q.filesAbove(ns, path, "")
	return takenName(ctx, tx, q, path)
}

// below adds a select of one path below a folder.
func (q *query) below(table, ns, folder, more string, args ...any) *query {
	q.add("SELECT path FROM "+table+" WHERE ns = ? AND ", ns).under("path", vfspath.Below(folder))
	return q.add(more, args...).add(" LIMIT 1")
}

// filesAbove adds the files at paths that a clean path lies below.
func (q *query) filesAbove(ns, path, moving string) {
	folders := above(path)
	if len(folders) == 0 {
		return
	}
	q.add(" UNION ALL SELECT path FROM filestore_files WHERE ns = ? AND trashed_ms = 0 AND id <> ?", ns, moving)
	q.in("path", folders)
}

// above lists the folders that a clean path lies below, without the root.
func above(path string) (all []string) {
	for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
		all = append(all, path[:at])
	}
	return all
}

func takenName(ctx context.Context, tx sqldb.Querier, q *query, path string) error {
	var taken string
	err := tx.QueryRowContext(ctx, q.add(" LIMIT 1").text(), q.args...).Scan(&taken)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for names: %w", err)
	}
	return nameTaken(path, taken)
}

// nameTaken says that a path cannot be used because of another one.
func nameTaken(path, taken string) error {
	text := "a file and a folder cannot have the same name: " + path
	if !vfspath.Root(path).Contains(taken) {
		text = taken + " is a file: nothing can be below it"
	}
	return fault.New(fault.Conflict, text).WithCode("name_taken")
}
