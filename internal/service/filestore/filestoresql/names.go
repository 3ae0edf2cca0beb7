package filestoresql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

// nameIsFree fails when a file at the path would have the name of a folder, or would
// lie below a file. The file that is about to move does not count. What older
// releases left that way stays readable and can be renamed.
func nameIsFree(ctx context.Context, tx sqldb.Querier, ns, path, moving string) error {
	q := oneBelow(scoped.New("SELECT path FROM ("), "filestore_files", ns, path, " AND trashed_ms = 0 AND id <> ?", moving).
		Add(") AS a UNION ALL SELECT path FROM (")
	q.Add("SELECT path FROM filestore_folders WHERE ns = ? AND ", ns).Under("path", vfspath.Root(path))
	q.Add(" LIMIT 1) AS b")
	filesAbove(q, ns, path, moving)
	return takenName(ctx, tx, q, path)
}

// folderNameIsFree fails when a folder at the path would have the name of a file, or
// would lie below one.
func folderNameIsFree(ctx context.Context, tx sqldb.Querier, ns, path string) error {
	q := scoped.New("SELECT path FROM filestore_files WHERE ").Add("ns = ? AND path = ? AND trashed_ms = 0", ns, path)
	filesAbove(q, ns, path, "")
	return takenName(ctx, tx, q, path)
}

// noFileAbove fails when the path lies below a file.
func noFileAbove(ctx context.Context, tx sqldb.Querier, ns, path string) error {
	q := scoped.New("SELECT path FROM filestore_files WHERE 1 = 0")
	filesAbove(q, ns, path, "")
	return takenName(ctx, tx, q, path)
}

// oneBelow adds a select of one path below a folder.
func oneBelow(q *scoped.Query, table, ns, folder, more string, args ...any) *scoped.Query {
	q.Add("SELECT path FROM "+table+" WHERE ns = ? AND ", ns).Under("path", vfspath.Below(folder))
	return q.Add(more, args...).Add(" LIMIT 1")
}

// filesAbove adds the files at paths that a clean path lies below.
func filesAbove(q *scoped.Query, ns, path, moving string) {
	folders := above(path)
	if len(folders) == 0 {
		return
	}
	q.Add(" UNION ALL SELECT path FROM filestore_files WHERE ns = ? AND trashed_ms = 0 AND id <> ?", ns, moving)
	q.In("path", folders)
}

// above lists the folders that a clean path lies below, without the root.
func above(path string) (all []string) {
	for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
		all = append(all, path[:at])
	}
	return all
}

func takenName(ctx context.Context, tx sqldb.Querier, q *scoped.Query, path string) error {
	var taken string
	err := tx.QueryRowContext(ctx, q.Add(" LIMIT 1").Text(), q.Args...).Scan(&taken)
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

// beyond returns the first string after all that begin with a prefix, and nothing
// when there is none.
func beyond(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch r {
		case utf8.MaxRune:
			continue
		case 0xD7FF:
			r = 0xE000 // what lies between is no character
		default:
			r++
		}
		return prefix + string(r)
	}
	return ""
}
