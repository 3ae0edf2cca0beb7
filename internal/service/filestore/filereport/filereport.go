// Package filereport tells an outbox what happened to files, in the transaction in which
// it happened.
//
// It tells of files by ids and CIDs, and of links by their id: neither paths nor contents
// nor tokens leave. The names of events are a contract with those who listen.
package filereport

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Outbox hears of changes in their transaction, so that it can pass on what was
// committed and nothing else.
type Outbox interface {
	EmitIn(ctx context.Context, tx sqldb.Querier, namespace, kind string, at time.Time, data any) error
}

// The names of what is reported. They are a contract with those who listen.
const (
	eventStored  = "file.stored"
	eventChanged = "file.changed"
	eventDeleted = "file.deleted"
	eventShared  = "file.shared"
)

// changeReport tells of a file by ids and CIDs: neither path nor content leaves.
type changeReport struct {
	FileID      string       `json:"fileId"`
	Version     int64        `json:"version"`
	CID         string       `json:"cid"`
	PreviousCID string       `json:"previousCid,omitempty"`
	Size        int64        `json:"size"`
	MimeType    string       `json:"mimeType,omitempty"`
	Change      filestore.Op `json:"change"`
}

// Change reports a change of a file; to nobody where there is no outbox.
func Change(ctx context.Context, tx sqldb.Querier, to Outbox, ns string, e filestore.Event) error {
	if to == nil {
		return nil
	}
	kind := eventChanged
	switch e.Op {
	case filestore.OpCreate:
		kind = eventStored
	case filestore.OpTrash, filestore.OpPurge:
		kind = eventDeleted
	}
	return to.EmitIn(ctx, tx, ns, kind, e.At, changeReport{
		FileID: e.FileID, Version: e.Version, CID: e.CID, PreviousCID: e.Before, Size: e.Size, MimeType: e.MimeType,
		Change: e.Op,
	})
}

// shareReport names a link by its id: its token is a secret.
type shareReport struct {
	ShareID string     `json:"shareId"`
	Expires *time.Time `json:"expires,omitempty"`
}

// Share reports a new link.
func Share(ctx context.Context, tx sqldb.Querier, to Outbox, sh filestore.Share) error {
	if to == nil {
		return nil
	}
	report := shareReport{ShareID: sh.ID}
	if !sh.Expires.IsZero() {
		at := sh.Expires.UTC()
		report.Expires = &at
	}
	return to.EmitIn(ctx, tx, sh.Namespace, eventShared, sh.Created, report)
}
