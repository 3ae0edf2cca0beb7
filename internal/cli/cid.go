package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/cid"
)

func cidCommand() command {
	return command{name: "cid", args: "[FILE…|-]", summary: "print the CID of files or of standard input", run: runCID}
}

// runCID prints `<cid>  <name>` for each file. One that cannot be read is named
// and the others go on.
func runCID(_ context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("cid", s)
	files, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	failed := false
	for _, name := range files {
		c, err := cidOf(name, s)
		if err != nil {
			failed = true
			_, _ = fmt.Fprintf(s.Err, "castalia cid: %v\n", err)
			continue
		}
		if _, err := fmt.Fprintf(s.Out, "%s  %s\n", c, name); err != nil {
			return err
		}
	}
	if failed {
		return shell.ExitError(1)
	}
	return nil
}

func cidOf(name string, s shell.IO) (cid.CID, error) {
	r := s.In
	size := int64(-1)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return cid.CID{}, err
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return cid.CID{}, err
		}
		if info.IsDir() {
			return cid.CID{}, fmt.Errorf("%s is a folder", name)
		}
		r, size = f, info.Size()
	}
	bar := shell.NewProgress(s, name, size)
	defer bar.Finish()
	c, _, err := cid.Sum(bar.Reader(r), cid.Options{})
	if err != nil {
		return cid.CID{}, errors.Join(fmt.Errorf("read %s", name), err)
	}
	return c, nil
}
