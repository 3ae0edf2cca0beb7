// Package carimport takes in CAR archives: as files and folders, or as a graph of
// blocks that stays as it is.
//
// Both promise that every block was checked against its CID before anything is stored,
// and that memory holds one block and the list of their places, whatever the archive's
// size. As files, UnixFS files and folders (sharded ones too) become files below a
// path: the archive is kept sealed while it is unpacked, everything is looked through
// before the first file is written, and an import that was cut short is finished
// by repeating it. The work grows with what was sent and what becomes of it,
// however its blocks are linked, and together the files are no larger than one
// upload may be. As blocks, the archive is one file, and the IPFS gateway serves
// what is in it, whatever it is. It refuses archives of version 2, hashes other
// than SHA-256 and SHA-512, blocks beyond 4 MiB, symbolic links as files, and
// what is not whole.
package carimport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/unixfs"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/blockstore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// MediaType is what an archive that is kept as blocks is stored as.
const MediaType = "application/vnd.ipld.car"

// Bounds of one import.
const (
	maxBlocks    = 200_000
	maxFiles     = 20_000
	maxNames     = 40_000 // of files and folders
	maxDepth     = 100
	placesAtOnce = 5_000
	// planned is about what the places of blocks and the paths of files have in memory.
	planned = 12 << 20
	// maxPaths bounds the paths of a plan together: each entry of a folder under a long
	// path has all of it.
	maxPaths = 16 << 20
	// An answer names so many files, with so many bytes of paths.
	namedFiles = 1000
	namedPaths = 1 << 20
	namedFile  = 256 // bytes that a file takes besides its path
	// What is read of a spooled archive grows with what was sent and with what becomes
	// of it, never with how often its blocks are linked: so many bytes for nothing, and
	// as many times the archive's size. A block counts as some bytes more than it has.
	readAnyway = 64 << 20
	readTimes  = 4
	readBlock  = 256
)

// Service imports archives.
type Service struct {
	files   *filestore.Service
	folders *folder.Service
	places  blockstore.Store
}

// New returns a Service.
func New(files *filestore.Service, folders *folder.Service, places blockstore.Store) *Service {
	return &Service{files, folders, places}
}

// Archive is a CAR that somebody sends.
type Archive struct {
	// Path is the folder below which files go, or the file itself when the root is one,
	// or where the archive is kept.
	Path string
	Body io.Reader
	Size int64 // when it is known, else 0
	// Overwrite replaces files that are there; without it they are in the way.
	Overwrite bool
}

func (a Archive) mode() filestore.Mode {
	if a.Overwrite {
		return filestore.Upsert
	}
	return filestore.CreateOnly
}

// Imported is what became of an archive: Count files, of which Files are the first. Named
// is about how many bytes these are in an answer.
type Imported struct {
	Root  string // its first root, as text
	Count int
	Files []File
	Named int64
	Bytes int64
}

func (i *Imported) add(f File) {
	i.Count, i.Bytes = i.Count+1, i.Bytes+f.Size
	named := i.Named + int64(len(f.Path)) + namedFile
	if len(i.Files) == i.Count-1 && len(i.Files) < namedFiles && named <= namedPaths {
		i.Files, i.Named = append(i.Files, f), named
	}
}

// File is a file that was imported.
type File struct {
	filestore.File
	// From is the CID that it has in the archive: another one where the archive's
	// blocks were cut by other rules.
	From string
	// Unchanged says that it was there already.
	Unchanged bool
}

// index is where the blocks of an archive are, by multihash.
type index map[string]blockstore.Place

func (x index) add(id string, at, size int64) error {
	if len(x) == maxBlocks {
		return fault.Newf(fault.TooLarge, "an archive has at most %d blocks", maxBlocks)
	}
	hash, err := unixfs.Multihash(id)
	if err != nil {
		return err
	}
	x[hash] = blockstore.Place{Hash: hash, At: at, Size: size}
	return nil
}

// stream checks an archive while it is stored.
func (a Archive) stream() (*car.Stream, index) {
	blocks := index{}
	return car.NewStream(a.Body, blocks.add), blocks
}

// checked gives damage of an archive its kind, before who stores it does.
type checked struct{ *car.Stream }

func (c checked) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if errors.Is(err, io.EOF) {
		return n, err
	}
	return n, archiveError(err)
}

func archiveError(err error) error {
	switch {
	case errors.Is(err, car.ErrVersion):
		return fault.Wrap(fault.Invalid, "the archive is not a CAR of version 1", err)
	case errors.Is(err, car.ErrMismatch):
		return fault.Wrap(fault.Invalid, "a block of the archive does not match its CID", err).WithCode("block_mismatch")
	case errors.Is(err, car.ErrMalformed), errors.Is(err, unixfs.ErrMalformed), errors.Is(err, ipld.ErrMalformed):
		return fault.Wrap(fault.Invalid, "the archive cannot be read: "+err.Error(), err)
	case errors.Is(err, unixfs.ErrTooLarge):
		return fault.Wrap(fault.TooLarge, "the archive's graph is too large or too deep", err)
	}
	return err
}

// Keep stores an archive as it is, and notes where its blocks are.
func (s *Service) Keep(ctx context.Context, a filestore.Access, in Archive) (Imported, error) {
	stream, blocks := in.stream()
	r, err := s.files.Put(ctx, a, filestore.Put{
		Path: in.Path, Mode: in.mode(), MimeType: MediaType, Body: checked{stream}, Size: in.Size,
	})
	if err != nil {
		return Imported{}, err
	}
	places := make([]blockstore.Place, 0, min(len(blocks), placesAtOnce))
	save := func(done bool) error {
		err := s.places.SavePlaces(ctx, r.File.Blob, blockstore.AsArchive, places, done)
		places = places[:0]
		return err
	}
	for _, p := range blocks {
		if places = append(places, p); len(places) == placesAtOnce {
			if err := save(false); err != nil {
				return Imported{}, err
			}
		}
	}
	if err := save(true); err != nil {
		return Imported{}, err
	}
	out := Imported{Root: ipld.CIDText(stream.Roots()[0])}
	out.add(File{File: r.File, From: r.File.CID})
	return out, nil
}

// Unpack stores the files of an archive with one root.
func (s *Service) Unpack(ctx context.Context, a filestore.Access, in Archive) (Imported, error) {
	base, err := filename.CleanFolder(in.Path)
	if err != nil {
		return Imported{}, err
	}
	stream, blocks := in.stream()
	kept, err := s.files.Spool(ctx, a, checked{stream}, in.Size)
	if err != nil {
		return Imported{}, err
	}
	defer kept.Release()
	// Not before all was sent: nobody hears that a client has left who has more to send.
	if err := ratelimit.HoldingOf(ctx).Take(ctx, planned); err != nil {
		return Imported{}, err
	}
	if len(stream.Roots()) != 1 {
		return Imported{}, fault.New(fault.Invalid, "an archive with several roots can be kept as blocks alone")
	}
	p := plan{
		blocks: blocks, kept: kept.Opened, left: readAnyway + readTimes*kept.Size(),
		room: s.files.MaxUpload(), checked: map[string]bool{},
	}
	if err := p.add(base, stream.Roots()[0], 0); err != nil {
		return Imported{}, archiveError(err)
	}
	out := Imported{Root: ipld.CIDText(stream.Roots()[0])}
	for _, empty := range p.empty {
		if _, _, err := s.folders.Make(ctx, a, empty); err != nil && !fault.Is(err, fault.Conflict) {
			return out, about(empty, err)
		}
	}
	for _, e := range p.files {
		f, err := s.write(ctx, a, in, &p, e)
		if err != nil {
			return out, about(e.path, archiveError(err))
		}
		out.add(f)
	}
	return out, nil
}

func about(name string, err error) error {
	e := fault.From(err)
	return fault.Wrap(e.Kind, name+": "+e.Message, err).WithCode(e.Code)
}

// write stores one file, unless it is there already.
func (s *Service) write(ctx context.Context, a filestore.Access, in Archive, p *plan, e entry) (File, error) {
	from := ipld.CIDText(e.id)
	if scope, err := a.Scope(filestore.Read); err == nil {
		if f, err := s.files.At(ctx, scope, e.path); err == nil && f.CID == from {
			return File{f, from, true}, nil
		}
	}
	content, err := unixfs.Open(p.get, e.id)
	if err != nil {
		return File{}, err
	}
	// which the plan found small enough
	size := content.Size()
	//nolint:gosec // see addFile
	p.left += 2 * int64(size)
	//nolint:gosec // see addFile
	r, err := s.files.Put(ctx, a, filestore.Put{
		Path: e.path, Mode: in.mode(), MimeType: filestore.MediaTypeOf(e.path), Body: content, Size: int64(size),
	})
	return File{File: r.File, From: from}, err
}

// plan is what an archive will become.
type plan struct {
	blocks index
	kept   *filestore.Opened
	left   int64 // bytes that may still be read
	room   int64 // bytes that its files may still have together
	files  []entry
	empty  []string // folders
	// names is how many entries of folders were met, checked which files are whole.
	names   int
	paths   int // bytes
	checked map[string]bool
}

type entry struct{ path, id string }

// get reads a block of the archive, which was checked when it was stored.
func (p *plan) get(id string) ([]byte, error) {
	if err := p.kept.Ended(); err != nil {
		return nil, err
	}
	at, block, err := p.find(id)
	if err != nil {
		return nil, err
	}
	if p.left -= at.Size + int64(len(block)) + readBlock; p.left < 0 {
		return nil, unixfs.ErrTooLarge
	}
	if block != nil {
		return block, nil
	}
	r, err := p.kept.Range(at.At, at.Size)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	block = make([]byte, at.Size)
	_, err = io.ReadFull(r, block)
	return block, err
}

func (p *plan) find(id string) (blockstore.Place, []byte, error) {
	if block, ok := unixfs.Identity(id); ok {
		return blockstore.Place{}, block, nil
	}
	hash, err := unixfs.Multihash(id)
	if err != nil {
		return blockstore.Place{}, nil, err
	}
	at, ok := p.blocks[hash]
	if !ok {
		return at, nil, fault.New(fault.Invalid, "the archive is not whole: it lacks the block "+ipld.CIDText(id)).WithCode("block_missing")
	}
	return at, nil, nil
}

// present is get without reading leaves, to see that they are there.
func (p *plan) present(id string) ([]byte, error) {
	if codec, err := unixfs.Codec(id); err != nil || codec != unixfs.CodecRaw {
		return p.get(id)
	}
	_, block, err := p.find(id)
	return block, err
}

// add plans what is at a path, and looks whether all of it is there.
func (p *plan) add(at, id string, depth int) error {
	if depth > maxDepth {
		return unixfs.ErrTooLarge
	}
	kind, size := unixfs.File, uint64(0)
	codec, err := unixfs.Codec(id)
	if err != nil {
		return err
	}
	switch codec {
	case unixfs.CodecRaw:
		place, block, err := p.find(id)
		if err != nil {
			return err
		}
		size = uint64(place.Size) + uint64(len(block)) //nolint:gosec // sizes of blocks, of which one is zero
	case unixfs.CodecDagPB:
		block, err := p.get(id)
		if err != nil {
			return err
		}
		n, err := unixfs.Decode(block)
		if err != nil {
			return notFiles(at, err)
		}
		if kind, size = n.Kind, n.Size; len(n.Links) == 0 {
			size = uint64(len(n.Data)) // which some leave out
		}
	default:
		return notFiles(at, fmt.Errorf("codec 0x%x", codec))
	}
	switch kind {
	case unixfs.File, unixfs.RawBytes:
		return p.addFile(at, id, size)
	case unixfs.Directory, unixfs.Shard:
		return p.addFolder(at, id, depth)
	}
	return notFiles(at, fmt.Errorf("UnixFS type %d", kind))
}

// notFiles says that there is something that cannot become a file.
func notFiles(at string, err error) error {
	return fault.Wrap(fault.Invalid, at+" is no UnixFS file or folder: as=blocks keeps the archive as it is", err).WithCode("not_files")
}

func (p *plan) addFile(at, id string, size uint64) error {
	if at == "/" {
		return fault.New(fault.Invalid, "the archive is one file: name it in the path")
	}
	if len(p.files) == maxFiles {
		return fault.Newf(fault.TooLarge, "an import has at most %d files", maxFiles)
	}
	if size > uint64(p.room) { //nolint:gosec // it is not below zero
		return fault.New(fault.TooLarge, "the files of the archive have more bytes together than one upload may have")
	}
	p.room -= int64(size) //nolint:gosec // not more than room
	if !p.checked[id] {
		w := unixfs.Walk{Get: p.present, Visit: func(string, []byte) error { return nil }}
		if err := w.Run(unixfs.Resolved{Roots: []string{id}}, unixfs.ScopeEntity, unixfs.Whole()); err != nil {
			return err
		}
		p.checked[id] = true
	}
	p.files = append(p.files, entry{at, id})
	return nil
}

// addFolder lists a folder before it goes into it: on the way down names are held, and
// no blocks.
func (p *plan) addFolder(at, id string, depth int) error {
	var below []entry
	names := map[string]bool{}
	err := unixfs.List(p.get, id, func(name, id string) error {
		if p.names++; p.names > maxNames {
			return fault.Newf(fault.TooLarge, "an import has at most %d files and folders", maxNames)
		}
		full, err := filename.CleanPath(strings.TrimSuffix(at, "/") + "/" + name)
		if err != nil || path.Base(full) != name || names[name] {
			return fault.Newf(fault.Invalid, "%s has an entry named %.100q, which no file here can have", at, name)
		}
		if p.paths += len(full); p.paths > maxPaths {
			return fault.Newf(fault.TooLarge, "the paths of an import have at most %d MiB together", maxPaths>>20)
		}
		names[name] = true
		below = append(below, entry{full, id})
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range below {
		if err := p.add(e.path, e.id, depth+1); err != nil {
			return err
		}
	}
	if len(below) == 0 && at != "/" {
		p.empty = append(p.empty, at)
	}
	return nil
}
