package knowledgesql

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Outbox hears of documents and of questions to people in the transaction of what happened
// to them, so that it can pass on what was committed and nothing else.
type Outbox interface {
	EmitIn(ctx context.Context, tx sqldb.Querier, namespace, kind string, at time.Time, data any) error
}

// WithOutbox returns the store with somebody who hears of documents and questions.
func (s *Store) WithOutbox(o Outbox) *Store {
	out := *s
	out.outbox = o
	return &out
}

// WithQuiet returns the store with what spares its workers looks that would find nothing.
func (s *Store) WithQuiet(w *quiet.Watch) *Store {
	out := *s
	out.quiet = w
	return &out
}

// The names of what is reported. They are a contract with those who listen.
const (
	eventIngested = "knowledge.ingested"
	eventFailed   = "knowledge.failed"
	eventRemoved  = "knowledge.removed"
	eventAsked    = "knowledge.asked"
	eventSettled  = "knowledge.settled"
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

// removedReport tells of a document that is in a collection no more, or of a collection that
// is none: then there is no file.
type removedReport struct {
	CollectionID string `json:"collectionId"`
	FileID       string `json:"fileId,omitempty"`
}

// inquiryReport names a question to people: neither its words nor its asker leave.
type inquiryReport struct {
	CollectionID string `json:"collectionId"`
	InquiryID    string `json:"inquiryId"`
	// Status is what became of it; empty while it waits.
	Status string `json:"status,omitempty"`
}

func (s *Store) reportRead(ctx context.Context, tx sqldb.Querier, kind string, w knowledge.Work) error {
	return s.tell(ctx, tx, w.Namespace, kind, w.Read, readReport{
		CollectionID: w.Collection, FileID: w.FileID, Version: w.Version, Pages: w.Pages, Passages: w.Passages,
		Language: w.Language, Reason: w.Why,
	})
}

// reportSettled tells the owner of a question's collection what became of it.
func (s *Store) reportSettled(ctx context.Context, tx sqldb.Querier, in inquiryReport, at time.Time) error {
	var ns string
	if err := tx.QueryRowContext(ctx, `SELECT ns FROM knowledge_collections WHERE id = $1`, in.CollectionID).Scan(&ns); err != nil {
		return absent(err, "collection")
	}
	return s.tell(ctx, tx, ns, eventSettled, at, in)
}

// tell passes a report on to the outbox, if there is one.
func (s *Store) tell(ctx context.Context, tx sqldb.Querier, ns, kind string, at time.Time, data any) error {
	if s.outbox == nil {
		return nil
	}
	return s.outbox.EmitIn(ctx, tx, ns, kind, at, data)
}
