package fscli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// tally counts what a command did with many files, and which folders it made.
type tally struct{ done, equal, deleted, failed, folders int }

// did counts one. What failed is told, and does not stop the others.
func (t *tally) did(s shell.IO, err error) { t.count(s, &t.done, err) }

func (t *tally) count(s shell.IO, what *int, err error) {
	if err != nil {
		t.failed++
		_, _ = fmt.Fprintln(s.Err, err)
		return
	}
	*what++
}

// tell sums up, and fails when something failed.
func (t *tally) tell(s shell.IO, verb string) error {
	folders := ""
	if t.folders > 0 {
		folders = fmt.Sprintf(", empty folders made: %d", t.folders)
	}
	_, _ = fmt.Fprintf(s.Err, "%d %s, %d equal, %d deleted, %d failed%s\n", t.done, verb, t.equal, t.deleted, t.failed, folders)
	if t.failed > 0 {
		return fmt.Errorf("%d failed", t.failed)
	}
	return nil
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
		there, err := readRemote(ctx, r, y.remote, ignored)
		if err != nil {
			return err
		}
		var here localTree
		if shell.IsFolder(y.local) {
			if here, err = readLocal(s, y.local, *follow, ignored); err != nil {
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
func (y *syncing) send(ctx context.Context, here localTree, there remoteTree) error {
	extra := maps.Clone(there.files)
	for _, name := range here.files {
		from := filepath.Join(y.local, filepath.FromSlash(name))
		f, known := there.files[name]
		delete(extra, name)
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
		if y.act(ctx, &y.tally.done, "send", name, func() error {
			return putFile(ctx, y.r, y.s, from, path.Join(y.remote, name), false)
		}) != nil {
			return ctx.Err()
		}
	}
	err := y.drop(ctx, sorted(extra), "", func(name string) error {
		_, err := y.r.Remove(ctx, path.Join(y.remote, name))
		return about(name, err)
	})
	if err != nil {
		return err
	}
	if err := y.drop(ctx, left(there.made, set(here.folders), there.kept), "/", func(name string) error {
		return about(name, y.r.RemoveEmptyFolder(ctx, path.Join(y.remote, name)))
	}); err != nil {
		return err
	}
	made := set(there.made)
	for _, name := range here.empty() {
		at := path.Join(y.remote, name)
		if made[name] || at == "/" {
			continue
		}
		if err := y.act(ctx, &y.tally.folders, "make", name+"/", func() error {
			return about(name, y.r.MakeFolder(ctx, at))
		}); err != nil {
			return err
		}
	}
	return y.tally.tell(y.s, "sent")
}

// fetch makes the local folder like the remote one.
func (y *syncing) fetch(ctx context.Context, here localTree, there remoteTree) error {
	if len(there.files)+len(there.made) == 0 {
		return fmt.Errorf("%s: there are no files", y.remote) // and not a reason to delete all that is here
	}
	extra := map[string]filestoreclient.File{}
	for _, name := range here.files {
		extra[name] = filestoreclient.File{}
	}
	for _, name := range sorted(there.files) {
		f, below := there.files[name], filepath.FromSlash(name)
		delete(extra, name)
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
		if y.act(ctx, &y.tally.done, "fetch", name, func() error {
			return getFile(ctx, y.r, y.s, f.Path, to, 0, f)
		}) != nil {
			return ctx.Err()
		}
	}
	remove := func(name string) error { return os.Remove(filepath.Join(y.local, filepath.FromSlash(name))) }
	if err := y.drop(ctx, sorted(extra), "", remove); err != nil {
		return err
	}
	folders := there.folders()
	if err := y.drop(ctx, left(here.folders, folders, here.kept), "/", remove); err != nil {
		return err
	}
	for _, name := range left(there.made, set(here.folders), there.implied()) {
		if err := y.act(ctx, &y.tally.folders, "make", name+"/", func() error {
			return makeLocal(y.local, name)
		}); err != nil {
			return err
		}
	}
	return y.tally.tell(y.s, "fetched")
}

// act does one thing and counts it, or says what it would be. It fails when the command
// was ended.
func (y *syncing) act(ctx context.Context, count *int, verb, name string, do func() error) error {
	if y.dry {
		_, _ = fmt.Fprintf(y.s.Out, "would %s %s\n", verb, name)
		*count++
		return nil
	}
	y.tally.count(y.s, count, do())
	return ctx.Err()
}

// drop deletes what the source does not have, when that was asked for.
func (y *syncing) drop(ctx context.Context, extra []string, mark string, remove func(name string) error) error {
	if !y.delete {
		return nil
	}
	for _, name := range extra {
		if err := y.act(ctx, &y.tally.deleted, "delete", name+mark, func() error { return remove(name) }); err != nil {
			return err
		}
	}
	return nil
}
