package filestore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// A link inside a link: what one of them refuses does not use up the other.
func TestARefusedReadingUsesUpNothing(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		var ids []string
		for _, n := range []filestore.NewShare{{TokenCID: "outer", Path: "/f"}, {TokenCID: "inner", Path: "/f", MaxUses: 1}} {
			s, err := w.Share(t.Context(), owner, n)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, s.ID)
		}
		for use := range 3 {
			slices.Reverse(ids)
			if err := w.Store.UseShares(t.Context(), ids, time.Now()); use == 0 != (err == nil) || use > 0 && !fault.Is(err, fault.Forbidden) {
				t.Errorf("use %d: %v", use, err)
			}
		}
		all, err := w.Shares(t.Context(), owner, filestore.Page{Limit: 10})
		if err != nil || len(all) != 2 || all[0].Uses != 1 || all[1].Uses != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
