package knowledge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// A document that was read, and one that cannot be, is reported once, to whose it is,
// and without its name.
func TestDocumentsAreReported(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		var got knowledgetest.Outbox
		w.Records = w.Records.WithOutbox(&got)
		w.Service = w.Node(nil)
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		good := w.Files.Put(home, "/clinic/hours.txt", "The ward opens at eight.")
		bad := w.Files.Put(home, "/clinic/damaged.txt", knowledgetest.Broken)
		w.Settle(t)
		slices.Sort(got)
		want := []string{
			fmt.Sprintf(`%s knowledge.failed {"collectionId":%q,"fileId":%q,"version":1,"reason":"the document is damaged"}`, home, c.ID, bad),
			fmt.Sprintf(`%s knowledge.ingested {"collectionId":%q,"fileId":%q,"version":1,`, home, c.ID, good),
		}
		if len(got) != 2 || got[0] != want[0] || !strings.HasPrefix(got[1], want[1]) || strings.Contains(got[1], "hours") {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A document that leaves a collection is reported, and a collection that is deleted is, once
// for all of its documents.
func TestRemovalsAreReported(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		gone := w.Files.Put(home, "/clinic/hours.txt", "The ward opens at eight.")
		w.Files.Put(home, "/clinic/doctors.txt", "The doctor comes on Monday.")
		w.Settle(t)
		var got knowledgetest.Outbox
		w.Records = w.Records.WithOutbox(&got)
		w.Service = w.Node(nil)
		w.Files.Remove(home, gone)
		w.Settle(t)
		if err := w.Delete(t.Context(), knowledgetest.OwnerOf(home), c.ID); err != nil {
			t.Fatal(err)
		}
		want := []string{
			fmt.Sprintf(`%s knowledge.removed {"collectionId":%q,"fileId":%q}`, home, c.ID, gone),
			fmt.Sprintf(`%s knowledge.removed {"collectionId":%q}`, home, c.ID),
		}
		if !slices.Equal(got, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
