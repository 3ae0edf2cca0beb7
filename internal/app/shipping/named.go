package shipping

import (
	"context"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

// named asks the service that an object belongs to whether a record names it. One of
// nobody counts as named: what is not understood is not deleted.
func named(db *sqldb.DB) func(ctx context.Context, key string) (bool, error) {
	files, talks, knowledge := filestoresql.New(db), oraclesql.New(db), knowledgesql.New(db)
	return func(ctx context.Context, key string) (bool, error) {
		folder, _, _ := strings.Cut(key, "/")
		id := key[strings.LastIndexByte(key, '/')+1:]
		switch folder {
		case "files":
			return upkeep.Named(ctx, files, key)
		case "files-index":
			return files.IndexShelf().Knows(ctx, id)
		case "talks-index":
			return talks.IndexShelf().Knows(ctx, id)
		case "cold":
			return coldstore.Knows(ctx, db, id)
		case "knowledge":
			return knowledge.Knows(ctx, id)
		case "knowledge-vectors":
			return knowledge.KnowsVectors(ctx, id)
		}
		return true, nil
	}
}
