package knowledgesql

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Outbox hears of documents in the transaction that ends their reading, so that it can
// pass on what was committed and nothing else.
type Outbox interface {
	EmitIn(ctx context.Context, tx sqldb.Querier, namespace, kind string, at time.Time, data any) error
}

// WithOutbox returns the store with somebody who hears of documents.
func (s *Store) WithOutbox(o Outbox) *Store {
	out := *s
	out.outbox = o
	return &out
}

// The names of what is reported. They are a contract with those who listen.
const (
	eventIngested = "knowledge.ingested"
	eventFailed   = "knowledge.failed"
)

// readReport tells of a document by ids: neither its path nor its content leaves.
type readReport struct {
	CollectionID string `json:"collectionId"`
	FileID       string `json:"fileId"`
	Version      int64  `json:"version"`
	Pages        int    `json:"pages,omitempty"`
	Passages     int    `json:"passages,omitempty"`
	Language     string `json:"language,omitempty"`
	// Reason is one of a fixed set of texts.
	Reason string `json:"reason,omitempty"`
}

func (s *Store) report(ctx context.Context, tx sqldb.Querier, kind string, w knowledge.Work) error {
	if s.outbox == nil {
		return nil
	}
	return s.outbox.EmitIn(ctx, tx, w.Namespace, kind, w.Read, readReport{
		CollectionID: w.Collection, FileID: w.FileID, Version: w.Version, Pages: w.Pages, Passages: w.Passages,
		Language: w.Language, Reason: w.Why,
	})
}
