package folder

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// treeStep is how many records a listing of a folder reads at once; pageStep is for
// those who show a whole page in one query.
const (
	treeStep = 256
	pageStep = 10_001
)

// maxPaths bounds the bytes of the paths that one listing reads, in which answers are
// counted many times over: paths are up to 4 KiB each.
const maxPaths = 4 << 20

// MaxNodes is how many entries of a folder, or a few more, one listing gives.
const MaxNodes = 10_000

// Node is an entry of a folder.
type Node struct {
	Path     string
	Name     string
	IsFolder bool
	Folder   Folder         // when it is one that was made
	File     filestore.File // when it is not a folder
	Mark     filestore.Mark
}

// Tree returns the direct children of a folder, in path order. A folder that is
// absent is empty. A subfolder costs one look at the index, however much it holds.
// When there are more, next is what to give as after; it says nothing else.
func (s *Service) Tree(ctx context.Context, a filestore.Access, folder,
	after string,
) (nodes []Node, next string, err error) {
	return s.list(ctx, a, folder, after, treeStep, MaxNodes)
}

// Part is Tree for whoever shows the first entries while the others are still read:
// it gives about limit of them, at most as many as Tree.
func (s *Service) Part(ctx context.Context, a filestore.Access, folder, after string,
	limit int,
) (nodes []Node, next string, err error) {
	limit = min(max(limit, 1), MaxNodes)
	return s.list(ctx, a, folder, after, min(limit, treeStep), limit)
}

// Page is Tree for whoever reads a folder whole: up to ten thousand files cost one
// query.
func (s *Service) Page(ctx context.Context, a filestore.Access, folder,
	after string,
) (nodes []Node, next string, err error) {
	return s.list(ctx, a, folder, after, pageStep, MaxNodes)
}

func (s *Service) list(ctx context.Context, a filestore.Access, folder, after string,
	step, limit int,
) ([]Node, string, error) {
	scope, err := a.Scope(filestore.List)
	if err != nil {
		return nil, "", err
	}
	if folder, err = filename.CleanFolder(folder); err != nil {
		return nil, "", err
	}
	base := strings.TrimSuffix(folder, "/") + "/"
	if after != "" && (!strings.HasPrefix(after, base) || !utf8.ValidString(after)) {
		return nil, "", fault.New(fault.Invalid, "after must be the `next` value of an earlier page of the same folder")
	}
	w := treeWalk{base: base, from: max(base, after), seen: map[string]int{}, room: maxPaths}
	for !w.done && len(w.nodes) < limit && w.room > 0 {
		entries, err := s.store.Entries(ctx, scope, EntryQuery{Prefix: base, From: w.from, Limit: step, Room: w.room})
		if err != nil {
			return nil, "", err
		}
		w.take(entries)
		w.done = len(entries) < step && w.room > 0
		step = min(step, treeStep) // a first page was read in vain where a subfolder filled it
	}
	if w.done {
		return w.nodes, "", nil
	}
	return w.nodes, w.from, nil
}

// treeWalk collects children from entries in path order.
type treeWalk struct {
	base, from string
	nodes      []Node
	seen       map[string]int // folders that are listed already, and where
	done       bool
	room       int // for paths
}

func (w *treeWalk) take(entries []Entry) {
	for _, e := range entries {
		w.room -= len(e.Path)
		name, below, nested := strings.Cut(e.Path[len(w.base):], "/")
		if !nested {
			w.nodes = append(w.nodes, Node{Path: e.Path, Name: name, File: e.File, Mark: e.Mark})
			w.from = e.Path + "\x01" // the next possible path: no path has a control character
			continue
		}
		at, listed := w.seen[name]
		if !listed {
			at = len(w.nodes)
			w.seen[name] = at
			w.nodes = append(w.nodes, Node{Path: w.base + name, Name: name, IsFolder: true})
			w.from = w.base + name + "0" // '0' follows '/': the first path after the folder
		}
		if below == "" {
			w.nodes[at].Folder = e.Folder
		}
	}
	if len(entries) > 0 {
		if last := entries[len(entries)-1].Path; w.from <= last {
			w.from = last + "\x01"
		}
	}
}
