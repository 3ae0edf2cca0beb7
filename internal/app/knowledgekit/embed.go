package knowledgekit

import (
	"context"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeembed"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
)

// NewEmbedder makes the embedder of the settings; nil when none is set.
func NewEmbedder(s config.Knowledge) (knowledge.Embedder, error) {
	if !s.EmbeddingsURL.Given() {
		return nil, nil //nolint:nilnil // documents are found by words alone
	}
	e, err := newService(s)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func newService(s config.Knowledge) (*knowledgeembed.Service, error) {
	e, err := knowledgeembed.New(knowledgeembed.Config{
		BaseURL: s.EmbeddingsURL.Reveal(), Key: s.EmbeddingsKey.Reveal(), Model: s.EmbeddingsModel,
	})
	if err != nil {
		return nil, fmt.Errorf("EMBEDDINGS_URL: %w", err)
	}
	return e, nil
}

// measureEmbeddings shows operators how this node gets along with the embedder.
func measureEmbeddings(m *telemetry.Metrics, svc *knowledge.Service) {
	for name, counter := range map[string]struct {
		help string
		read func(knowledge.EmbeddingStats) int64
	}{
		"knowledge_embedded_questions_total": {"Questions that the embeddings service was asked about.", func(s knowledge.EmbeddingStats) int64 { return s.Questions }},
		"knowledge_embedded_passages_total":  {"Passages that the embeddings service was asked about.", func(s knowledge.EmbeddingStats) int64 { return s.Passages }},
		"knowledge_embedding_failures_total": {"Requests that the embeddings service did not answer, or refused.", func(s knowledge.EmbeddingStats) int64 { return s.Failures }},
		"knowledge_answers_by_words_total":   {"Questions that were answered by words alone for want of their vector.", func(s knowledge.EmbeddingStats) int64 { return s.ByWords }},
	} {
		m.CounterFunc(name, counter.help, func() float64 { return float64(counter.read(svc.EmbeddingStats())) })
	}
}

// checkTimeout is how long the doctor waits for the embeddings service.
const checkTimeout = 10 * time.Second

// ExamineEmbeddings asks the embeddings service for a vector, and says what it is
// like and how many passages wait for it; nothing when none is set.
func ExamineEmbeddings(ctx context.Context, db *sqldb.DB, s config.Knowledge) (string, error) {
	if !s.EmbeddingsURL.Given() {
		return "", nil
	}
	e, err := newService(s)
	if err != nil {
		return "", err
	}
	_, waiting, err := knowledgesql.New(db).Unembedded(ctx, e.Model())
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	dimensions, err := e.Check(ctx)
	if err != nil {
		return "", fmt.Errorf("%w; %d passages wait for it, and questions are answered by words alone", err, waiting)
	}
	return fmt.Sprintf("%s answers with vectors of %d dimensions; %d passages wait for it", e.Model(), dimensions, waiting), nil
}
