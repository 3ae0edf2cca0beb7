package fscli

import (
	"context"
	"flag"
	"fmt"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// each does something with several things. One that fails does not stop the others:
// it is told at once, and how many failed at the end.
func each(ctx context.Context, s shell.IO, things []string, do func(thing string) error) error {
	if len(things) == 1 {
		return do(things[0])
	}
	failed := 0
	for _, thing := range things {
		err := do(thing)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			_, _ = fmt.Fprintln(s.Err, err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d failed", failed, len(things))
	}
	_, _ = fmt.Fprintf(s.Err, "%d done\n", len(things))
	return nil
}

func removeFiles(fs *flag.FlagSet, s shell.IO) fsWork {
	recursive := fs.Bool("r", false, "remove folders with all they hold")
	return func(ctx context.Context, r remote, rest []string) error {
		return each(ctx, s, rest, func(p string) error {
			f, err := r.Remove(ctx, remotePath(p))
			if filestoreclient.IsStatus(err, 404) && *recursive {
				n, err := r.RemoveFolder(ctx, remotePath(p))
				if err == nil {
					_, _ = fmt.Fprintf(s.Err, "%s is in the trash: %d files and empty folders; `castalia fs restore -r %s` takes the files out\n", p, n, p)
				}
				return about(p, err)
			}
			if err != nil {
				return orFolder(ctx, r, remotePath(p), err)
			}
			_, _ = fmt.Fprintf(s.Err, "%s is in the trash; `castalia fs restore %s` takes it out\n", f.Path, f.Path)
			return nil
		})
	}
}

func makeFolders(_ *flag.FlagSet, s shell.IO) fsWork {
	return func(ctx context.Context, r remote, rest []string) error {
		return each(ctx, s, rest, func(p string) error { return about(p, r.MakeFolder(ctx, remotePath(p))) })
	}
}

func moveFile(fs *flag.FlagSet, s shell.IO) fsWork {
	overwrite := fs.Bool("overwrite", false, "put what is there into the trash")
	return func(ctx context.Context, r remote, rest []string) error {
		n, err := r.Move(ctx, remotePath(rest[0]), remotePath(rest[1]), *overwrite)
		if err == nil && n > 1 {
			_, _ = fmt.Fprintf(s.Err, "%d files and empty folders moved\n", n)
		}
		return about(rest[0], err)
	}
}

func copyFile(fs *flag.FlagSet, s shell.IO) fsWork {
	overwrite := fs.Bool("overwrite", false, "replace what is there; it stays as an older version, or goes to the trash")
	return func(ctx context.Context, r remote, rest []string) error {
		n, err := r.Copy(ctx, remotePath(rest[0]), remotePath(rest[1]), *overwrite)
		if err == nil && n > 1 {
			_, _ = fmt.Fprintf(s.Err, "%d files and empty folders copied\n", n)
		}
		return about(rest[0], err)
	}
}
