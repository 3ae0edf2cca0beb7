// Package blockstore finds the blocks of stored files by their hash, for those who ask
// for blocks instead of files.
//
// A block is a place in a file's content, or an inner node that is made anew from the
// list of leaves; nothing is stored twice. It promises that a block is looked for
// inside the caller's scope alone, by a query, and that each one is checked against
// its hash when it is read, so that damage never leaves under a good name. The places
// of a file are noted when a block is first looked for in vain: files that nobody
// reads by blocks cost nothing.
package blockstore

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/unixfs"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Where says among which files a block is looked for.
type Where struct {
	Scope filestore.Scope
	// Public means files that everybody may read, in any namespace; Scope does not count.
	Public bool
}

// Place is where a block is in a file's content.
type Place struct {
	Hash string // a multihash
	At   int64  // below zero: an inner node of the file
	Size int64
}

// Kind says as what a file's content was read.
type Kind string

// Every file is a file: leaves, and nodes over them. An archive contains blocks as well.
const (
	AsFile    Kind = "file"
	AsArchive Kind = "car"
)

// Store keeps places. Files in the trash have none.
type Store interface {
	// FileOfContent returns a file with the content.
	FileOfContent(ctx context.Context, w Where, content string) (filestore.File, error)
	// FindBlock returns a file with the block, and where in it.
	FindBlock(ctx context.Context, w Where, hash string) (filestore.File, Place, error)
	// Unplaced returns files of several leaves whose places are not noted yet.
	Unplaced(ctx context.Context, w Where, limit int) ([]filestore.File, error)
	// SavePlaces notes the places of a content. Only the last of several calls is done.
	SavePlaces(ctx context.Context, blob string, kind Kind, places []Place, done bool) error
}

// maxUnplaced is how many files have their places noted for one request.
const maxUnplaced = 256

// Service finds blocks.
type Service struct {
	files *filestore.Service
	store Store
}

// New returns a Service.
func New(files *filestore.Service, store Store) *Service { return &Service{files, store} }

// Public reads blocks of files that everybody may read.
func (s *Service) Public(ctx context.Context) *Reader {
	return s.reader(ctx, filestore.Access{}, Where{Public: true})
}

// For reads blocks of files that an access reaches, and of those that everybody may read.
func (s *Service) For(ctx context.Context, a filestore.Access) (*Reader, error) {
	scope, err := a.ContentScope()
	if err != nil {
		return nil, err
	}
	return s.reader(ctx, a, Where{Scope: scope}, Where{Public: true}), nil
}

func (s *Service) reader(ctx context.Context, a filestore.Access, where ...Where) *Reader {
	return &Reader{
		ctx: ctx, svc: s, access: a, where: where, contents: map[string]*filestore.Opened{}, near: map[string]spot{},
	}
}

// Reader reads blocks for one request. It is for one goroutine.
type Reader struct {
	ctx      context.Context //nolint:containedctx // a Reader lives as long as its request
	svc      *Service
	access   filestore.Access
	where    []Where
	contents map[string]*filestore.Opened
	// near are the blocks of files that were opened.
	near map[string]spot
}

// spot is a place in an opened content, or a node that was made.
type spot struct {
	content *filestore.Opened
	Place
	node []byte
}

// Use counts the reading under the links that permit it.
func (r *Reader) Use() error { return r.svc.files.CountUse(r.ctx, r.access) }

// Block returns the block of a binary CID. One that is in no file in reach is NotFound.
func (r *Reader) Block(id string) ([]byte, error) {
	if block, ok := unixfs.Identity(id); ok {
		return block, nil
	}
	hash, err := unixfs.Multihash(id)
	if err != nil {
		return nil, noBlock()
	}
	at, ok := r.near[hash]
	for i := 0; !ok && i < len(r.where); i++ {
		at, ok, err = r.locate(r.where[i], id, hash)
		if err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, noBlock()
	}
	return at.read()
}

func noBlock() error { return fault.New(fault.NotFound, "no such block") }

func (p spot) read() ([]byte, error) {
	if p.node != nil {
		return p.node, nil
	}
	body, err := p.content.Range(p.At, p.Size)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	block := make([]byte, p.Size)
	if _, err := io.ReadFull(body, block); err != nil {
		return nil, err
	}
	if !unixfs.Matches(p.Hash, block) {
		return nil, filestore.Corrupt(fmt.Errorf("block at %d has another hash", p.At))
	}
	return block, nil
}

// locate looks for a block: as the content of a file, among the places that are noted,
// and in files whose places are not noted yet.
func (r *Reader) locate(w Where, id, hash string) (spot, bool, error) {
	isFile := len(hash) == 34 && hash[:2] == "\x12\x20" // all files are named by SHA-256
	if codec, err := unixfs.Codec(id); err == nil && isFile && (codec == unixfs.CodecRaw || codec == unixfs.CodecDagPB) {
		content := cid.New(cid.Codec(codec), cid.Digest([]byte(hash[2:])))
		f, err := r.svc.store.FileOfContent(r.ctx, w, content.String())
		if err == nil {
			return r.openFile(f, hash)
		}
		if !fault.Is(err, fault.NotFound) {
			return spot{}, false, err
		}
	}
	f, place, err := r.svc.store.FindBlock(r.ctx, w, hash)
	if fault.Is(err, fault.NotFound) {
		f, place, err = r.svc.note(r.ctx, w, hash)
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return spot{}, false, nil
	case err != nil:
		return spot{}, false, err
	case place.At < 0:
		return r.openFile(f, hash)
	}
	o, err := r.open(f)
	return spot{content: o, Place: place}, err == nil, err
}

func (r *Reader) open(f filestore.File) (*filestore.Opened, error) {
	if o := r.contents[f.Blob]; o != nil {
		return o, nil
	}
	o, err := r.svc.files.Open(r.ctx, f.Content)
	if err == nil {
		r.contents[f.Blob] = o
	}
	return o, err
}

// openFile makes all blocks of a file near, of which one is asked for.
func (r *Reader) openFile(f filestore.File, hash string) (spot, bool, error) {
	o, err := r.open(f)
	if err != nil {
		return spot{}, false, err
	}
	err = r.svc.blocksOf(r.ctx, f, func(p Place, node []byte) { r.near[p.Hash] = spot{o, p, node} })
	if err != nil {
		return spot{}, false, err
	}
	at, ok := r.near[hash]
	return at, ok, nil
}

// blocksOf gives the blocks of a file: leaves by their places, inner nodes as they are.
func (s *Service) blocksOf(ctx context.Context, f filestore.File, give func(p Place, node []byte)) error {
	if f.Size <= cid.LeafSize {
		c, err := cid.Parse(f.CID)
		if err != nil {
			return filestore.Corrupt(err)
		}
		give(Place{Hash: multihash(c.Digest()), Size: f.Size}, nil)
		return nil
	}
	b, err := s.files.Records().Blob(ctx, f.Blob)
	if err != nil {
		return fmt.Errorf("find content: %w", err)
	}
	leaves, err := cid.SplitLeaves(b.Leaves)
	if err != nil {
		return filestore.Corrupt(err)
	}
	for i, d := range leaves {
		at := int64(i) * cid.LeafSize
		give(Place{multihash(d), at, min(cid.LeafSize, f.Size-at)}, nil)
	}
	root := cid.FromLeaves(leaves, f.Size, func(n cid.Block) {
		give(Place{multihash(n.CID.Digest()), -1, int64(len(n.Data))}, n.Data)
	})
	if root.CID.String() != f.CID {
		return filestore.Corrupt(fmt.Errorf("leaf list of %s gives another CID", f.ID))
	}
	return nil
}

func multihash(d cid.Digest) string { return "\x12\x20" + string(d[:]) }

// note notes the places of files that have none yet, and returns the block if it is
// in one of them.
func (s *Service) note(ctx context.Context, w Where, hash string) (found filestore.File, at Place, err error) {
	files, err := s.store.Unplaced(ctx, w, maxUnplaced)
	if err != nil {
		return filestore.File{}, Place{}, err
	}
	for _, f := range files {
		var places []Place
		err := s.blocksOf(ctx, f, func(p Place, _ []byte) {
			places = append(places, p)
			if p.Hash == hash {
				found, at = f, p
			}
		})
		if err != nil {
			return filestore.File{}, Place{}, err
		}
		if err := s.store.SavePlaces(ctx, f.Blob, AsFile, places, true); err != nil {
			// Whoever reads does not suffer from a disk that is full: it is noted another time.
			s.files.Log().WarnContext(ctx, "places of blocks were not noted", slog.String("event", "blocks.note_failed"), slog.Any("error", err))
		}
		if at.Hash != "" {
			return found, at, nil
		}
	}
	if len(files) == maxUnplaced {
		return filestore.File{}, Place{}, fault.New(fault.Unavailable, "The blocks of many files have yet to be noted. Please try again.")
	}
	return filestore.File{}, Place{}, noBlock()
}
