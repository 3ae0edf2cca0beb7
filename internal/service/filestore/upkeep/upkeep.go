// Package upkeep keeps the file store tidy: it sweeps what nobody can reach any
// more, and has a doctor who compares records with objects.
//
// It promises to remove nothing that a record names or a writer still writes, and
// that it may run on every node, beside all others. It refuses to repair what is
// damaged: it names it.
package upkeep

import (
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Service keeps a file store tidy.
type Service struct {
	files   *filestore.Service
	store   filestore.Store
	objects blob.Store
}

// New returns a Service.
func New(files *filestore.Service) *Service {
	return &Service{files, files.Records(), files.Objects()}
}
