package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

func accessCommand() command {
	return command{
		name:    "access",
		args:    "[open | invite | closed] [--note TEXT] … [--data FOLDER] [--config FILE] [--set NAME=value]",
		summary: "who may come in: everybody, whom you invite, or members alone", run: runAccess,
	}
}

func runAccess(ctx context.Context, args []string, s IO) error {
	fs := shell.NewFlags("access", s)
	var from settingFlags
	from.register(fs, s)
	note := fs.String("note", "", "`TEXT` that says why, for the history")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 1 || len(rest) == 1 && !membership.Mode(rest[0]).Known() {
		return shell.Usagef("want open, invite or closed, or nothing to be told what holds")
	}
	opt, err := from.options(s)
	if err != nil {
		return err
	}
	opt.Log = slog.New(slog.DiscardHandler) // what happened is printed
	c := operatorCall{note: *note, author: commandLine(s), io: s}
	return public(app.OperatorDocs(ctx, opt, func(shelf *operatordoc.Shelf) error {
		if len(rest) == 0 {
			return c.showAccess(ctx, shelf)
		}
		c.rest = []string{membership.DocumentName}
		return c.change(ctx, shelf, func(change operatordoc.Change) (operatordoc.Version, error) {
			return shelf.Store(ctx, membership.DocumentName, []byte(membership.Mode(rest[0]).Text()), change)
		})
	}))
}

// showAccess says who may come in, and by whose word.
func (c operatorCall) showAccess(ctx context.Context, shelf *operatordoc.Shelf) error {
	now, err := shelf.Contents(ctx, membership.DocumentName)
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
