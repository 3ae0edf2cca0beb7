// Package knowledge answers from a community's own documents, with their sources.
//
// A collection is a folder of the file store whose documents are read into
// passages, and a set of readers. The service promises that what is added to,
// changed in or taken from the folder is known, known anew or forgotten within
// seconds, whatever dies in between; that a question sees the passages that the
// asker may read and nothing else, down to the statistics of the ranking; and that
// text of documents is in clear nowhere at rest. It refuses to open originals: that
// is the file store's right to give. It knows no HTTP and no SQL, and of files,
// parsers and who is a member only the interfaces that it declares.
//
// Decisions: ADR 0164, ADR 0224.
package knowledge

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// Bounds of collections and questions.
const (
	MaxCollections = 100 // of one namespace
	MaxNested      = 7   // collections around each other
	MaxSearched    = 256 // collections that one question is put to
	MaxReaders     = 500 // named for one collection
	MaxName        = 80  // bytes
	MaxQuery       = 1000
	MaxHits        = 20
	DefaultHits    = 5
	MaxPage        = 200
)

// DefaultCache is how many bytes of opened segments a node keeps in memory.
const DefaultCache = 64 << 20

// Config of a Service. Zero values choose defaults, but the master key must be given.
type Config struct {
	MasterKey seal.Key
	// OldKeys open collections that were not wrapped again yet.
	OldKeys []seal.Key
	// InForce is the key to wrap new collections under, one of those: another node may
	// have a newer one (ADR 0238). Nil is the master key.
	InForce func(context.Context) (seal.Key, error)
	// Node names this process in the queue.
	Node string
	// Readers is how many documents are read at once on this node; 0 is 2.
	Readers int
	// MaxDocument is the largest document that is read; 0 is 64 MiB.
	MaxDocument int64
	// CacheBytes bounds the opened pages of segments in memory; 0 is DefaultCache.
	CacheBytes int
}

// vectorBytes bounds the vectors in memory. What a question would need beyond that is
// found by words alone.
const vectorBytes = 256 << 20

// Deps are what a Service works with.
type Deps struct {
	Store  Store
	Files  Files
	Blobs  blob.Store
	Reader Reader
	// Member reports whether a DID is a member of the community; nil knows none.
	Member func(ctx context.Context, did string) (bool, error)
	// Embedder, when set, finds passages by what they mean, too.
	Embedder Embedder
	// Synonyms, when set, is what words mean to the community, as it says now.
	Synonyms func() *analyse.Synonyms
	// Counted reports whether a token is by a link for a number of readings: those are
	// of files, and reach no passages. Nil knows no such links.
	Counted func(ctx context.Context, p identity.Principal) (bool, error)
	// Hint, when set, tells the other nodes to look now.
	Hint func()
	// Quiet, when set, spares workers looks that would find nothing.
	Quiet  *quiet.Watch
	Logger *slog.Logger     // nil is silent
	Now    func() time.Time // nil is time.Now
}

// Service is the community's knowledge.
type Service struct {
	Deps
	cfg   Config
	keys  *keyring
	shelf *bookcase
	// vectors are what the embedder made; nil without one.
	vectors *vectorShelf
	embeds  embedding
	wake    *alarm
	// words are what people ask with where documents say others, read when the
	// first question comes.
	words func() *analyse.Synonyms
	// meant is those with the community's own, joined when the latter changed.
	meant atomic.Pointer[joinedWords]
	// tidied is the id after which the round of tidying goes on.
	tidied atomic.Value
}

// New returns a Service.
func New(d Deps, cfg Config) *Service {
	if cfg.Readers <= 0 {
		cfg.Readers = 2
	}
	if cfg.MaxDocument <= 0 {
		cfg.MaxDocument = 64 << 20
	}
	if cfg.CacheBytes <= 0 {
		cfg.CacheBytes = DefaultCache
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Hint == nil {
		d.Hint = func() {}
	}
	if d.Synonyms == nil {
		d.Synonyms = func() *analyse.Synonyms { return nil }
	}
	if d.Counted == nil {
		d.Counted = func(context.Context, identity.Principal) (bool, error) { return false, nil }
	}
	if d.Member == nil {
		d.Member = func(context.Context, string) (bool, error) { return false, nil }
	}
	s := &Service{
		Deps: d, cfg: cfg, keys: newKeyring(cfg), wake: newAlarm(),
		words: sync.OnceValue(analyse.Concepts),
	}
	model := ""
	if d.Embedder != nil {
		model = d.Embedder.Model()
		s.vectors = newVectorShelf(d.Blobs, s.keys, vectorBytes)
	}
	s.shelf = newBookcase(d.Store, d.Blobs, s.keys, cfg.CacheBytes, model)
	return s
}

// joinedWords are everyday words with those that a community wrote down.
type joinedWords struct{ own, all *analyse.Synonyms }

// synonyms are what words mean, to everybody and to the community.
func (s *Service) synonyms() *analyse.Synonyms {
	own := s.Synonyms()
	if own == nil {
		return s.words()
	}
	if joined := s.meant.Load(); joined != nil && joined.own == own {
		return joined.all
	}
	joined := &joinedWords{own, s.words().With(own)}
	s.meant.Store(joined)
	return joined.all
}
