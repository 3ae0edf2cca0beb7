package filestore

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// treeStep is how many records a listing of a folder reads at once.
const treeStep = 256

// maxNodes is how many entries of a folder, or a few more, one listing gives.
const maxNodes = 10_000

// Tree returns the direct children of a folder, in path order. Folders are
// implied by the files below them, so a folder that is absent is empty. A
// subfolder costs one look at the index, however much it holds. When there are
// more, next is what to give as after; it says nothing else.
func (s *Service) Tree(ctx context.Context, a Access, folder, after string) (nodes []Node, next string, err error) {
	scope, err := a.scope(List)
	if err != nil {
		return nil, "", err
	}
	if folder, err = CleanFolder(folder); err != nil {
		return nil, "", err
	}
	base := strings.TrimSuffix(folder, "/") + "/"
	if after != "" && (!strings.HasPrefix(after, base) || !utf8.ValidString(after)) {
		return nil, "", fault.New(fault.Invalid, "after must be the next of a listing of the same folder")
	}
	w := treeWalk{base: base, from: max(base, after), seen: map[string]bool{}}
	for !w.done && len(w.nodes) < maxNodes {
		files, err := s.store.Files(ctx, scope, ListQuery{Prefix: base, From: w.from, Limit: treeStep})
		if err != nil {
			return nil, "", err
		}
		w.take(files)
	}
	if w.done {
		return w.nodes, "", nil
	}
	return w.nodes, w.from, nil
}

// treeWalk collects children from files in path order.
type treeWalk struct {
	base, from string
	nodes      []Node
	seen       map[string]bool // folders that are listed already
	done       bool
}

func (w *treeWalk) take(files []File) {
	w.done = len(files) < treeStep
	for _, f := range files {
		name, _, nested := strings.Cut(f.Path[len(w.base):], "/")
		if !nested {
			w.nodes = append(w.nodes, Node{Path: f.Path, Name: name, File: f})
			w.from = f.Path + "\x01" // the next possible path: no path has a control character
			continue
		}
		if w.seen[name] {
			continue
		}
		w.seen[name] = true
		w.nodes = append(w.nodes, Node{Path: w.base + name, Name: name, Folder: true})
		w.from = w.base + name + "0" // '0' follows '/': the first path after the folder
	}
	if len(files) > 0 {
		if last := files[len(files)-1].Path; w.from <= last {
			w.from = last + "\x01"
		}
	}
}
