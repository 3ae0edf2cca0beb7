package filestoresql

import (
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/together"
)

// Alone returns a store that makes every change in a transaction of its own.
func Alone(db *sqldb.DB) *Store { return &Store{db: db, joined: together.Apart(db)} }
