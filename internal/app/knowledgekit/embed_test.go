package knowledgekit_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// The doctor asks the service for a vector, says how many passages wait for it, and
// tells of an outage without its key.
func TestTheDoctorAsksForAVector(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	w.MustCreate(t, "owner", "Village", "/village", knowledge.Everybody)
	w.Files.Put("owner", "/village/mill.txt", "# Mill\nThe mill grinds maize on Fridays.")
	w.Settle(t)
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"index": 0, "embedding": []float64{1, 2, 3}}}})
	}))
	t.Cleanup(server.Close)
	if said, err := knowledgekit.ExamineEmbeddings(t.Context(), w.DB, config.Knowledge{}); said != "" || err != nil {
		t.Errorf("without a service: %q, %v", said, err)
	}
	s := config.Knowledge{EmbeddingsModel: "m", EmbeddingsKey: "sesame"}
	if err := s.EmbeddingsURL.UnmarshalText([]byte(server.URL)); err != nil {
		t.Fatal(err)
	}
	said, err := knowledgekit.ExamineEmbeddings(t.Context(), w.DB, s)
	if err != nil || said != "m answers with vectors of 3 dimensions; 1 passages wait for it" {
		t.Errorf("%q, %v", said, err)
	}
	down.Store(true)
	if _, err = knowledgekit.ExamineEmbeddings(t.Context(), w.DB, s); err == nil ||
		!strings.Contains(err.Error(), "status 503; 1 passages wait") || strings.Contains(err.Error(), "sesame") {
		t.Errorf("an outage: %v", err)
	}
}
