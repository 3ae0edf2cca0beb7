package faults

import (
	"context"
	"encoding/json"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/plugin"
)

// entries adds up what happened to an account by its own entries, which the
// routes show only in part.
func entries(ctx context.Context, db *sqldb.DB, did string, b *Balance) error {
	prefix := "e/" + plugin.UserKey(did) + "/"
	rows, err := db.Read().QueryContext(ctx, `SELECT value FROM oracle_plugin_keys WHERE plugin = 'credits' AND key >= $1 AND key < $2`, prefix, prefix+"~")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value []byte
		if err := rows.Scan(&value); err != nil {
			return err
		}
		var entry struct {
			Kind   string
			Amount int64
		}
		if err := json.Unmarshal(value, &entry); err != nil {
			return err
		}
		switch entry.Kind {
		case "grant":
			b.EntriesGranted += entry.Amount
		case "use":
			b.Uses++
			b.EntriesSpent += entry.Amount
		}
	}
	return rows.Err()
}
