// Package dag shows files and folders as graphs of content-addressed blocks.
//
// It promises that the CIDs of files are those that the store gives everywhere,
// that a folder has the CID that importers give the same tree on a disk, with the
// empty folders in it, and that every leaf is checked against its CID on the way out.
package dag

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// Service shows a file store as blocks.
type Service struct {
	files   *filestore.Service
	store   filestore.Store
	folders *folder.Service

	mu   sync.Mutex
	held map[string]int // by plans of a namespace
}

// New returns a Service.
func New(files *filestore.Service, folders *folder.Service) *Service {
	return &Service{files: files, store: files.Records(), folders: folders, held: map[string]int{}}
}

// Bounds of one export: its files, its folders, of which few files with long paths may
// have very many, and the bytes of what a plan holds in memory, of which it makes blocks:
// paths, of up to 4 KiB each, and lists of leaves, 32 bytes for each MiB of content.
const (
	exportFiles   = 20_000
	exportFolders = 100_000
	exportPlan    = 64 << 20
)

// exportPlans bounds what the plans of a namespace hold together: a plan is held until
// its export is sent. Of small ones there is room for many.
const exportPlans = 2 * exportPlan

// heldEach is about what a plan holds of a file or a folder beside its path.
const heldEach = 256

// Export is a planned CAR: its root and its length are known before a byte of
// content is read.
type Export struct {
	svc     *Service
	ctx     context.Context //nolint:containedctx // an Export lives as long as its request
	root    cid.CID
	folders []cid.Block
	files   []exportFile
	size    int64
	use     func() error
	ns      string
	held    int // of exportPlan
}

// hold counts what the plan holds.
func (e *Export) hold(bytes int) error {
	e.held += bytes
	if e.svc.change(e.ns, bytes) > exportPlans {
		return fault.New(fault.RateLimited, "other exports of these files are under way: try again when they are done").
			WithCode("export_busy").WithRetryAfter(5 * time.Second)
	}
	if e.held > exportPlan {
		return fault.New(fault.TooLarge, "the paths and contents are too much for one export: export folders one by one").
			WithCode("export_too_large")
	}
	return nil
}

// Close forgets what the plan held.
func (e *Export) Close() {
	e.svc.change(e.ns, -e.held)
	e.held = 0
}

// change counts what the plans of a namespace hold together.
func (s *Service) change(ns string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.held[ns] + by
	if s.held[ns] = now; now == 0 {
		delete(s.held, ns)
	}
	return now
}

type exportFile struct {
	file   filestore.File
	link   cid.Link
	leaves []cid.Digest
	nodes  []cid.Block
}

// Export plans the files below a path as a UnixFS DAG: the CIDs of the files are
// those that the store gives everywhere. Whoever is done with it calls Close.
func (s *Service) Export(ctx context.Context, a filestore.Access, path string) (*Export, error) {
	scope, err := a.Scope(filestore.Read)
	if err != nil {
		return nil, err
	}
	if path, err = filename.CleanFolder(path); err != nil {
		return nil, err
	}
	e := &Export{svc: s, ctx: ctx, ns: a.Namespace, use: func() error { return s.files.CountUse(ctx, a) }}
	if err := e.read(scope, path); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// read finds what is exported and plans it.
func (e *Export) read(scope filestore.Scope, path string) error {
	files, err := e.filesUnder(scope, path)
	if err != nil {
		return err
	}
	var made []folder.Folder
	err = e.svc.folders.EachMade(e.ctx, scope, path, func(page []folder.Folder) error {
		made = append(made, page...)
		for _, f := range page {
			if err := e.hold(heldEach + len(f.Path)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(files)+len(made) == 0 && path != "/" {
		return filestore.NotFound()
	}
	if len(files)+len(made) > 1 && len(files) > 0 && files[0].Path == path {
		files = files[1:] // a name of two kinds, from an older release: the folder is meant
	}
	if err := countFolders(files, made); err != nil {
		return err
	}
	for _, f := range files {
		if err := e.add(f); err != nil {
			return err
		}
	}
	e.plan(path, made)
	return nil
}

// filesUnder lists the files at and below a path.
func (e *Export) filesUnder(scope filestore.Scope, path string) ([]filestore.File, error) {
	var all []filestore.File
	for q := (filestore.ListQuery{Under: path, Limit: 1000}); ; {
		files, err := e.svc.store.Files(e.ctx, scope, q)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if err := e.hold(heldEach + len(f.Path)); err != nil {
				return nil, err
			}
		}
		if all = append(all, files...); len(all) > exportFiles {
			return nil, fault.Newf(fault.TooLarge, "an export has at most %d files: export folders one by one", exportFiles)
		}
		if len(files) < q.Limit {
			return all, nil
		}
		q.After = files[len(files)-1].Path
	}
}

// countFolders refuses a tree of too many folders. Both lists are in path order.
func countFolders(files []filestore.File, made []folder.Folder) error {
	folders, before := 0, ""
	for len(files)+len(made) > 0 {
		next := ""
		if len(made) == 0 || len(files) > 0 && files[0].Path < made[0].Path+"/" {
			next, files = files[0].Path, files[1:]
		} else {
			next, made = made[0].Path+"/", made[1:]
		}
		if folders += newFolders(before, next); folders > exportFolders {
			return fault.Newf(fault.TooLarge, "an export has at most %d folders: export them one by one", exportFolders)
		}
		before = next
	}
	return nil
}

// newFolders counts the folders of a path that the path before it is not in.
func newFolders(before, path string) int {
	same := 0
	for same < len(before) && same < len(path) && before[same] == path[same] {
		same++
	}
	return strings.Count(path[same:], "/")
}

// add reads a file's leaves and makes its inner nodes.
func (e *Export) add(f filestore.File) error {
	x := exportFile{file: f}
	if f.Size <= cid.LeafSize {
		c, err := cid.Parse(f.CID)
		if err != nil {
			return filestore.Corrupt(err)
		}
		x.leaves = []cid.Digest{c.Digest()}
		x.link = cid.Link{CID: c, Bytes: uint64(f.Size), Cumulative: uint64(f.Size)} //nolint:gosec // a size is not negative
		e.files = append(e.files, x)
		return nil
	}
	b, err := e.svc.store.Blob(e.ctx, f.Blob)
	if err != nil {
		return fmt.Errorf("find content: %w", err)
	}
	if err := e.hold(len(b.Leaves)); err != nil {
		return err
	}
	if x.leaves, err = cid.SplitLeaves(b.Leaves); err != nil {
		return filestore.Corrupt(err)
	}
	x.link = cid.FromLeaves(x.leaves, f.Size, func(n cid.Block) { x.nodes = append(x.nodes, n) })
	if x.link.CID.String() != f.CID {
		return filestore.Corrupt(fmt.Errorf("leaf list of %s gives another CID", f.ID))
	}
	e.files = append(e.files, x)
	return nil
}

// entry is something that a folder has. The path of a folder ends with a slash: it is
// there for those in which nothing is.
type entry struct {
	path string
	link cid.Link
}

// plan makes the folders and adds up the length.
func (e *Export) plan(path string, made []folder.Folder) {
	if len(e.files) == 1 && e.files[0].file.Path == path {
		e.root = e.files[0].link.CID
	} else {
		tree := make([]entry, 0, len(e.files)+len(made))
		for _, x := range e.files {
			tree = append(tree, entry{x.file.Path, x.link})
		}
		for _, f := range made {
			tree = append(tree, entry{path: f.Path + "/"})
		}
		slices.SortFunc(tree, func(a, b entry) int { return strings.Compare(a.path, b.path) })
		e.root = e.folder(strings.TrimSuffix(path, "/")+"/", tree).CID
	}
	e.size = int64(len(e.header()))
	for _, b := range e.folders {
		e.size += section(len(b.Data))
	}
	for _, x := range e.files {
		for _, n := range x.nodes {
			e.size += section(len(n.Data))
		}
		for i := range x.leaves {
			e.size += section(x.leafLen(i))
		}
	}
}

// folder makes the blocks of a folder whose entries, at any depth and in path order,
// are given.
func (e *Export) folder(base string, tree []entry) cid.Link {
	var entries []cid.Link
	for len(tree) > 0 {
		if tree[0].path == base { // itself
			tree = tree[1:]
			continue
		}
		link := tree[0].link
		name, _, nested := strings.Cut(tree[0].path[len(base):], "/")
		n := 1
		if nested {
			below := base + name + "/"
			for n < len(tree) && strings.HasPrefix(tree[n].path, below) {
				n++
			}
			link = e.folder(below, tree[:n])
		}
		link.Name = name
		entries, tree = append(entries, link), tree[n:]
	}
	return cid.Folder(entries, func(b cid.Block) { e.folders = append(e.folders, b) })
}

func (x exportFile) leafLen(i int) int {
	return int(min(cid.LeafSize, x.file.Size-int64(i)*cid.LeafSize))
}

// section is the length of a block in the archive.
func section(data int) int64 {
	//nolint:gosec // a length is not negative
	return int64(len(binary.AppendUvarint(nil, uint64(cid.Size+data))) + cid.Size + data)
}

func (e *Export) header() []byte { return car.AppendHeader(nil, string(e.root.Bytes())) }

// Root is the CID of the exported folder or file.
func (e *Export) Root() cid.CID { return e.root }

// Size is the archive's length.
func (e *Export) Size() int64 { return e.size }

// Use counts the export under the share links that permit it, and fails when one
// of them is over. It comes before Write.
func (e *Export) Use() error { return e.use() }

// Write writes the archive. Every leaf is checked against its CID on the way.
func (e *Export) Write(w io.Writer) error {
	if _, err := w.Write(e.header()); err != nil {
		return err
	}
	for _, b := range slices.Backward(e.folders) { // parents first
		if err := writeBlock(w, b); err != nil {
			return err
		}
	}
	buf := make([]byte, cid.LeafSize)
	for _, x := range e.files {
		for _, n := range slices.Backward(x.nodes) {
			if err := writeBlock(w, n); err != nil {
				return err
			}
		}
		if err := e.writeLeaves(w, x, buf); err != nil {
			return err
		}
	}
	return nil
}

func (e *Export) writeLeaves(w io.Writer, x exportFile, buf []byte) error {
	o, err := e.svc.files.Open(e.ctx, x.file.Content)
	if err != nil {
		return err
	}
	r, err := o.Range(0, -1)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for i, want := range x.leaves {
		leaf := buf[:x.leafLen(i)]
		if _, err := io.ReadFull(r, leaf); err != nil {
			return err
		}
		if sha256.Sum256(leaf) != want {
			return filestore.Corrupt(fmt.Errorf("leaf %d of %s", i, x.file.ID))
		}
		if err := writeBlock(w, cid.Block{CID: cid.New(cid.Raw, want), Data: leaf}); err != nil {
			return err
		}
	}
	return nil
}

func writeBlock(w io.Writer, b cid.Block) error {
	if _, err := w.Write(car.AppendSection(nil, string(b.CID.Bytes()), len(b.Data))); err != nil {
		return err
	}
	_, err := w.Write(b.Data)
	return err
}
