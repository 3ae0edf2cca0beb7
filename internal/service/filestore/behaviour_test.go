package filestore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

// direct is the door without a transport.
type direct struct {
	t *testing.T
	w *filestoretest.World
}

func (d direct) ctx() context.Context { return d.t.Context() }

func (d direct) store(path, text string, mode filestore.Mode) (string, error) {
	r, err := d.w.Put(d.ctx(), owner, filestore.Put{Path: path, Mode: mode, Body: strings.NewReader(text)})
	return r.File.CID, err
}

func (d direct) Create(path, text string) (string, error) {
	return d.store(path, text, filestore.CreateOnly)
}

func (d direct) Replace(path, text string) (string, error) {
	return d.store(path, text, filestore.ReplaceOnly)
}
func (d direct) Read(path string) (string, error) { return content(d.t, d.w, path) }
func (d direct) Edit(path, old, replacement string) error {
	_, err := d.w.Text.Edit(d.ctx(), owner, filetext.Edit{Path: path, Old: old, New: replacement})
	return err
}

func (d direct) Move(from, to string) error {
	_, err := d.w.Move(d.ctx(), owner, filestore.Target{Path: from}, to, false)
	return err
}

func (d direct) Remove(path string) error {
	_, err := d.w.Trash(d.ctx(), owner, filestore.Target{Path: path})
	return err
}

func (d direct) Children(folder string) ([]string, error) {
	nodes, _, err := d.w.Folders.Tree(d.ctx(), owner, folder, "")
	var out []string
	for _, n := range nodes {
		out = append(out, n.Path)
	}
	return out, err
}

func (d direct) Versions(path string) (int, error) {
	f, err := d.w.Stat(d.ctx(), owner, path)
	if err != nil {
		return 0, err
	}
	all, err := d.w.Versions(d.ctx(), owner, f.ID)
	return len(all), err
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) { filestoretest.Behaviour(t, direct{t, w}) })
}
