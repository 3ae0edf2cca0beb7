package knowledge_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// What a collection lost can wait for its time, and does not keep later losses
// waiting.
func TestLossesWaitForTheirTime(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		var ids []string
		for i := range 3 {
			ids = append(ids, w.Files.Put(home, fmt.Sprintf("/clinic/%d.txt", i), "Some words about the ward."))
		}
		w.Settle(t)
		dirty := func(at time.Time) bool {
			t.Helper()
			found, err := w.Records.Dirty(t.Context(), 100, []int64{1 << 20}, at, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(found, func(d knowledge.Collection) bool { return d.ID == c.ID })
		}
		revision := func() int64 {
			t.Helper()
			n, _, _, err := w.Records.State(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		soon, later := w.Clock.Now().Add(time.Minute), w.Clock.Now().Add(time.Hour)
		if dirty(later) {
			t.Error("nothing was lost")
		}
		w.Files.Remove(home, ids[0])
		before := revision()
		w.Settle(t)
		if !dirty(soon) {
			t.Error("a loss is not known")
		}
		if err := w.Records.DestroyLater(t.Context(), c.ID, before, later); err != nil || !dirty(soon) {
			t.Errorf("put off by who did not see it: %v", err)
		}
		if err := w.Records.DestroyLater(t.Context(), c.ID, revision(), later); err != nil || dirty(soon) ||
			!dirty(later.Add(time.Minute)) {
			t.Errorf("not put off: %v", err)
		}
		w.Files.Remove(home, ids[1])
		w.Settle(t)
		if !dirty(soon) {
			t.Error("a later loss waits for the first")
		}
	})
}
