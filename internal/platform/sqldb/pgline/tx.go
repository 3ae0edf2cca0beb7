package pgline

import (
	"database/sql"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
)

// TxOptions are those that sqldb asks for, in the driver's words.
func TxOptions(opts driver.TxOptions) pgx.TxOptions {
	var o pgx.TxOptions
	switch sql.IsolationLevel(opts.Isolation) {
	case sql.LevelSerializable:
		o.IsoLevel = pgx.Serializable
	case sql.LevelRepeatableRead:
		o.IsoLevel = pgx.RepeatableRead
	default:
		o.IsoLevel = pgx.ReadCommitted
	}
	if opts.ReadOnly {
		o.AccessMode = pgx.ReadOnly
	}
	return o
}
