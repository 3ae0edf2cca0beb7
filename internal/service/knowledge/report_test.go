package knowledge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

type told []string

func (o *told) EmitIn(_ context.Context, _ sqldb.Querier, namespace, kind string, _ time.Time, data any) error {
	text, err := json.Marshal(data)
	*o = append(*o, fmt.Sprintf("%s %s %s", namespace, kind, text))
	return err
}

// A document that was read, and one that cannot be, is reported once, to whose it is,
// and without its name.
func TestDocumentsAreReported(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		var got told
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
