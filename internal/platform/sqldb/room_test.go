package sqldb_test

import (
	"context"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

type freeing struct{}

// When the room is kept for those who delete, nobody else writes.
func TestRoomIsKeptForThoseWhoFree(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := open(t)
		nothing := func(context.Context, sqldb.Querier) error { return nil }
		db.KeepRoom(func(ctx context.Context) error {
			if ctx.Value(freeing{}) != nil {
				return nil
			}
			return fault.New(fault.StorageFull, "full")
		})
		if err := db.Write(t.Context(), nothing); !fault.Is(err, fault.StorageFull) {
			t.Errorf("a write without room: %v", err)
		}
		if _, err := db.WriteOne(t.Context(), "SELECT 1"); !fault.Is(err, fault.StorageFull) {
			t.Errorf("a statement without room: %v", err)
		}
		if err := db.Write(context.WithValue(t.Context(), freeing{}, true), nothing); err != nil {
			t.Errorf("a write that makes room: %v", err)
		}
	})
}
