// Package stores reads from the settings how stores are reached.
package stores

import (
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/blob/blobs3"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// smallestPool is how many connections a node needs to get on at all: some of its
// work reads while it writes.
const smallestPool = 8

// Pool shares the connections of a node out between readers and writers.
func Pool(s *config.Settings, opt sqldb.Options) (sqldb.Options, error) {
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

// S3 opens the bucket that a setting names, with the credentials of the settings.
func S3(setting string, url config.URL, s *config.Settings) (*blobs3.Store, error) {
	cfg, err := blobs3.ParseURL(url.Reveal())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	cfg.AccessKey, cfg.SecretKey = s.Storage.AccessKey.Reveal(), s.Storage.SecretKey.Reveal()
	cfg.SessionToken = s.Storage.SessionToken.Reveal()
	store, err := blobs3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return store, nil
}
