package fscli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// resumable is the size from which files go up in parts.
const resumable = 8 << 20

func putFiles(flags *flag.FlagSet, s shell.IO) fsWork {
	recursive := flags.Bool("r", false, "put folders with all they hold; files that are there already are not sent")
	follow := flags.Bool("follow", false, "put what symbolic links to files lead to; else they are left out, and named")
	create := flags.Bool("new", false, "refuse to store a new version of a file that exists")
	return func(ctx context.Context, r remote, rest []string) error {
		locals, target := rest[:len(rest)-1], rest[len(rest)-1]
		into := len(locals) > 1 || strings.HasSuffix(target, "/")
		return each(ctx, s, locals, func(local string) error {
			to := remotePath(target)
			switch {
			case local == "-" && into:
				return shell.Usagef("standard input goes to one file: name it")
			case local == "-":
				return putStream(ctx, r, s, to, *create)
			case into:
				to = path.Join(to, filepath.Base(local))
			}
			if !shell.IsFolder(local) {
				return putFile(ctx, r, s, local, to, *create)
			}
			if !*recursive {
				return shell.Usagef("%s is a folder; -r puts it with all it holds", local)
			}
			return putFolder(ctx, r, s, local, to, *follow, *create)
		})
	}
}

// putFolder stores what is below a folder. What is there already is not sent, so that
// the same command goes on after it was cut.
func putFolder(ctx context.Context, r remote, s shell.IO, local, to string, follow, create bool) error {
	here, err := readLocal(s, local, follow, nil)
	if err != nil {
		return err
	}
	there, err := remoteFiles(ctx, r, to)
	if err != nil {
		return err
	}
	var tally tally
	for _, name := range here.files {
		from, target := filepath.Join(local, filepath.FromSlash(name)), path.Join(to, name)
		if f, known := there[name]; known && !create {
			same, err := hasContent(from, f)
			if err != nil {
				return err
			}
			if same {
				tally.equal++
				continue
			}
		}
		tally.did(s, putFile(ctx, r, s, from, target, create))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, name := range here.empty() {
		if err := r.MakeFolder(ctx, path.Join(to, name)); err != nil {
			return about(name, err)
		}
	}
	return tally.tell(s, "sent")
}

// putStream stores standard input. Its length is not known before its end, so it is
// kept in a file on the way: what is cut leaves nothing.
func putStream(ctx context.Context, r remote, s shell.IO, to string, create bool) error {
	temp, err := os.CreateTemp("", "castalia-*")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(temp.Close(), os.Remove(temp.Name())) }()
	if _, err = io.Copy(temp, s.In); err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return putOpened(ctx, r, s, source{temp, "standard input", mediaOf(to)}, to, create)
}

// putFile stores a file and prints its CID. A large one goes up in parts; when it
// is cut, the same command goes on where it was.
func putFile(ctx context.Context, r remote, s shell.IO, local, to string, create bool) error {
	f, err := os.Open(local)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return putOpened(ctx, r, s, source{f, local, mediaOf(local)}, to, create)
}

// source is what is sent: a file at its beginning, what people call it, and its media type.
type source struct {
	file          *os.File
	called, media string
}

func mediaOf(name string) string {
	if media := mime.TypeByExtension(filepath.Ext(name)); media != "" {
		return media
	}
	return "application/octet-stream"
}

// putOpened is putFile of what is open.
func putOpened(ctx context.Context, r remote, s shell.IO, f source, to string, create bool) error {
	want, size, err := cid.Sum(f.file, cid.Options{})
	if err != nil {
		return fmt.Errorf("read %s: %w", f.called, err)
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	bar := shell.NewProgress(s, to, size)
	defer bar.Finish()
	var stored filestoreclient.File
	switch {
	case size < resumable && create:
		stored, err = r.Create(ctx, to, f.media, bar.Reader(f.file), size)
	case size < resumable:
		stored, err = r.Put(ctx, to, f.media, bar.Reader(f.file), size, want)
	default:
		note := uploadNote(s, r.server, to, want)
		before, _ := os.ReadFile(note)
		stored, err = r.Upload(ctx, filestoreclient.Upload{
			Path: to, MimeType: f.media, Size: size, Source: f.file, Want: want, New: create,
			Location: strings.TrimSpace(string(before)),
			Begun:    func(location string) { remember(note, location) }, Progress: bar.At,
		})
		if err == nil {
			_ = os.Remove(note)
		}
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", f.called, err)
	}
	bar.Finish()
	_, err = fmt.Fprintf(s.Out, "%s  %s\n", stored.CID, stored.Path)
	return err
}

// uploadNote is the file that remembers where an upload goes on. Its name is made
// from what is uploaded, so another content begins anew.
func uploadNote(s shell.IO, server, to string, c cid.CID) string {
	dir := s.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		dir = filepath.Join(s.Getenv("HOME"), ".cache")
	}
	sum := sha256.Sum256([]byte(server + "\x00" + to + "\x00" + c.String()))
	return filepath.Join(dir, "castalia", "upload-"+hex.EncodeToString(sum[:8]))
}

// remember writes a note; without one an upload that is cut begins anew.
func remember(note, location string) {
	if os.MkdirAll(filepath.Dir(note), 0o700) == nil {
		_ = os.WriteFile(note, []byte(location+"\n"), 0o600)
	}
}

// getting is one call of `fs get`.
type getting struct {
	r                    remote
	s                    shell.IO
	version              int64
	recursive, overwrite bool
}

func getFiles(flags *flag.FlagSet, s shell.IO) fsWork {
	g := getting{s: s}
	flags.BoolVar(&g.recursive, "r", false, "get a folder with all it holds; files that are here already are not fetched")
	flags.Int64Var(&g.version, "version", 0, "`NUMBER` of an old version")
	flags.BoolVar(&g.overwrite, "overwrite", false, "replace local files that have other content; else they stay, and are named")
	return func(ctx context.Context, r remote, rest []string) error {
		g.r = r
		if len(rest) > 2 {
			folder := rest[len(rest)-1]
			return each(ctx, s, rest[:len(rest)-1], func(from string) error {
				return g.get(ctx, from, filepath.Join(folder, path.Base(from)))
			})
		}
		local := path.Base(remotePath(rest[0]))
		if len(rest) == 2 {
			local = rest[1]
			if shell.IsFolder(local) && !g.recursive {
				local = filepath.Join(local, path.Base(remotePath(rest[0])))
			}
		}
		return g.get(ctx, rest[0], local)
	}
}

// get fetches a file, a folder or a CID.
func (g getting) get(ctx context.Context, asked, local string) error {
	if c, ok := isCID(asked); ok {
		if here, err := g.here(local, c.String()); err != nil || here {
			return err
		}
		return getCID(ctx, g.r, g.s, c, local)
	}
	from := remotePath(asked)
	if g.recursive {
		return g.folder(ctx, strings.TrimSuffix(from, "/")+"/", local)
	}
	var known filestoreclient.File
	if g.version == 0 {
		var err error
		if known, err = g.r.Stat(ctx, from); err != nil {
			return orFolder(ctx, g.r, from, err)
		}
	}
	if here, err := g.here(local, known.CID); err != nil || here {
		return err
	}
	return getFile(ctx, g.r, g.s, from, local, g.version, known)
}

// folder fetches what is below a folder. A file that fails does not stop the others.
func (g getting) folder(ctx context.Context, from, local string) error {
	files, err := g.r.Under(ctx, from)
	if err != nil {
		return err
	}
	made, err := g.r.Made(ctx, from)
	if err != nil {
		return err
	}
	var tally tally
	for _, f := range files {
		below := filepath.FromSlash(strings.TrimPrefix(f.Path, from))
		if !filepath.IsLocal(below) {
			return fmt.Errorf("%s cannot be a local name", f.Path)
		}
		here, err := g.here(filepath.Join(local, below), f.CID)
		if here {
			tally.equal++
			continue
		}
		if err == nil {
			err = getFile(ctx, g.r, g.s, f.Path, filepath.Join(local, below), 0, f)
		}
		if tally.did(g.s, err); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, at := range made {
		name := nameIn(from, at)
		if shell.IsFolder(filepath.Join(local, filepath.FromSlash(name))) {
			continue
		}
		tally.count(g.s, &tally.folders, makeLocal(local, name))
	}
	return tally.tell(g.s, "fetched")
}

// here reports whether a local file has a content already, and says so. It fails when
// something else is there that was not to be replaced.
func (g getting) here(local, want string) (bool, error) {
	f, err := os.Open(local)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is there and is no file", local)
	}
	if c, _, err := cid.Sum(f, cid.Options{}); err != nil || c.String() == want {
		if err == nil && !g.recursive {
			_, err = fmt.Fprintf(g.s.Out, "%s  %s\n", want, local)
		}
		return err == nil, err
	}
	if !g.overwrite {
		return false, fmt.Errorf("%s is there with other content: --overwrite replaces it", local)
	}
	return false, nil
}

// getFile fetches into a file beside the target, which replaces it only when the
// CID is right. When a large one is cut, the same command goes on where it was.
func getFile(ctx context.Context, r remote, s shell.IO, from, local string, version int64,
	known filestoreclient.File,
) error {
	if err := os.MkdirAll(filepath.Dir(local), 0o755); err != nil { //nolint:gosec // the user's own folder
		return err
	}
	bar := shell.NewProgress(s, from, known.Size)
	defer bar.Finish()
	fetch := fetchWhole
	if version == 0 && known.Size >= resumable {
		fetch = fetchOn
	}
	temp, c, err := fetch(ctx, r, bar, known, from, local, version)
	if err != nil {
		return about(from, err)
	}
	if err := os.Chmod(temp, 0o644); err != nil { //nolint:gosec // as other programs leave what they fetch
		return err
	}
	if err := os.Rename(temp, local); err != nil {
		return err
	}
	bar.Finish()
	_, _ = fmt.Fprintf(s.Out, "%s  %s\n", c, local)
	return nil
}

// fetchWhole fetches a file from its beginning into a new one, and returns its
// name and the CID.
func fetchWhole(ctx context.Context, r remote, bar *shell.Progress, _ filestoreclient.File, from, local string,
	version int64,
) (name, c string, err error) {
	temp, err := os.CreateTemp(filepath.Dir(local), "."+filepath.Base(local)+".part-*")
	if err != nil {
		return "", "", err
	}
	f, err := r.Get(ctx, from, version, &barWriter{temp, bar})
	if err = errors.Join(err, temp.Close()); err != nil {
		return "", "", errors.Join(err, os.Remove(temp.Name()))
	}
	return temp.Name(), f.CID, nil
}

// fetchOn goes on with what an earlier call left. The name of that has the CID,
// so the rest of another content is never added to it.
func fetchOn(ctx context.Context, r remote, bar *shell.Progress, f filestoreclient.File, _, local string,
	_ int64,
) (name, c string, err error) {
	name = filepath.Join(filepath.Dir(local), "."+filepath.Base(local)+"."+f.CID+".part")
	part, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", "", err
	}
	err = errors.Join(r.Continue(ctx, f, part, bar.At), part.Close())
	if errors.Is(err, filestoreclient.ErrOther) {
		err = errors.Join(err, os.Remove(name))
	}
	return name, f.CID, err
}

type barWriter struct {
	f *os.File
	p *shell.Progress
}

func (w *barWriter) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	w.p.Add(int64(n))
	return n, err
}
