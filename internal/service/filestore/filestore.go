// Package filestore keeps people's files: encrypted at rest, named by path and by
// content, with every version readable and every change attributed.
//
// It promises that a version is whole or absent whatever happens in between,
// that what was acknowledged is durable, that a caller's scope is part of every
// query, and that file text is in clear nowhere at rest. It refuses to reach
// beyond a scope, and to say whether something exists there. It knows no HTTP and
// no SQL: filestorehttp and filestoremcp reach it, filestoresql and a blob.Store
// serve it. What is read and changed as text is in filetext, what finds files in
// search, files as blocks in dag, and what keeps the store tidy in upkeep.
package filestore

import (
	"context"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore/waiters"
)

// DefaultKeep is how many versions of a file a namespace retains.
const DefaultKeep = 50

// Limits that hold for every namespace.
const (
	// InlineLimit is the largest content that lives in the database, in the same
	// transaction as its version.
	InlineLimit = 32 << 10
	// MaxPage is the largest page of a listing; DefaultPage the usual one.
	MaxPage     = 200
	DefaultPage = 50
	// MaxBatch is the largest number of items in one batch.
	MaxBatch = 1000
)

type clock func() time.Time

// Config of a Service. Zero values choose defaults, but the master key must be given.
type Config struct {
	MasterKey seal.Key
	// OldKeys open namespaces that were not yet wrapped again.
	OldKeys []seal.Key
	// InForce is the key to wrap new namespaces under, one of those: another node may
	// have a newer one (ADR 0238). Nil is the master key.
	InForce   func(context.Context) (seal.Key, error)
	MaxUpload int64 // 5 GiB
	// Quota is how many bytes the versions of a namespace may have together, in the
	// trash or not; 0 is no limit.
	Quota int64
	// QuotaOf, when set, says it for each namespace in the place of Quota.
	QuotaOf func(namespace string) int64
}

const (
	// trashDays is how long a deleted file can be restored.
	trashDays = 30
	// grace is how long dead objects stay for open readers.
	grace = time.Hour
	// uploadTTL is how long a resumable upload may rest.
	uploadTTL = 24 * time.Hour
)

// Deps are what a Service works with.
type Deps struct {
	Store  Store
	Blobs  blob.Store
	Logger *slog.Logger     // nil is silent
	Now    func() time.Time // nil is time.Now
	// Short, when set, says that there is, or lately was, no room for new content.
	Short func() bool
	// Hint, when set, is told that a namespace changed: others may look now.
	Hint func(namespace string)
}

// Service is the file store.
type Service struct {
	store   Store
	blobs   blob.Store
	keys    *keyring
	cfg     Config
	now     clock
	log     *slog.Logger
	waiters *waiters.Waiters
	hint    func(string)
	short   func() bool
}

// New returns a Service.
func New(d Deps, cfg Config) *Service {
	if cfg.MaxUpload <= 0 {
		cfg.MaxUpload = 5 << 30
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Hint == nil {
		d.Hint = func(string) {}
	}
	if d.Short == nil {
		d.Short = func() bool { return false }
	}
	return &Service{
		store: d.Store, blobs: d.Blobs, cfg: cfg, now: d.Now, log: d.Logger, hint: d.Hint, short: d.Short,
		keys: newKeyring(d.Store, d.Now, cfg), waiters: waiters.New(),
	}
}

// Records are where the records are, and Objects the sealed bytes: for the packages
// below this one, which put their caller's scope into each query as this one does.
func (s *Service) Records() Store { return s.store }

// Objects is described at Records.
func (s *Service) Objects() blob.Store { return s.blobs }

// Log is for what concerns operators.
func (s *Service) Log() *slog.Logger { return s.log }

// Retention is how many days deleted files stay in the trash, and how long the
// objects of dead content stay for open readers.
func (s *Service) Retention() (days int, forReaders time.Duration) { return trashDays, grace }

// Short reports that there is, or lately was, no room for new content.
func (s *Service) Short() bool { return s.short() }

// Now is the time by which links and uploads end.
func (s *Service) Now() time.Time { return s.now() }

// Quota is how many bytes a namespace may hold; 0 is no limit (ADR 0080).
func (s *Service) Quota(namespace string) int64 {
	if s.cfg.QuotaOf == nil {
		return s.cfg.Quota
	}
	return s.cfg.QuotaOf(namespace)
}

// MaxUpload is the largest file.
func (s *Service) MaxUpload() int64 { return s.cfg.MaxUpload }
