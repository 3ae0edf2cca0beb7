package fscli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// jsonFlag declares that a program reads what is printed.
func jsonFlag(fs *flag.FlagSet) *bool { return fs.Bool("json", false, "print JSON, one value a line") }

// printJSON prints values, one a line.
func printJSON[T any](s shell.IO, values ...T) error {
	out := json.NewEncoder(s.Out)
	out.SetEscapeHTML(false)
	for _, v := range values {
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

func listFiles(fs *flag.FlagSet, s shell.IO) fsWork {
	long := fs.Bool("l", false, "show when files changed, their versions and types too")
	deep := fs.Bool("R", false, "list everything below")
	both := fs.Bool("lR", false, "-l and -R")
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, r remote, rest []string) error {
		folder := "/"
		if len(rest) == 1 {
			folder = remotePath(rest[0])
		}
		if *deep || *long || *both {
			return listDeep(ctx, r, s, folder, *long || *both, *deep || *both, *asJSON)
		}
		nodes, err := r.Tree(ctx, folder)
		if err != nil {
			return about(folder, err)
		}
		if len(nodes) == 0 && folder != "/" {
			return listFile(ctx, r, s, folder, *asJSON)
		}
		if *asJSON {
			return printJSON(s, nodes...)
		}
		table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
		for _, n := range nodes {
			if n.Type == "folder" {
				_, _ = fmt.Fprintf(table, "%s/\t\t\n", n.Name)
				continue
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", n.Name, bytesize.Text(*n.Size), n.CID)
		}
		return table.Flush()
	}
}

// listFile lists what is no folder with something in it: a file, or an empty folder.
func listFile(ctx context.Context, r remote, s shell.IO, at string, asJSON bool) error {
	f, err := r.Stat(ctx, at)
	if filestoreclient.IsStatus(err, http.StatusNotFound) {
		if made, listed := r.Made(ctx, at); listed == nil && len(made) > 0 {
			return nil
		}
	}
	if err != nil {
		return about(at, err)
	}
	if asJSON {
		return printJSON(s, f)
	}
	_, err = fmt.Fprintf(s.Out, "%s  %s  %s\n", f.CID, bytesize.Text(f.Size), f.Path)
	return err
}

// listDeep lists files with all that is known of them, and the folders that files do not name.
func listDeep(ctx context.Context, r remote, s shell.IO, folder string, long, deep, asJSON bool) error {
	base := strings.TrimSuffix(folder, "/") + "/"
	files, err := r.Under(ctx, base)
	if err != nil {
		return about(folder, err)
	}
	lines, full := map[string]string{}, map[string]bool{}
	for _, f := range files {
		name := strings.TrimPrefix(f.Path, base)
		markAbove(full, name)
		if !deep && strings.Contains(name, "/") {
			continue
		}
		switch {
		case asJSON:
			if err := printJSON(s, f); err != nil {
				return err
			}
		case long:
			lines[name] = fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%s\n", f.UpdatedAt, bytesize.Text(f.Size), f.Version, f.MimeType, f.CID, name)
		default:
			lines[name] = fmt.Sprintf("%s\t%s\t%s\n", name, bytesize.Text(f.Size), f.CID)
		}
	}
	if asJSON {
		return nil
	}
	folders, err := foldersIn(ctx, r, folder, deep)
	if err != nil {
		return about(folder, err)
	}
	for _, name := range folders {
		switch {
		case deep && full[name]:
		case long:
			lines[name] = fmt.Sprintf("\t\t\tfolder\t\t%s/\n", name)
		default:
			lines[name] = name + "/\t\t\n"
		}
	}
	table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		_, _ = io.WriteString(table, lines[name])
	}
	return table.Flush()
}

// foldersIn names the folders of a folder, or everywhere below it those that stay when they are empty.
func foldersIn(ctx context.Context, r remote, folder string, deep bool) ([]string, error) {
	var names []string
	if !deep {
		nodes, err := r.Tree(ctx, folder)
		for _, n := range nodes {
			if n.Type == "folder" {
				names = append(names, n.Name)
			}
		}
		return names, err
	}
	made, err := r.Made(ctx, folder)
	for _, at := range made {
		if name := nameIn(folder, at); name != "." {
			names = append(names, name)
		}
	}
	return names, err
}

func statFile(fs *flag.FlagSet, s shell.IO) fsWork {
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, r remote, rest []string) error {
		f, err := r.Stat(ctx, remotePath(rest[0]))
		if err != nil {
			return about(rest[0], err)
		}
		if *asJSON {
			return printJSON(s, f)
		}
		table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
		for _, line := range [][2]string{
			{"path", f.Path},
			{"id", f.ID},
			{"cid", f.CID},
			{"sha256", f.ContentHash},
			{"size", fmt.Sprint(f.Size)},
			{"type", f.MimeType},
			{"version", fmt.Sprint(f.Version)},
			{"created", f.CreatedAt},
			{"changed", f.UpdatedAt},
			{"public", f.PublicURL},
		} {
			if line[1] != "" {
				_, _ = fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
			}
		}
		return table.Flush()
	}
}

func listCIDs(fs *flag.FlagSet, s shell.IO) fsWork {
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, r remote, _ []string) error {
		list, err := r.CIDs(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(s, list.CIDs...)
		}
		table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
		for _, c := range list.CIDs {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", c.CID, bytesize.Text(c.Size), c.Path)
		}
		return table.Flush()
	}
}

func searchFiles(fs *flag.FlagSet, s shell.IO) fsWork {
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, r remote, rest []string) error {
		folder := "/"
		if len(rest) == 2 {
			folder = remotePath(rest[1])
		}
		found, err := r.Search(ctx, rest[0], folder)
		if err != nil {
			return err
		}
		if found.Behind > 0 {
			_, _ = fmt.Fprintf(s.Err, "not in the index yet: %d of the newest changes\n", found.Behind)
		}
		if *asJSON {
			return printJSON(s, found.Hits...)
		}
		for _, h := range found.Hits {
			if h.LineStart == 0 { // by its name
				_, _ = fmt.Fprintln(s.Out, h.Path)
				continue
			}
			_, _ = fmt.Fprintf(s.Out, "%s:%d: %s\n", h.Path, h.LineStart, strings.TrimSpace(h.Preview))
		}
		return nil
	}
}

// isCID reports whether somebody typed a CID and not a path.
func isCID(text string) (cid.CID, bool) {
	c, err := cid.Parse(text)
	return c, err == nil
}

func catFile(fs *flag.FlagSet, s shell.IO) fsWork {
	version := fs.Int64("version", 0, "`NUMBER` of an old version")
	return func(ctx context.Context, r remote, rest []string) error {
		if c, ok := isCID(rest[0]); ok {
			_, err := r.GetCID(ctx, c, s.Out)
			return about(rest[0], err)
		}
		_, err := r.Get(ctx, remotePath(rest[0]), *version, s.Out)
		return about(rest[0], err)
	}
}

func exportFiles(_ *flag.FlagSet, s shell.IO) fsWork {
	return func(ctx context.Context, r remote, rest []string) error {
		from, to := remotePath(rest[0]), rest[1]
		if to == "-" {
			return about(from, r.Export(ctx, from, s.Out))
		}
		return about(from, replaceFile(to, func(w io.Writer) error { return r.Export(ctx, from, w) }))
	}
}

func importFiles(fs *flag.FlagSet, s shell.IO) fsWork {
	blocks := fs.Bool("blocks", false, "keep the archive as one file at the path; the IPFS gateway serves its blocks")
	overwrite := fs.Bool("overwrite", false, "files that are there get new versions")
	return func(ctx context.Context, r remote, rest []string) error {
		from, size := s.In, int64(-1)
		if rest[0] != "-" {
			f, err := os.Open(rest[0])
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			from, size = f, info.Size()
		}
		done, err := r.Import(ctx, remotePath(rest[1]), from, size, *blocks, *overwrite)
		if err != nil {
			return about(rest[0], err)
		}
		for _, f := range done.Files {
			_, _ = fmt.Fprintln(s.Out, f.CID, f.Path)
		}
		if done.More {
			_, _ = fmt.Fprintf(s.Err, "These are the first %d; see the others with castalia fs ls.\n", len(done.Files))
		}
		_, _ = fmt.Fprintf(s.Err, "%d files, %d bytes, from %s\n", done.Count, done.Bytes, done.Root)
		return nil
	}
}

// replaceFile writes a file beside another one, which it replaces only when it is
// whole.
func replaceFile(name string, write func(w io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(name), ".part-*")
	if err != nil {
		return err
	}
	err = write(temp)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(temp.Name(), 0o644) //nolint:gosec // as other programs leave what they fetch
	}
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// getCID fetches content by its CID into a file.
func getCID(ctx context.Context, r remote, s shell.IO, c cid.CID, local string) error {
	var f filestoreclient.File
	err := replaceFile(local, func(w io.Writer) (err error) {
		f, err = r.GetCID(ctx, c, w)
		return err
	})
	if err != nil {
		return about(c.String(), err)
	}
	_, err = fmt.Fprintf(s.Out, "%s  %s\n", f.CID, local)
	return err
}
