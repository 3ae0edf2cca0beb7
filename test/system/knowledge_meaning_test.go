package system_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
	"github.com/castalia-org/castalia/test/system"
)

// embeddingsKey is what the stand-in for an embeddings service wants to be shown.
const embeddingsKey = "sesame-for-embeddings"

// embeddings is an embeddings service with OpenAI's endpoint whose vectors are a
// deterministic embedder's: it is about plumbing, and not about how well a model finds.
func embeddings(t testing.TB) (e *knowledgetest.Embedder, env []string) {
	t.Helper()
	e = knowledgetest.VillageEmbedder("village")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model string
			Input []string
		}
		err := json.NewDecoder(r.Body).Decode(&body)
		if err != nil || r.URL.Path != "/v1/embeddings" || body.Model != e.Name || r.Header.Get("Authorization") != "Bearer "+embeddingsKey {
			t.Errorf("the embeddings service is asked at %s for %q: %v", r.URL.Path, body.Model, err)
		}
		vectors, err := e.Embed(r.Context(), body.Input)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		type entry struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		entries := make([]entry, len(vectors))
		for i, v := range vectors {
			entries[i] = entry{i, v}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": entries}) // whoever left does not mind
	}))
	t.Cleanup(server.Close)
	return e, []string{"EMBEDDINGS_URL=" + server.URL + "/v1", "EMBEDDINGS_MODEL=" + e.Name, "EMBEDDINGS_KEY=" + embeddingsKey}
}

// found asks each node until the first hit is in the document of that name, or nothing
// is found when the name is empty.
func found(t testing.TB, w *system.World, who did.Signer, question, name string) {
	t.Helper()
	for i := range w.Nodes {
		system.Eventually(t, fmt.Sprintf("node %d finds %q for %q", i, name, question), func() error {
			a, err := documents(t, w.Node(i), who).Ask(t.Context(), question)
			if err != nil {
				return err
			}
			if name == "" && len(a.Hits) > 0 || name != "" && (len(a.Hits) == 0 || a.Hits[0].Name != name) {
				return fmt.Errorf("%+v", a)
			}
			return nil
		})
	}
}

// With an embeddings service passages are found by what they mean, on every node and
// by those alone who may read them; while it is out words find what they can, and new
// documents wait for it.
func TestKnowledgeByMeaning(t *testing.T) {
	t.Parallel()
	for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			e, env := embeddings(t)
			w := system.Start(t, shape, append(env, "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")...)
			owner := somebody(t)
			c := documents(t, w.Node(0), owner)
			if _, err := c.Create(t.Context(),
				knowledgehttp.CollectionBody{Name: "Village", Folder: "/village", Readers: "delegates"}); err != nil {
				t.Fatal(err)
			}
			put := func(name, text string) {
				t.Helper()
				if _, err := files(t, w.Node(1), owner).Put(t.Context(), "/village/"+name, "text/markdown", strings.NewReader(text),
					int64(len(text)), cid.CID{}); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range knowledgetest.Village() {
				put(name, text)
			}
			found(t, w, owner, knowledgetest.VillageWords, knowledgetest.VillageHours)
			found(t, w, somebody(t), knowledgetest.VillageWords, "")

			e.Down.Store(true)
			found(t, w, owner, "what roof17 has house number17", "17.txt")
			found(t, w, owner, knowledgetest.VillageWords, "")
			const later = "later.txt"
			put(later, "# Later\nThe dispensary opens; the dispensary opens; beside the weir.")
			found(t, w, owner, "what is beside the weir", later)

			e.Down.Store(false)
			found(t, w, owner, knowledgetest.VillageWords, later)
			for i, n := range w.Nodes {
				if strings.Contains(n.Log(), embeddingsKey) {
					t.Errorf("the log of node %d has the key of the embeddings service", i)
				}
			}
		})
	}
}
