package fscli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// ignoreFile lists what a synchronisation leaves alone, in the local folder: one
// pattern a line, for names or for paths below the folder. What is ignored is neither
// sent, fetched nor deleted.
const ignoreFile = ".castaliaignore"

// patterns are what is ignored.
type patterns []string

func readPatterns(folder string) (patterns, error) {
	f, err := os.Open(filepath.Join(folder, ignoreFile))
	if errors.Is(err, fs.ErrNotExist) {
		return patterns{ignoreFile}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	all := patterns{ignoreFile}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.Trim(strings.TrimSpace(lines.Text()), "/")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := path.Match(line, ""); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", ignoreFile, line, err)
		}
		all = append(all, line)
	}
	return all, lines.Err()
}

// match reports whether a path below the folder, or a folder that it is in, is ignored.
func (p patterns) match(name string) bool {
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		for _, pattern := range p {
			byName, _ := path.Match(pattern, path.Base(at)) // it was tried when it was read
			byPath, _ := path.Match(pattern, at)
			if byName || byPath {
				return true
			}
		}
	}
	return false
}

// localTree is what is below a local folder, with slashes. The folder itself is ".".
type localTree struct {
	files, folders []string
	// kept are the folders in which something is left alone.
	kept map[string]bool
}

// empty lists the folders in which nothing is that is sent.
func (t localTree) empty() []string {
	full := map[string]bool{}
	for _, name := range slices.Concat(t.files, t.folders) {
		if name != "." {
			full[path.Dir(name)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(t.folders), func(name string) bool { return full[name] })
}

// readLocal lists the folders and the regular files at and below a folder. Symbolic
// links to files are followed or named; other things are named.
func readLocal(s shell.IO, folder string, follow bool, ignored patterns) (localTree, error) {
	t := localTree{kept: map[string]bool{}}
	folder, err := filepath.EvalSymlinks(folder) // a walk does not follow its root, and would see nothing
	if err != nil {
		return t, err
	}
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(below)
		leaves := ""
		switch {
		case ignored.match(slashed):
			markAbove(t.kept, slashed)
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			t.folders = append(t.folders, slashed)
			return nil
		case d.Type()&fs.ModeSymlink != 0 && follow:
			if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
				leaves = "it leads to no file"
			}
		case d.Type()&fs.ModeSymlink != 0:
			leaves = "it is a symbolic link (--follow)"
		case !d.Type().IsRegular():
			leaves = "it is no file"
		}
		if leaves != "" {
			markAbove(t.kept, slashed)
			_, _ = fmt.Fprintf(s.Err, "%s is left out: %s\n", name, leaves)
			return nil
		}
		t.files = append(t.files, slashed)
		return nil
	})
	return t, err
}

// markAbove marks the folders that a path is in.
func markAbove(marked map[string]bool, name string) {
	for name != "." && !marked[path.Dir(name)] {
		name = path.Dir(name)
		marked[name] = true
	}
}

// remoteTree is what is below a remote folder, by names in it. The folder itself is ".".
type remoteTree struct {
	files map[string]filestoreclient.File
	made  []string // folders that stay when they are empty
	// kept are the folders in which something is left alone.
	kept map[string]bool
}

// implied are the folders that are there because files are in them.
func (t remoteTree) implied() map[string]bool {
	in := map[string]bool{}
	for name := range t.files {
		markAbove(in, name)
	}
	return in
}

// folders are all that there are.
func (t remoteTree) folders() map[string]bool {
	all := t.implied()
	for _, name := range t.made {
		all[name] = true
		markAbove(all, name)
	}
	return all
}

// readRemote lists what is not ignored.
func readRemote(ctx context.Context, r remote, folder string, ignored patterns) (remoteTree, error) {
	t := remoteTree{kept: map[string]bool{}}
	var err error
	if t.files, err = remoteFiles(ctx, r, folder); err != nil {
		return t, err
	}
	made, err := r.Made(ctx, folder)
	if err != nil {
		return t, about(folder, err)
	}
	for _, at := range made {
		t.made = append(t.made, nameIn(folder, at))
	}
	leave := func(name string) bool {
		if !ignored.match(name) {
			return false
		}
		markAbove(t.kept, name)
		return true
	}
	maps.DeleteFunc(t.files, func(name string, _ filestoreclient.File) bool { return leave(name) })
	t.made = slices.DeleteFunc(t.made, leave)
	return t, nil
}

// remoteFiles lists the files below a remote folder by their names in it.
func remoteFiles(ctx context.Context, r remote, folder string) (map[string]filestoreclient.File, error) {
	files, err := r.Under(ctx, strings.TrimSuffix(folder, "/")+"/")
	if err != nil {
		return nil, about(folder, err)
	}
	all := make(map[string]filestoreclient.File, len(files))
	for _, f := range files {
		all[nameIn(folder, f.Path)] = f
	}
	return all, nil
}

// nameIn is the name of a path in a remote folder, which is "." for the folder itself.
func nameIn(folder, at string) string {
	base := strings.TrimSuffix(folder, "/")
	if at == base {
		return "."
	}
	return strings.TrimPrefix(at, base+"/")
}

// makeLocal makes a folder for a remote one.
func makeLocal(local, name string) error {
	below := filepath.FromSlash(name)
	if !filepath.IsLocal(below) {
		return fmt.Errorf("%s cannot be a local name", name)
	}
	return os.MkdirAll(filepath.Join(local, below), 0o755) //nolint:gosec // the user's own folder
}

func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// left are the folders that are neither in one set nor in the other, those below before
// those above.
func left(folders []string, in, or map[string]bool) []string {
	rest := slices.DeleteFunc(slices.Clone(folders), func(name string) bool { return in[name] || or[name] })
	slices.Sort(rest)
	slices.Reverse(rest)
	return rest
}

func sorted(files map[string]filestoreclient.File) []string { return slices.Sorted(maps.Keys(files)) }
