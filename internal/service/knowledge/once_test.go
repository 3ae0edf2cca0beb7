package knowledge_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// counted counts how often documents are read, and lets each reading take its time.
type counted struct {
	knowledgetest.Plain

	n     atomic.Int64
	takes func(document.Source)
}

func (c *counted) Read(ctx context.Context, src document.Source) (*document.Document, error) {
	c.n.Add(1)
	if c.takes != nil {
		c.takes(src)
	}
	return c.Plain.Read(ctx, src)
}

// A file stands in every collection around it. To read it is the expensive part, and
// is done once, however many there are and however it ends.
func TestAFileInNestedCollectionsIsReadOnce(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		reader := &counted{}
		w.Service = w.Node(func(d *knowledge.Deps, _ *knowledge.Config) { d.Reader = reader })
		folder := ""
		var all []knowledge.Collection
		for i := range 7 {
			folder += fmt.Sprintf("/n%d", i)
			all = append(all, w.MustCreate(t, home, fmt.Sprintf("Clinic %d", i), folder, knowledge.Delegates))
		}
		w.Settle(t)
		for step, text := range []string{clinic, clinic + " It closes at noon.", knowledgetest.Broken} {
			w.Files.Put(home, folder+"/hours.txt", text)
			reader.n.Store(0)
			w.Settle(t)
			if n := reader.n.Load(); n != 1 {
				t.Errorf("step %d: the file was read %d times", step, n)
			}
			for _, c := range all {
				docs, err := w.Records.Documents(t.Context(), home, c.ID, "", 10)
				want := knowledge.Read
				if text == knowledgetest.Broken {
					want = knowledge.Failed
				}
				if err != nil || len(docs) != 1 || docs[0].State != want || docs[0].Version != int64(step+1) {
					t.Errorf("step %d, %s: %+v, %v", step, c.Name, docs, err)
				}
				a, err := w.Search(t.Context(), owner(), knowledge.Question{Text: weekdays, Collections: []string{c.ID}})
				if err != nil || a.Answered != (want == knowledge.Read) {
					t.Errorf("step %d, %s: %+v, %v", step, c.Name, a, err)
				}
			}
		}
	})
}

// What is lost of a file in one collection does not keep it from the others.
func TestACollectionThatIsDeletedWhileItsFileIsRead(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		outer := w.MustCreate(t, home, "Outer", "/a", knowledge.Delegates)
		inner := w.MustCreate(t, home, "Inner", "/a/b", knowledge.Delegates)
		w.Settle(t)
		reader := &counted{takes: func(document.Source) {
			if err := w.Delete(t.Context(), knowledgetest.OwnerOf(home), inner.ID); err != nil {
				t.Error(err)
			}
		}}
		w.Service = w.Node(func(d *knowledge.Deps, _ *knowledge.Config) { d.Reader = reader })
		w.Files.Put(home, "/a/b/hours.txt", clinic)
		w.Follow(t)
		if _, err := w.ReadOne(t.Context(), "me"); err != nil {
			t.Fatal(err)
		}
		a, err := w.Search(t.Context(), owner(), knowledge.Question{Text: weekdays, Collections: []string{outer.ID}})
		if err != nil || !a.Answered || reader.n.Load() != 1 {
			t.Errorf("%+v, %v, read %d times", a, err, reader.n.Load())
		}
	})
}

// Turns are short or long: whose documents take long has fewer of them while others wait.
func TestTurnsAreShortOrLong(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		other := identity.NamespaceOf(bob)
		var order strings.Builder
		reader := &counted{takes: func(src document.Source) {
			if strings.HasPrefix(src.Name, "slow") {
				w.Clock.Add(5 * time.Second)
			}
			order.WriteString(src.Name[:4] + " ")
		}}
		w.Service = w.Node(func(d *knowledge.Deps, _ *knowledge.Config) { d.Reader = reader })
		for i := range 8 {
			w.Files.Put(home, fmt.Sprintf("/a/slow%d.txt", i), clinic)
			w.Files.Put(other, fmt.Sprintf("/a/fast%d.txt", i), clinic)
		}
		w.MustCreate(t, home, "Slow", "/a", knowledge.Delegates)
		w.MustCreate(t, other, "Fast", "/a", knowledge.Delegates)
		w.Follow(t)
		for range 9 {
			if _, err := w.ReadOne(t.Context(), "me"); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(order.String(), "fast"); got != 8 {
			t.Errorf("the order is %s", &order)
		}
	})
}
