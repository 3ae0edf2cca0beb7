// Package knowcli is the part of the command line that speaks to a server's
// knowledge: `castalia knowledge` and `castalia demo`.
package knowcli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeclient"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
)

// How the command is called, and what it is for.
const (
	Usage = "add [--collection NAME] [--readers everybody|members|named|delegates] [--did DID]… FILE… | ls [--collection NAME] | ask [--people] QUESTION | " +
		"rm [--collection NAME] [DOCUMENT…] | questions [--mine|--operator] [--state STATE] | answer [--operator] [--keep] ID ANSWER | answer [--operator] --dismiss|--forget ID | " +
		"publish [ID…] | unpublish ID… | … [--server URL] [--key FILE] [--token TOKEN]"
	Summary = "documents that answer questions, with their sources"
)

// DefaultCollection is where documents go whose adder names no collection.
const DefaultCollection = "Documents"

// everybody are the readers of a collection whose adder names none.
const everybody = "everybody"

// remote is who a command talks to, and as whom.
type remote struct {
	*knowledgeclient.Client
	files *filestoreclient.Client
	io    shell.IO
}

// remoteFlags adds the flags that say so.
func remoteFlags(fs *flag.FlagSet, s shell.IO) func(ctx context.Context) (remote, error) {
	key := cmp.Or(s.Getenv("CASTALIA_KEY"), shell.DefaultKeyFile)
	server := shell.ServerFlag(fs, s)
	keyFlag := fs.String("key", key, "key `FILE` that says who you are (CASTALIA_KEY)")
	token := fs.String("token", s.Getenv("OPERATOR_TOKEN"), "operator `TOKEN`, to publish with (OPERATOR_TOKEN)")
	return func(ctx context.Context) (remote, error) {
		signer, err := shell.OwnSigner(*keyFlag, s)
		if err != nil {
			return remote{}, err
		}
		return connect(ctx, *server, *token, signer, s)
	}
}

func connect(ctx context.Context, server, token string, signer did.Signer, s shell.IO) (remote, error) {
	c, err := knowledgeclient.New(ctx, knowledgeclient.Config{Server: server, Signer: signer, Operator: token})
	if err != nil {
		return remote{}, err
	}
	files, err := filestoreclient.New(filestoreclient.Config{Server: server, Signer: signer, Waiting: shell.Waiting(s)})
	return remote{c, files, s}, err
}

// Run runs one command line of `castalia knowledge`.
func Run(ctx context.Context, args []string, s shell.IO) error {
	name, rest := shell.CutFirst(args)
	verbs := map[string]func(context.Context, []string, shell.IO) error{
		"add": runAdd, "ls": runList, "ask": runAsk, "rm": runRemove, "questions": runQuestions, "answer": runAnswer,
		"publish": runPublish, "unpublish": runUnpublish,
	}
	if verb, ok := verbs[name]; ok {
		return verb(ctx, rest, s)
	}
	return shell.NoSubcommand(args, "add", "ls", "ask", "rm", "questions", "answer", "publish", "unpublish")
}

// find returns the caller's collection of a name.
func (r remote) find(ctx context.Context, name string) (knowledgeclient.Collection, bool, error) {
	all, err := r.Collections(ctx)
	if err != nil {
		return knowledgeclient.Collection{}, false, err
	}
	i := slices.IndexFunc(all, func(c knowledgeclient.Collection) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return knowledgeclient.Collection{}, false, nil
	}
	return all[i], true, nil
}

// ensure returns the caller's collection of a name, making it when there is none. An
// operator's own needs no second step.
func (r remote) ensure(ctx context.Context, name, readers string, dids []string) (knowledgeclient.Collection, error) {
	c, found, err := r.find(ctx, name)
	if err != nil {
		return c, err
	}
	if found {
		if readers != "" && readers != c.Readers || len(dids) > 0 {
			return c, shell.Usagef("the collection %s is there already, for %s; leave --readers and --did out, or name another --collection", c.Name, c.Readers)
		}
		return c, nil
	}
	readers = cmp.Or(readers, everybody)
	if c, err = r.Create(ctx, knowledgehttp.CollectionBody{Name: name, Readers: readers, DIDs: dids}); err != nil ||
		c.Published {
		return c, err
	}
	err = r.Publish(ctx, c.ID, c.Readers)
	refused, isRefused := errors.AsType[*knowledgeclient.StatusError](err)
	if isRefused && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) {
		_, err = fmt.Fprintf(r.io.Err, "%s is waiting for an operator, and is yours alone until then: `castalia knowledge publish %s`\n", c.Name, c.ID)
	}
	return c, err
}

func runAdd(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("knowledge add", s)
	name := fs.String("collection", DefaultCollection, "`NAME` of the collection, which is made when there is none")
	readers := fs.String("readers", "", "`WHO` may ask a collection that is made: everybody (the default), members, named or delegates")
	var dids shell.List
	fs.Var(&dids, "did", "a named reader, as `DID`; may be repeated")
	open := remoteFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return shell.Usagef("expected files to add")
	}
	for _, local := range rest {
		if shell.HoldsSecret(local) {
			return shell.Usagef("%s holds a private key: whoever reads it is you. It is not added", local)
		}
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	c, err := r.ensure(ctx, *name, *readers, dids)
	if err != nil {
		return err
	}
	var paths []string
	for _, local := range rest {
		if shell.IsFolder(local) {
			return shell.Usagef("%s is a folder; name its files, or put it with `castalia fs put -r %s %s/`", local, local, c.Folder)
		}
		to := path.Join(c.Folder, filepath.Base(local))
		if err := r.put(ctx, local, to); err != nil {
			return err
		}
		paths = append(paths, to)
	}
	if err := r.await(ctx, c, paths); err != nil || c.Readers != everybody {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Everybody who may come in can ask %s. For fewer: `castalia knowledge add --collection NAME --readers members FILE`.\n", c.Name)
	return err
}

// put stores a file, in parts when it is large.
func (r remote) put(ctx context.Context, local, to string) error {
	f, err := os.Open(local)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	want, size, err := cid.Sum(f, cid.Options{})
	if err != nil {
		return fmt.Errorf("read %s: %w", local, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	bar := shell.NewProgress(r.io, to, size)
	defer bar.Finish()
	_, err = r.files.Upload(ctx, filestoreclient.Upload{
		Path: to, MimeType: filestore.MediaTypeOf(local), Size: size, Source: f, Want: want, Progress: bar.At,
	})
	if err != nil {
		return fmt.Errorf("add %s: %w", local, err)
	}
	return nil
}

// lookEvery is how often a command looks whether documents are read.
const lookEvery = 200 * time.Millisecond

// await waits until documents are read, and says what became of each.
func (r remote) await(ctx context.Context, c knowledgeclient.Collection, paths []string) error {
	versions := map[string]int64{}
	for _, p := range paths {
		f, err := r.files.Stat(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		versions[p] = f.Version
	}
	failed := 0
	for {
		docs, err := r.Documents(ctx, c.ID)
		if err != nil {
			return err
		}
		for _, d := range docs {
			version, wanted := versions[d.Path]
			if !wanted || d.Version < version || d.State != "read" && d.State != "failed" {
				continue
			}
			delete(versions, d.Path)
			if d.State == "failed" {
				failed++
			}
			_, _ = fmt.Fprintf(r.io.Out, "%s: %s\n", path.Base(d.Path), condition(d))
		}
		if len(versions) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s not read", shell.Count(failed, "document"))
	}
	return nil
}

// condition says how far a document is.
func condition(d knowledgeclient.Document) string {
	parts := []string{d.State}
	if d.Pages > 0 {
		parts = append(parts, shell.Count(d.Pages, "page"))
	}
	if d.State == "read" {
		parts = append(parts, shell.Count(d.Passages, "passage"))
	}
	if d.Language != "" && d.Language != "und" {
		parts = append(parts, d.Language)
	}
	text := strings.Join(parts, ", ")
	if d.Why != "" {
		text += ": " + d.Why
	}
	return text
}

func runList(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("knowledge ls", s)
	name := fs.String("collection", "", "only the collection of this `NAME`")
	open := remoteFlags(fs, s)
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	all, err := r.Collections(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	shown := 0
	for _, c := range all {
		if *name != "" && !strings.EqualFold(c.Name, *name) {
			continue
		}
		shown++
		who := c.Readers
		if !c.Published {
			who += " (waiting for an operator)"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", c.Name, c.Folder, who)
		docs, err := r.Documents(ctx, c.ID)
		if err != nil {
			return err
		}
		for _, d := range docs {
			_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\n", strings.TrimPrefix(d.Path, c.Folder+"/"), d.ChangedAt, condition(d))
		}
	}
	if shown == 0 {
		_, _ = fmt.Fprintln(s.Err, "You have no such collection; `castalia knowledge add FILE` makes one.")
	}
	return table.Flush()
}

func runAsk(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("knowledge ask", s)
	people := fs.Bool("people", false, "send the question to people if no document answers; they do not see who asks")
	showMe := fs.Bool("show-me", false, "with --people: let them see your DID")
	open := remoteFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return shell.Usagef("expected a question")
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	a, err := r.Ask(ctx, strings.Join(rest, " "))
	if err != nil {
		return err
	}
	if err := printAnswer(s.Out, a); err != nil || a.Answered || !*people {
		return err
	}
	return r.sendOn(ctx, strings.Join(rest, " "), *showMe)
}

func printAnswer(w io.Writer, a knowledgeclient.Answer) error {
	if !a.Answered {
		_, err := fmt.Fprintln(w, "I do not know: no document that you may read answers this.")
		if len(a.Nearest) > 0 && err == nil {
			_, err = fmt.Fprintf(w, "Nearest: %s\n", shell.Printable(strings.Join(a.Nearest, "; ")))
		}
		return err
	}
	for i, h := range a.Hits {
		source := h.Title
		if h.Pair {
			h.Name = "answered by people"
		}
		if h.Page > 0 {
			source += fmt.Sprintf(", page %d", h.Page)
		}
		if n := len(h.Headings); n > 0 && h.Headings[n-1] != h.Title {
			source += ", " + h.Headings[n-1]
		}
		if _, err := fmt.Fprintf(w, "%s\n  [%d] %s (%s)\n", shell.Printable(strings.Join(h.Sentences, " ")), i+1,
			shell.Printable(source), shell.Printable(h.Name)); err != nil {
			return err
		}
	}
	return nil
}

func runRemove(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("knowledge rm", s)
	name := fs.String("collection", "", "`NAME` of the collection; without documents it is forgotten, and its files stay")
	open := remoteFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 && *name == "" {
		return shell.Usagef("expected documents, or --collection to forget a collection")
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	wanted := cmp.Or(*name, DefaultCollection)
	c, found, err := r.find(ctx, wanted)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("you have no collection %q", wanted)
	}
	if len(rest) == 0 {
		return r.Delete(ctx, c.ID)
	}
	for _, document := range rest {
		if _, err := r.files.Remove(ctx, path.Join(c.Folder, path.Clean("/"+document))); err != nil {
			return fmt.Errorf("%s: %w", document, err)
		}
		_, _ = fmt.Fprintf(s.Err, "%s is in the trash; `castalia fs restore %s` takes it out\n", document, path.Join(c.Folder, document))
	}
	return nil
}
