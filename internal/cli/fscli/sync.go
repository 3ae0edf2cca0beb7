package fscli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// ignoreFile lists what a synchronisation leaves alone, in the local folder: one
// pattern a line, for names or for paths below the folder. What is ignored is neither
// sent, fetched nor deleted.
const ignoreFile = ".castaliaignore"

// tally counts what a command did with many files.
type tally struct{ done, equal, deleted, failed int }

// did counts one. What failed is told, and does not stop the others.
func (t *tally) did(s shell.IO, err error) {
	if err != nil {
		t.failed++
		_, _ = fmt.Fprintln(s.Err, err)
		return
	}
	t.done++
}

// tell sums up, and fails when something failed.
func (t *tally) tell(s shell.IO, verb string) error {
	_, _ = fmt.Fprintf(s.Err, "%d %s, %d equal, %d deleted, %d failed\n", t.done, verb, t.equal, t.deleted, t.failed)
	if t.failed > 0 {
		return fmt.Errorf("%d files failed", t.failed)
	}
	return nil
}

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

// localFiles lists the regular files below a folder, with slashes. Symbolic links to
// files are followed or named; other things are named.
func localFiles(s shell.IO, folder string, follow bool, ignored patterns) ([]string, error) {
	var all []string
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(below)
		switch {
		case below == ".":
			return nil
		case ignored.match(slashed) && d.IsDir():
			return filepath.SkipDir
		case d.IsDir(), ignored.match(slashed):
			return nil
		case d.Type()&fs.ModeSymlink != 0 && follow:
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				all = append(all, slashed)
				return nil
			}
			_, _ = fmt.Fprintf(s.Err, "%s is left out: it leads to no file\n", name)
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			_, _ = fmt.Fprintf(s.Err, "%s is left out: it is a symbolic link (--follow)\n", name)
			return nil
		case !d.Type().IsRegular():
			_, _ = fmt.Fprintf(s.Err, "%s is left out: it is no file\n", name)
			return nil
		}
		all = append(all, slashed)
		return nil
	})
	return all, err
}

// emptyFolders lists the folders without anything in them at and below a folder, with
// slashes.
func emptyFolders(folder string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		entries, err := os.ReadDir(name)
		if err != nil || len(entries) > 0 {
			return err
		}
		below, err := filepath.Rel(folder, name)
		all = append(all, filepath.ToSlash(below))
		return err
	})
	return all, err
}

// remoteFiles lists the files below a remote folder by their names in it.
func remoteFiles(ctx context.Context, r remote, folder string) (map[string]filestoreclient.File, error) {
	base := strings.TrimSuffix(folder, "/") + "/"
	files, err := r.Under(ctx, base)
	if err != nil {
		return nil, about(folder, err)
	}
	all := make(map[string]filestoreclient.File, len(files))
	for _, f := range files {
		all[strings.TrimPrefix(f.Path, base)] = f
	}
	return all, nil
}

// hasContent reports whether a local file has the content of a remote one.
func hasContent(local string, f filestoreclient.File) (bool, error) {
	info, err := os.Stat(local)
	if err != nil || info.Size() != f.Size || !info.Mode().IsRegular() {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	content, err := os.Open(local)
	if err != nil {
		return false, err
	}
	defer func() { _ = content.Close() }()
	c, _, err := cid.Sum(content, cid.Options{})
	if err != nil {
		return false, fmt.Errorf("read %s: %w", local, err)
	}
	return c.String() == f.CID, nil
}

// syncing is one synchronisation.
type syncing struct {
	r      remote
	s      shell.IO
	local  string
	remote string
	dry    bool
	delete bool
	tally  tally
}

func syncFolders(flags *flag.FlagSet, s shell.IO) fsWork {
	down := flags.Bool("down", false, "from the remote folder to the local one")
	dry := flags.Bool("dry-run", false, "say what would be done, and do nothing")
	remove := flags.Bool("delete", false, "delete what the source does not have: remote files go to the trash, local ones are gone")
	follow := flags.Bool("follow", false, "send what symbolic links to files lead to")
	return func(ctx context.Context, r remote, rest []string) error {
		y := &syncing{r: r, s: s, local: rest[0], remote: remotePath(rest[1]), dry: *dry, delete: *remove}
		if *down {
			y.remote, y.local = remotePath(rest[0]), rest[1]
		} else if !shell.IsFolder(y.local) {
			return shell.Usagef("%s is no folder", y.local)
		}
		ignored, err := readPatterns(y.local)
		if err != nil {
			return err
		}
		there, err := remoteFiles(ctx, r, y.remote)
		if err != nil {
			return err
		}
		for name := range there {
			if ignored.match(name) {
				delete(there, name)
			}
		}
		var here []string
		if shell.IsFolder(y.local) {
			if here, err = localFiles(s, y.local, *follow, ignored); err != nil {
				return err
			}
		}
		if *down {
			return y.fetch(ctx, here, there)
		}
		return y.send(ctx, here, there)
	}
}

// send makes the remote folder like the local one.
func (y *syncing) send(ctx context.Context, here []string, there map[string]filestoreclient.File) error {
	for _, name := range here {
		from := filepath.Join(y.local, filepath.FromSlash(name))
		f, known := there[name]
		delete(there, name)
		if known {
			same, err := hasContent(from, f)
			if err != nil {
				return err
			}
			if same {
				y.tally.equal++
				continue
			}
		}
		if y.act(ctx, "send", name, func() error {
			return putFile(ctx, y.r, y.s, from, path.Join(y.remote, name), false)
		}) != nil {
			return ctx.Err()
		}
	}
	if err := y.drop(ctx, there, func(name string) error {
		_, err := y.r.Remove(ctx, path.Join(y.remote, name))
		return about(name, err)
	}); err != nil {
		return err
	}
	return y.tally.tell(y.s, "sent")
}

// fetch makes the local folder like the remote one.
func (y *syncing) fetch(ctx context.Context, here []string, there map[string]filestoreclient.File) error {
	if len(there) == 0 {
		return fmt.Errorf("%s: there are no files", y.remote) // and not a reason to delete all that is here
	}
	only := map[string]filestoreclient.File{}
	for _, name := range here {
		only[name] = filestoreclient.File{}
	}
	for _, name := range sorted(there) {
		f, below := there[name], filepath.FromSlash(name)
		delete(only, name)
		if !filepath.IsLocal(below) {
			y.tally.did(y.s, fmt.Errorf("%s cannot be a local name", f.Path))
			continue
		}
		to := filepath.Join(y.local, below)
		same, err := hasContent(to, f)
		if err != nil {
			return err
		}
		if same {
			y.tally.equal++
			continue
		}
		if y.act(ctx, "fetch", name, func() error { return getFile(ctx, y.r, y.s, f.Path, to, 0, f) }) != nil {
			return ctx.Err()
		}
	}
	if err := y.drop(ctx, only, func(name string) error {
		return os.Remove(filepath.Join(y.local, filepath.FromSlash(name)))
	}); err != nil {
		return err
	}
	return y.tally.tell(y.s, "fetched")
}

// act does one thing, or says what it would be. It fails when the command was ended.
func (y *syncing) act(ctx context.Context, verb, name string, do func() error) error {
	if y.dry {
		_, _ = fmt.Fprintf(y.s.Out, "would %s %s\n", verb, name)
		y.tally.done++
		return nil
	}
	y.tally.did(y.s, do())
	return ctx.Err()
}

// drop deletes what the source does not have, when that was asked for.
func (y *syncing) drop(ctx context.Context, extra map[string]filestoreclient.File,
	remove func(name string) error,
) error {
	if !y.delete {
		return nil
	}
	for _, name := range sorted(extra) {
		before := y.tally.done
		if err := y.act(ctx, "delete", name, func() error { return remove(name) }); err != nil {
			return err
		}
		if y.tally.done > before {
			y.tally.done, y.tally.deleted = before, y.tally.deleted+1
		}
	}
	return nil
}

func sorted(files map[string]filestoreclient.File) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
