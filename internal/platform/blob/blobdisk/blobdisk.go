// Package blobdisk keeps objects as files in a folder.
//
// It promises that an object is whole or absent whatever happens to the process
// or the machine: bytes go to a temporary file, which is synced, renamed into
// place, and its folder synced. It refuses to follow a key out of its folder,
// and expects to be the folder's only user, unless it is told otherwise.
//
// Decision: ADR 0092.
package blobdisk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// tempDir holds files that are being written. Keys cannot begin with a dot, so
// no object is ever in it.
const tempDir = ".tmp"

// Store is a blob.Store on a disk.
type Store struct{ dir string }

// New opens the folder, makes it when it is absent, and removes what an earlier
// process left half written.
func New(dir string) (*Store, error) {
	if err := os.RemoveAll(filepath.Join(dir, tempDir)); err != nil {
		return nil, fmt.Errorf("clear half-written objects: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, tempDir), 0o700); err != nil {
		return nil, fmt.Errorf("make object folder: %w", err)
	}
	return &Store{dir}, nil
}

// Beside opens a folder that another process may be using: what that process is
// writing is left alone. AbortStale takes what was left half written.
func Beside(dir string) *Store { return &Store{dir} }

// AbortStale removes what was being written and has not grown since before the given time,
// as a killed process leaves it.
func (s *Store) AbortStale(ctx context.Context, before time.Time) error {
	return errors.Join(s.ClearStale(before), ctx.Err())
}

// ClearStale is AbortStale where nobody waits.
func (s *Store) ClearStale(before time.Time) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, tempDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list half-written objects: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			err = os.Remove(filepath.Join(s.dir, tempDir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been finished meanwhile
			return fmt.Errorf("clear half-written objects: %w", err)
		}
	}
	return nil
}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, err
	}
	if opt.Known {
		body = blob.Exactly(body, opt.Size)
	}
	temp, err := s.writeTemp(ctx, body)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put %s: %w", key, classify(err))
	}
	defer func() { _ = os.Remove(temp) }() // gone already after a rename
	if err := s.place(temp, s.path(key), opt.CreateOnly); err != nil {
		return blob.Info{}, fmt.Errorf("put %s: %w", key, classify(err))
	}
	return s.Stat(ctx, key)
}

// writeTemp writes and syncs body, and returns the file's name.
func (s *Store) writeTemp(ctx context.Context, body io.Reader) (name string, err error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, tempDir), "put-*")
	if errors.Is(err, fs.ErrNotExist) { // nobody has written beside this process yet
		if err = os.Mkdir(filepath.Join(s.dir, tempDir), 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			f, err = os.CreateTemp(filepath.Join(s.dir, tempDir), "put-*")
		}
	}
	if err != nil {
		return "", err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	return f.Name(), newWriter(f).copy(ctx, body)
}

// place moves a written file to its name and makes the name durable.
func (s *Store) place(temp, path string, createOnly bool) error {
	if err := s.makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if createOnly {
		if err := os.Link(temp, path); err != nil {
			return err
		}
	} else if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// makeFolder makes the folders down to dir and syncs each that it made into its parent.
func (s *Store) makeFolder(dir string) error {
	if len(dir) <= len(s.dir) {
		return nil
	}
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		return syncFolder(filepath.Dir(dir))
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if err := s.makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		return s.makeFolder(dir)
	default:
		return err
	}
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(key))
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, classify(err))
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = blob.ErrNotFound
	case off < 0 || off > st.Size():
		err = blob.ErrRange
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("get %s from %d: %w", key, off, classify(err))
	}
	if n < 0 || n > st.Size()-off {
		n = st.Size() - off
	}
	return &section{io.NewSectionReader(f, off, n), f}, nil
}

// section reads a part of a file and closes the file.
type section struct {
	*io.SectionReader
	io.Closer
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	if err := check(ctx, key); err != nil {
		return blob.Info{}, err
	}
	st, err := os.Stat(s.path(key))
	if err == nil && st.IsDir() {
		err = blob.ErrNotFound
	}
	if err != nil {
		return blob.Info{}, fmt.Errorf("stat %s: %w", key, classify(err))
	}
	return blob.Info{Key: key, Size: st.Size(), ModTime: st.ModTime()}, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	if err := os.Remove(s.path(key)); err != nil && !errors.Is(classify(err), blob.ErrNotFound) {
		return fmt.Errorf("delete %s: %w", key, classify(err))
	}
	return nil
}

// List implements blob.Store. It reads one folder at a time.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		if err := blob.CheckPrefix(prefix); err != nil {
			yield(blob.Info{}, err)
			return
		}
		w := walker{s, ctx, prefix, yield}
		w.folder("")
	}
}

// walker visits keys in byte order of the whole key.
type walker struct {
	s      *Store
	ctx    context.Context //nolint:containedctx // lives for one call of List
	prefix string
	yield  func(blob.Info, error) bool
}

// folder visits the keys below base, which is empty or ends in a slash. It
// reports whether to go on.
func (w walker) folder(base string) bool {
	if err := w.ctx.Err(); err != nil {
		w.yield(blob.Info{}, err)
		return false
	}
	entries, err := os.ReadDir(filepath.Join(w.s.dir, filepath.FromSlash(base)))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		w.yield(blob.Info{}, fmt.Errorf("list %s: %w", base, err))
		return false
	}
	for _, e := range sorted(entries) {
		key := base + e.Name()
		if e.IsDir() {
			key += "/"
		}
		if e.Name()[0] == '.' || !strings.HasPrefix(key, w.prefix) && !strings.HasPrefix(w.prefix, key) {
			continue
		}
		if e.IsDir() {
			if !w.folder(key) {
				return false
			}
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			w.yield(blob.Info{}, fmt.Errorf("list %s: %w", key, err))
			return false
		}
		if strings.HasPrefix(key, w.prefix) && !w.yield(blob.Info{Key: key, Size: info.Size(), ModTime: info.ModTime()},
			nil) {
			return false
		}
	}
	return true
}

// Ping implements blob.Store: the folder must be writable.
func (s *Store) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, tempDir), "ping-*")
	if err != nil {
		return fmt.Errorf("write to object folder: %w", classify(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (s *Store) path(key string) string { return filepath.Join(s.dir, filepath.FromSlash(key)) }

func check(ctx context.Context, key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

// classify gives the errors of the file system their kinds.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return blob.ErrNotFound
	case errors.Is(err, fs.ErrExist):
		return blob.ErrExists
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Wrap(fault.StorageFull, "The store is full.", err)
	default:
		return err
	}
}

// contextReader stops reading when the context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives for one call of Put
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
