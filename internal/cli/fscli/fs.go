// Package fscli is the part of the command line that speaks to the file store, for
// people (`castalia fs`) and for their agents (`castalia mcp`).
package fscli

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/protocol/qrcode"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
)

// How the command is called, and what it is for.
const (
	Usage = "put [-r] [--follow] [--new] LOCAL…|- REMOTE | get [-r] [--overwrite] [--version N] REMOTE…|CID [LOCAL] | sync [--down] [--dry-run] [--delete] FROM TO | " +
		"ls [-l] [-R] [--json] [PATH] | stat [--json] PATH | cids [--json] | search [--json] WORDS [PATH] | cat [--version N] PATH|CID | " +
		"mkdir PATH… | rm [-r] PATH… | mv [--overwrite] FROM TO | cp [--overwrite] FROM TO | export PATH FILE|- | import [--blocks] [--overwrite] FILE|- PATH | " +
		"versions PATH | restore [-r] [--version N] PATH | trash [--purge PATH] | " +
		"share [--ttl D] [--uses N] [--qr] [--plain|--upload SIZE|--public|--private|--end ID|--list] [PATH] | … [--server URL] [--key FILE] [--proof T|@F]"
	Summary = "the file store from a shell"
)

// remote is who a command talks to, and as whom.
type remote struct {
	*filestoreclient.Client
	server    string
	namespace string
}

// remoteFlags adds the flags that say so.
func remoteFlags(fs *flag.FlagSet, s shell.IO) func() (remote, error) {
	key := s.Getenv("CASTALIA_KEY")
	if key == "" {
		key = shell.DefaultKeyFile
	}
	server := shell.ServerFlag(fs, s)
	keyFlag := fs.String("key", key, "key `FILE` that says who you are (CASTALIA_KEY)")
	proof := fs.String("proof", "", "delegation to you, as `TOKEN` or @FILE, to reach somebody else's files")
	return func() (remote, error) {
		signer, err := shell.OwnSigner(*keyFlag, s)
		if err != nil {
			return remote{}, err
		}
		cfg := filestoreclient.Config{Server: *server, Signer: signer, Waiting: shell.Waiting(s)}
		if *proof != "" {
			if cfg.Proof, err = shell.ReadToken(*proof, s); err != nil {
				return remote{}, fmt.Errorf("--proof: %w", err)
			}
		}
		c, err := filestoreclient.New(cfg)
		return remote{c, strings.TrimSuffix(*server, "/"), namespaceOf(cfg)}, err
	}
}

// namespaceOf is whose files are meant.
func namespaceOf(cfg filestoreclient.Config) string {
	if cfg.Proof != nil && len(cfg.Proof.Leaf.Capabilities) > 0 {
		if r, err := ucan.ParseResource(cfg.Proof.Leaf.Capabilities[0].With); err == nil && r.Namespace != "" {
			return r.Namespace
		}
	}
	return string(cfg.Signer.DID())
}

// fsWork is what a subcommand does at a server with its arguments.
type fsWork func(ctx context.Context, r remote, args []string) error

// fsVerb is one subcommand: how many arguments it takes, and how it declares its
// flags, before they are read, and returns its work.
type fsVerb struct {
	name     string
	min, max int // max < 0 is without limit
	expected string
	declare  func(fs *flag.FlagSet, s shell.IO) fsWork
}

func fsVerbs() []fsVerb {
	return []fsVerb{
		{"put", 2, -1, "local files and a remote path", putFiles},
		{"get", 1, -1, "a remote path or a CID, and perhaps a local one", getFiles},
		{"sync", 2, 2, "a local folder and a remote one, or with --down the other way round", syncFolders},
		{"ls", 0, 1, "at most one path", listFiles},
		{"stat", 1, 1, "one path", statFile},
		{"cids", 0, 0, "no path", listCIDs},
		{"search", 1, 2, "words, and perhaps a folder", searchFiles},
		{"cat", 1, 1, "one path or CID", catFile},
		{"mkdir", 1, -1, "a path", makeFolders},
		{"rm", 1, -1, "a path", removeFiles},
		{"mv", 2, 2, "two paths", moveFile},
		{"cp", 2, 2, "two paths", copyFile},
		{"export", 2, 2, "a path and a local file, or - for standard output", exportFiles},
		{"import", 2, 2, "a local CAR, or - for standard input, and a remote path", importFiles},
		{"versions", 1, 1, "one path", listVersions},
		{"restore", 1, 1, "one path", restoreFile},
		{"trash", 0, 0, "no path; --purge takes one", listTrash},
		{"share", 0, 1, "at most one path", shareFile},
	}
}

// Run runs one command line of `castalia fs`.
func Run(ctx context.Context, args []string, s shell.IO) error {
	name, rest := shell.CutFirst(args)
	var names []string
	for _, verb := range fsVerbs() {
		if verb.name == name {
			return verb.run(ctx, rest, s)
		}
		names = append(names, verb.name)
	}
	return shell.NoSubcommand(args, names...)
}

func (v fsVerb) run(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("fs "+v.name, s)
	work := v.declare(fs, s)
	connect := remoteFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) < v.min || v.max >= 0 && len(rest) > v.max {
		return shell.Usagef("expected %s", v.expected)
	}
	r, err := connect()
	if err != nil {
		return err
	}
	return work(ctx, r, rest)
}

// remotePath makes what was typed an absolute path. One that climbs is left to
// the server, which refuses it: guessing what was meant could hit another file.
func remotePath(p string) string {
	if slices.Contains(strings.Split(p, "/"), "..") {
		return "/" + strings.TrimPrefix(p, "/")
	}
	return path.Clean("/" + p)
}

// about says which path an error is about.
func about(where string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", where, err)
}

// orFolder says what went wrong with a path where a file is wanted: that it is a folder,
// when it is one.
func orFolder(ctx context.Context, r remote, where string, err error) error {
	if filestoreclient.IsStatus(err, http.StatusNotFound) {
		if nodes, listed := r.Tree(ctx, where); listed == nil && len(nodes) > 0 {
			return fmt.Errorf("%s is a folder: -r takes all that is in it", where)
		}
	}
	return about(where, err)
}

func listVersions(_ *flag.FlagSet, s shell.IO) fsWork {
	return func(ctx context.Context, r remote, rest []string) error {
		versions, err := r.Versions(ctx, remotePath(rest[0]))
		if err != nil {
			return about(rest[0], err)
		}
		table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
		for _, v := range versions {
			_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\n", v.Version, v.CreatedAt, bytesize.Text(v.Size), v.CID, v.Invoker)
		}
		return table.Flush()
	}
}

func shareFile(fs *flag.FlagSet, s shell.IO) fsWork {
	life := fs.String("ttl", "7d", "how long the link works, as `DURATION`, or never")
	uses := fs.Int64("uses", 0, "how often it works; 0 is without limit")
	public := fs.Bool("public", false, "make the file public instead: anyone with the address can read it")
	private := fs.Bool("private", false, "make the file private again")
	plain := fs.Bool("plain", false, "an address that any browser and any program can open: everybody who gets it can read")
	upload := fs.String("upload", "", "create an upload link: anyone with it can send files to the folder, up to this `SIZE` altogether, such as 500MiB")
	code := fs.Bool("qr", false, "with --plain or --upload: draw the address as a QR code, too")
	end := fs.String("end", "", "end the link with this `ID`")
	list := fs.Bool("list", false, "list links")
	return func(ctx context.Context, r remote, rest []string) error {
		switch {
		case *end != "":
			return r.EndShare(ctx, *end)
		case *list:
			return listShares(ctx, r, s)
		case len(rest) != 1:
			return shell.Usagef("expected one path")
		}
		target := remotePath(rest[0])
		if *public || *private {
			address, err := r.Publish(ctx, target, *public)
			if err == nil && *public {
				_, err = fmt.Fprintln(s.Out, address)
			}
			return about(target, err)
		}
		expires, err := shell.ExpiresAfter(*life, time.Now())
		if err != nil {
			return err
		}
		switch {
		case *upload != "":
			var room config.Size
			if err := room.UnmarshalText([]byte(*upload)); err != nil {
				return shell.Usagef("--upload: %v", err)
			}
			link, err := r.ShareForUploads(ctx, target, expires, int64(room), *uses)
			return showAddress(s, "Everybody who has this address can send files.", link, *code, about(target, err))
		case *plain:
			link, err := r.SharePlainly(ctx, target, expires, *uses)
			return showAddress(s, "Everybody who has this address can read it.", link, *code, about(target, err))
		case *code:
			return shell.Usagef("--qr is for --plain and --upload: other links are too long for a code")
		}
		link, err := r.Share(ctx, target, identity.FileResource(r.namespace, target), expires, *uses)
		if err != nil {
			return about(target, err)
		}
		_, _ = fmt.Fprintf(s.Err, "End it with `castalia fs share --end %s`.\n", link.ID)
		fragment := url.Values{"path": {target}, "key": {link.Key}, "token": {link.Token}}
		_, err = fmt.Fprintf(s.Out, "%s/console/share#%s\n", r.server, fragment.Encode())
		return err
	}
}

// showAddress prints a link whose address is all, unless it was not made.
func showAddress(s shell.IO, means string, link filestorehttp.PlainLink, drawn bool, err error) error {
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Err, "%s End it with `castalia fs share --end %s`.\n", means, link.ID)
	if drawn {
		c, err := qrcode.Encode(link.URL)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprint(s.Err, c.Text())
	}
	_, err = fmt.Fprintln(s.Out, link.URL)
	return err
}

func listShares(ctx context.Context, r remote, s shell.IO) error {
	shares, err := r.Shares(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	for _, sh := range shares {
		uses := fmt.Sprintf("%d uses", sh.Uses)
		if sh.MaxUses > 0 {
			uses = fmt.Sprintf("%d of %d uses", sh.Uses, sh.MaxUses)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", sh.ID, sh.State, uses, sh.ExpiresAt, sh.Path)
	}
	return table.Flush()
}
