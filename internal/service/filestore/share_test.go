package filestore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// A link inside a link: what one of them refuses does not use up the other.
func TestARefusedReadingUsesUpNothing(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, owner.Namespace, "/f", "x")
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
			if err := w.Store.UseShares(t.Context(), ids, time.Now()); use == 0 != (err == nil) ||
				use > 0 && !fault.Is(err, fault.Forbidden) {
				t.Errorf("use %d: %v", use, err)
			}
		}
		all, err := w.Shares(t.Context(), owner, filestore.Page{Limit: 10})
		if err != nil || len(all) != 2 || all[0].Uses != 1 || all[1].Uses != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// A diff shows text of two versions: it is a reading.
func TestADiffIsAReading(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	w.MustPut(t, ns, "/f", "one\n")
	w.MustPut(t, ns, "/f", "two\n")
	if _, err := w.Share(t.Context(), owner, filestore.NewShare{TokenCID: "link", Path: "/f", MaxUses: 1}); err != nil {
		t.Fatal(err)
	}
	holder := filestore.Access{
		Namespace: ns, Invoker: "did:key:zHolder", Actor: ns, Chain: []string{"link"},
		Grants: []filestore.Grant{{Abilities: filestore.Read | filestore.List, Area: vfspath.Area{Root: "/f"}}},
	}
	if text, _, err := w.Text.Diff(t.Context(), holder, "/f", 0, 0); err != nil || text == "" {
		t.Errorf("%q, %v", text, err)
	}
	if _, _, err := w.Text.Diff(t.Context(), holder, "/f", 0, 0); !fault.Is(err, fault.Forbidden) {
		t.Errorf("the second diff of a link for one reading: %v", err)
	}
}
