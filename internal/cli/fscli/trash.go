package fscli

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

func restoreFile(fs *flag.FlagSet, s shell.IO) fsWork {
	version := fs.Int64("version", 0, "make this `NUMBER` of a version the newest one, instead of taking the file out of the trash")
	recursive := fs.Bool("r", false, "restore everything that was in the folder")
	return func(ctx context.Context, r remote, rest []string) error {
		target := remotePath(rest[0])
		if *recursive {
			return restoreFolder(ctx, r, s, target)
		}
		var f filestoreclient.File
		var err error
		if *version > 0 {
			f, err = r.RestoreVersion(ctx, target, *version)
		} else {
			var id string
			if id, err = trashedID(ctx, r, target); err == nil {
				f, err = r.Restore(ctx, id)
			}
		}
		if err != nil {
			return about(target, err)
		}
		_, err = fmt.Fprintf(s.Out, "%s  %s\n", f.CID, f.Path)
		return err
	}
}

// restoreFolder takes out of the trash what was below a folder. Of several files that
// had one path it is the last.
func restoreFolder(ctx context.Context, r remote, s shell.IO, folder string) error {
	files, err := trashedBelow(ctx, r, folder)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return about(folder, &filestoreclient.StatusError{Status: http.StatusNotFound, Message: "nothing in the trash was below it"})
	}
	var tally tally
	for _, name := range sorted(files) {
		f, err := r.Restore(ctx, files[name].ID)
		if err == nil {
			_, err = fmt.Fprintf(s.Out, "%s  %s\n", f.CID, f.Path)
		}
		if tally.did(s, about(name, err)); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return tally.tell(s, "taken out")
}

// trashedBelow are the files that went to the trash last from the paths below a folder.
func trashedBelow(ctx context.Context, r remote, folder string) (map[string]filestoreclient.File, error) {
	files, err := r.Trash(ctx)
	if err != nil {
		return nil, err
	}
	last := map[string]filestoreclient.File{}
	for _, f := range files {
		if strings.HasPrefix(f.Path, strings.TrimSuffix(folder, "/")+"/") && f.TrashedAt >= last[f.Path].TrashedAt {
			last[f.Path] = f
		}
	}
	return last, nil
}

func listTrash(fs *flag.FlagSet, s shell.IO) fsWork {
	purge := fs.String("purge", "", "destroy what is in the trash of this `PATH`; nothing brings it back")
	return func(ctx context.Context, r remote, rest []string) error {
		if *purge != "" {
			return purgeTrashed(ctx, r, s, remotePath(*purge))
		}
		files, err := r.Trash(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
		for _, f := range files {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.TrashedAt, bytesize.Text(f.Size), f.CID, f.Path)
		}
		return table.Flush()
	}
}

// purgeTrashed destroys every file in the trash that had the path.
func purgeTrashed(ctx context.Context, r remote, s shell.IO, path string) error {
	for count := 0; ; count++ {
		id, err := trashedID(ctx, r, path)
		if count > 0 && filestoreclient.IsStatus(err, 404) {
			return nil
		}
		if err == nil {
			err = r.Purge(ctx, id)
		}
		if err != nil {
			return about(path, err)
		}
		_, _ = fmt.Fprintf(s.Err, "%s (%s) is destroyed\n", path, id)
	}
}

// trashedID is the file that went to the trash last from a path.
func trashedID(ctx context.Context, r remote, path string) (string, error) {
	files, err := r.Trash(ctx)
	if err != nil {
		return "", err
	}
	var found filestoreclient.File
	for _, f := range files {
		if f.Path == path && f.TrashedAt >= found.TrashedAt {
			found = f
		}
	}
	if found.ID == "" {
		message := "no such file in the trash"
		if below, err := trashedBelow(ctx, r, path); err == nil && len(below) > 0 {
			message = fmt.Sprintf("%d files of this folder are in the trash: restore -r takes them out", len(below))
		}
		return "", &filestoreclient.StatusError{Status: http.StatusNotFound, Message: message}
	}
	return found.ID, nil
}
