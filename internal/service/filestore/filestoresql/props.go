package filestoresql

import (
	"context"
	"encoding/xml"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/marks"
)

var _ davstate.Store = (*Store)(nil)

// Props implements davstate.Store.
func (s *Store) Props(ctx context.Context, owners []string) (map[string][]davstate.Prop, error) {
	return marks.Props(ctx, s.db.Read(), owners)
}

// PatchProps implements davstate.Store.
func (s *Store) PatchProps(ctx context.Context, owner string, set []davstate.Prop, remove []xml.Name) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		return marks.Patch(ctx, tx, owner, set, remove)
	})
}

// MarkFile implements davstate.Store.
func (s *Store) MarkFile(ctx context.Context, f filestore.File, m filestore.Mark) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error { return marks.Put(ctx, tx, f, m) })
}
