// Package doccli has the commands that look at documents of operators and change them: those of the
// deployment's own records, beside nodes that run or not, or those of a running server.
package doccli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// How the command operator is described.
const (
	OperatorUsage = "docs | get NAME [--version N] | set NAME FILE|- [--note TEXT] | history NAME | restore NAME VERSION [--note TEXT] | remove NAME | " +
		"… [--data FOLDER] [--config FILE] [--set NAME=value] | … --server URL [--token TOKEN|--key FILE]"
	OperatorSummary = "documents that change while the server runs: instructions, models, menu"
)

// maxDocument bounds what is read for a document; each has a smaller limit of its
// own.
const maxDocument = 1 << 20

// RunOperator is the command operator.
func RunOperator(ctx context.Context, args []string, s shell.IO, own Records) error {
	if len(args) == 0 {
		return shell.Usagef("want docs, get, set, history, restore or remove")
	}
	verb := args[0]
	fs := shell.NewFlags("operator "+verb, s)
	where := newPlace(fs, s, own)
	note := fs.String("note", "", "`TEXT` that says why, for the history")
	version := fs.Int64("version", 0, "`NUMBER` of an earlier version to get")
	rest, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	want, known := map[string]int{"docs": 0, "get": 1, "set": 2, "history": 1, "restore": 2, "remove": 1}[verb]
	if !known {
		return shell.Usagef("no subcommand %q: want docs, get, set, history, restore or remove", verb)
	}
	if len(rest) != want {
		return shell.Usagef("%s takes %s, given are %d", verb, shell.Count(want, "argument"), len(rest))
	}
	c := call{rest: rest, note: *note, version: *version, author: own.Author, io: s}
	do := map[string]func(context.Context, shelf) error{
		"docs": c.list, "get": c.get, "set": c.set, "history": c.history, "restore": c.restore, "remove": c.remove,
	}[verb]
	return where.open(ctx, func(documents shelf) error { return do(ctx, documents) })
}

// call is one call of the command.
type call struct {
	rest         []string
	note, author string
	version      int64
	io           shell.IO
}

func (c call) list(ctx context.Context, from shelf) error {
	states, err := from.Documents(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.io.Out, 0, 0, 2, ' ', 0)
	for _, d := range states {
		where := string(d.Source)
		switch {
		case d.ReadOnly():
			where += " (" + d.Where + ")"
		case d.Number > 0:
			where += fmt.Sprintf(", version %d by %s", d.Number, d.Author)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", d.Name, where, d.Problem)
	}
	return w.Flush()
}

func (c call) get(ctx context.Context, from shelf) error {
	if c.version > 0 {
		v, err := from.StoredVersion(ctx, c.rest[0], c.version)
		if err == nil {
			_, err = c.io.Out.Write(v.Text)
		}
		return err
	}
	d, err := from.Contents(ctx, c.rest[0])
	if err == nil {
		_, err = c.io.Out.Write(d.Text)
	}
	return err
}

func (c call) set(ctx context.Context, from shelf) error {
	text, err := c.text()
	if err != nil {
		return err
	}
	return c.change(ctx, from, func(change operatordoc.Change) (operatordoc.Version, error) {
		return from.Store(ctx, c.rest[0], text, change)
	})
}

// text reads the file whole: what is cut off could be read as something else.
func (c call) text() ([]byte, error) {
	in := c.io.In
	if c.rest[1] != "-" {
		f, err := os.Open(c.rest[1])
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = errors.New("this is larger than any document may be")
	}
	return text, err
}

func (c call) restore(ctx context.Context, from shelf) error {
	number, err := strconv.ParseInt(c.rest[1], 10, 64)
	if err != nil || number < 1 {
		return shell.Usagef("%q is not the number of a version, as `castalia operator history %s` shows it", c.rest[1], c.rest[0])
	}
	return c.change(ctx, from, func(change operatordoc.Change) (operatordoc.Version, error) {
		return from.Restore(ctx, c.rest[0], number, change)
	})
}

func (c call) remove(ctx context.Context, from shelf) error {
	return c.change(ctx, from, func(change operatordoc.Change) (operatordoc.Version, error) {
		return from.Remove(ctx, c.rest[0], change)
	})
}

// change makes a version that follows the newest.
func (c call) change(ctx context.Context, from shelf,
	do func(operatordoc.Change) (operatordoc.Version, error),
) error {
	now, err := from.Contents(ctx, c.rest[0])
	if err != nil {
		return err
	}
	v, err := do(operatordoc.Change{Author: c.author, Note: c.note, After: now.Newest})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.io.Out, "%s: version %d is stored; servers use it within a second\n", v.Document, v.Number)
	return err
}

func (c call) history(ctx context.Context, from shelf) error {
	list, err := from.History(ctx, c.rest[0], 0, operatordoc.KeptVersions)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.io.Out, 0, 0, 2, ' ', 0)
	for _, v := range list {
		what := fmt.Sprintf("%d bytes", v.Size)
		if v.Removed {
			what = "removed"
		}
		if v.Restores > 0 {
			what += fmt.Sprintf(", as version %d", v.Restores)
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", v.Number, v.Written.Local().Format(time.DateTime), v.Author, what, v.Note)
	}
	return w.Flush()
}
