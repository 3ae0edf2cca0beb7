package doccli

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// How the command access is described.
const (
	AccessUsage = "[open|invite|closed] [--note TEXT] [--data FOLDER] [--config FILE] [--set NAME=value] | " +
		"open … | invite … | closed … | … --server URL [--token TOKEN|--key FILE]"
	AccessSummary = "who may come in: everybody, whom you invite, or members alone"
)

// RunAccess is the command access.
func RunAccess(ctx context.Context, args []string, s shell.IO, own Records) error {
	fs := shell.NewFlags("access", s)
	where := newPlace(fs, s, own)
	note := fs.String("note", "", "`TEXT` that says why, for the history")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 1 || len(rest) == 1 && !membership.Mode(rest[0]).Known() {
		return shell.Usagef("want open, invite or closed, or nothing to be told what holds")
	}
	c := call{note: *note, author: own.Author, io: s}
	return where.open(ctx, func(from shelf) error {
		if len(rest) == 0 {
			return c.showAccess(ctx, from)
		}
		c.rest = []string{membership.DocumentName}
		return c.change(ctx, from, func(change operatordoc.Change) (operatordoc.Version, error) {
			return from.Store(ctx, membership.DocumentName, []byte(membership.Mode(rest[0]).Text()), change)
		})
	})
}

// showAccess says who may come in, and by whose word.
func (c call) showAccess(ctx context.Context, from shelf) error {
	now, err := from.Contents(ctx, membership.DocumentName)
	if err != nil {
		return err
	}
	mode, err := membership.ParseMode(now.Text)
	if err != nil {
		return err
	}
	by := "as it is without a choice, or was chosen at an earlier start"
	switch state := now.State; {
	case state.ReadOnly():
		by = "set by " + state.Where
	case state.Number > 0:
		by = fmt.Sprintf("version %d by %s", state.Number, state.Author)
	}
	_, err = fmt.Fprintf(c.io.Out, "%s (%s)\n", mode, by)
	return err
}
