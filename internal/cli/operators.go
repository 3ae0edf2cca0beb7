package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/doorcli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorshttp"
)

func operatorsCommand() command {
	return command{
		name:    "operators",
		args:    "list | add [--role viewer|operator|owner] [--note TEXT] DID… | remove DID… | … [--data FOLDER] [--config FILE] [--set NAME=value] | … --server URL [--token TOKEN|--key FILE]",
		summary: "who runs the oracle, and what each of them may do", run: runOperators,
	}
}

func runOperators(ctx context.Context, args []string, s IO) error {
	if len(args) == 0 {
		return shell.Usagef("want list, add or remove")
	}
	verb := args[0]
	fs := shell.NewFlags("operators "+verb, s)
	var from settingFlags
	from.register(fs, s)
	desk := shell.NewDesk(fs, s, "/operator")
	word := fs.String("role", string(operators.Viewer), "`ROLE`: viewer looks, operator changes, owner also says who the operators are")
	note := fs.String("note", "", "`TEXT` that reminds you who it is")
	dids, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	role, err := operators.ParseRole(*word)
	if err != nil {
		return shell.Usagef("--role %s: want viewer, operator or owner", *word)
	}
	switch {
	case verb != "list" && verb != "add" && verb != "remove":
		return shell.Usagef("no subcommand %q: want list, add or remove", verb)
	case verb == "list" && len(dids) > 0:
		return shell.Usagef("unexpected argument %q", dids[0])
	case verb != "list" && len(dids) == 0:
		return shell.Usagef("name at least one DID")
	}
	do := func(b roleBook) error {
		if verb == "list" {
			return listOperators(ctx, b, s)
		}
		return changeOperators(ctx, b, s, verb, dids, operators.Record{Role: role, Note: *note, By: commandLine(s)})
	}
	if desk.Asks("server") {
		return do(doorcli.Operators{Desk: desk})
	}
	opt, err := from.options(s)
	if err != nil {
		return err
	}
	return app.OperatorRoles(ctx, opt, func(b *operators.Book) error { return do(b) })
}

// roleBook is what the command needs of operators, wherever these are.
type roleBook interface {
	Operators(ctx context.Context, after string, limit int) ([]operators.Record, error)
	Give(ctx context.Context, did string, role operators.Role, note, by string) (operators.Record, error)
	Take(ctx context.Context, did, by string) error
}

// commandLine is how records name whoever uses a command on the server.
func commandLine(s IO) string {
	if user := s.Getenv("USER"); user != "" {
		return "command line (" + user + ")"
	}
	return "command line"
}

// operatorPage is how many operators are read at once.
const operatorPage = 500

func listOperators(ctx context.Context, b roleBook, s IO) error {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for after := ""; ; {
		list, err := b.Operators(ctx, after, operatorPage)
		if err != nil {
			return err
		}
		for _, o := range list {
			after = o.DID
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s by %s\t%s\n", o.DID, o.Role, o.Added.Local().Format(time.DateOnly), o.By, o.Note)
		}
		if len(list) < operatorPage {
			return w.Flush()
		}
	}
}

func changeOperators(ctx context.Context, b roleBook, s IO, verb string, dids []string,
	as operators.Record,
) error {
	var errs []error
	for _, did := range dids {
		word := "has no role any more"
		var err error
		if verb == "add" {
			word = "is " + string(as.Role) + " now"
			_, err = b.Give(ctx, did, as.Role, as.Note, as.By)
		} else {
			err = b.Take(ctx, did, as.By)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%.80s: %w", did, public(err)))
			continue
		}
		_, _ = fmt.Fprintf(s.Out, "%s %s\n", did, word)
	}
	return errors.Join(errs...)
}

func setupLinkCommand() command {
	return command{
		name: "setup-link", args: "[--server URL] [--data FOLDER] [--config FILE] [--set NAME=value]",
		summary: "print a link that makes whoever opens it first an owner", run: runSetupLink,
	}
}

func runSetupLink(ctx context.Context, args []string, s IO) error {
	fs := shell.NewFlags("setup-link", s)
	var from settingFlags
	from.register(fs, s)
	server := shell.ServerFlag(fs, s)
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return shell.Usagef("unexpected argument %q", fs.Arg(0))
	}
	opt, err := from.options(s)
	if err != nil {
		return err
	}
	return app.OperatorRoles(ctx, opt, func(b *operators.Book) error {
		code, expires, err := b.NewLink(ctx)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(s.Err, "Whoever opens this link first becomes an owner. It is good until %s and is not shown again.\n", expires.Local().Format("15:04"))
		_, err = fmt.Fprintln(s.Out, strings.TrimSuffix(*server, "/")+operatorshttp.SetupPath+code)
		return err
	})
}

// printSetupLink shows whoever started the program how to become its owner. It goes
// to the terminal alone: who reads it in a log could become the owner instead.
func printSetupLink(ctx context.Context, program *app.App, log *slog.Logger, s IO) {
	path, err := program.SetupPath(ctx)
	if err != nil {
		log.Warn("no setup link: `castalia setup-link` prints one", slog.String("event", "setup_link.failed"), slog.Any("error", err))
		return
	}
	if path != "" {
		_, _ = fmt.Fprintf(s.Out, "Set it up, as its owner (one person, within an hour):\n  http://%s%s\n\n", reachable(program.Addr()), path)
	}
}
