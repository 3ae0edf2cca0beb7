package knowcli

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"path"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// How the command is called, and what it is for.
const (
	DemoUsage   = "[--remove] [--server URL] [--key FILE]"
	DemoSummary = "load a small sample community to ask about, or take it away"
)

// DemoCollection is the collection of the sample community.
const DemoCollection = knowledge.SampleName

//go:embed demo
var demoFiles embed.FS

// RunDemo runs `castalia demo`.
func RunDemo(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("demo", s)
	remove := fs.Bool("remove", false, "take the sample community away")
	open := remoteFlags(fs, s)
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	if *remove {
		return r.removeDemo(ctx)
	}
	c, err := r.ensure(ctx, DemoCollection, "", nil)
	if err != nil {
		return err
	}
	entries, err := demoFiles.ReadDir("demo")
	if err != nil {
		return err
	}
	var paths []string
	for _, e := range entries {
		text, err := demoFiles.ReadFile(path.Join("demo", e.Name()))
		if err != nil {
			return err
		}
		to := path.Join(c.Folder, e.Name())
		if _, err := r.files.Put(ctx, to, filestore.MediaTypeOf(e.Name()), bytes.NewReader(text), int64(len(text)),
			cid.CID{}); err != nil {
			return fmt.Errorf("add %s: %w", e.Name(), err)
		}
		paths = append(paths, to)
	}
	if err := r.await(ctx, c, paths); err != nil {
		return err
	}
	_, err = fmt.Fprint(s.Out, "\nTry: castalia knowledge ask \"when is the clinic open on Saturday?\"\n"+
		"     castalia knowledge ask \"mbolea ya DAP ni bei gani?\"\nTake it away: castalia demo --remove\n")
	return err
}

// removeDemo takes away what RunDemo added, and nothing that others put there.
func (r remote) removeDemo(ctx context.Context) error {
	c, found, err := r.find(ctx, DemoCollection)
	if err != nil {
		return err
	}
	if !found {
		_, err := fmt.Fprintln(r.io.Err, "There is no sample community.")
		return err
	}
	docs, err := r.Documents(ctx, c.ID)
	if err != nil {
		return err
	}
	own := map[string]bool{}
	entries, err := demoFiles.ReadDir("demo")
	if err != nil {
		return err
	}
	for _, e := range entries {
		own[path.Join(c.Folder, e.Name())] = true
	}
	for _, d := range docs {
		if !own[d.Path] {
			continue
		}
		if _, err := r.files.Remove(ctx, d.Path); err != nil {
			return fmt.Errorf("%s: %w", d.Path, err)
		}
	}
	if err := r.Delete(ctx, c.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintln(r.io.Out, "The sample community is gone.")
	return err
}
