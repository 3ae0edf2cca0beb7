package app

import (
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// smallestPool is how many connections a node needs to get on at all: some of its
// work reads while it writes.
const smallestPool = 8

// poolOptions shares the connections of a node out between readers and writers.
func poolOptions(s *config.Settings, opt sqldb.Options) (sqldb.Options, error) {
	if !s.Storage.Database.Given() {
		return opt, nil
	}
	if s.Storage.DatabasePool < smallestPool {
		return opt, fmt.Errorf("DATABASE_POOL: %d connections are too few: at least %d", s.Storage.DatabasePool, smallestPool)
	}
	opt.MaxReaders = s.Storage.DatabasePool / 2
	opt.MaxWriters = s.Storage.DatabasePool - opt.MaxReaders
	return opt, nil
}
