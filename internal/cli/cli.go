// Package cli is the command line: one file per subcommand, each a function of
// its arguments and streams, so that tests call what users call.
//
// A command prints what happened and what to do next. It reads the environment
// and the standard streams only through shell.IO, never through package os, and it
// reports failure by returning an error: Run prints it once, in one line, and
// turns it into an exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

// IO is everything of the process that a command may touch.
type IO = shell.IO

// command is one subcommand.
type command struct {
	name    string
	args    string // what follows the name in the usage line
	summary string
	run     func(ctx context.Context, args []string, s shell.IO) error
	// hidden commands are not for people: the program calls itself with them.
	hidden bool
}

// Run executes one command line (without the program's name) and returns the
// exit code: 0 done, 1 failed, 2 called wrongly.
func Run(ctx context.Context, args []string, s shell.IO) int {
	all := commands()
	switch {
	case len(args) == 0, isHelp(args[0]) && len(args) == 1:
		printHelp(s.Out, all)
		return 0
	case isHelp(args[0]):
		args = []string{args[1], "--help"}
	case args[0] == "--version" || args[0] == "-v":
		args = []string{"version"}
	}
	for _, c := range all {
		switch {
		case c.name != args[0]:
		case len(args) > 1 && isHelp(args[1]):
			printCommandHelp(ctx, c, s)
			return 0
		default:
			return finish(c.run(ctx, args[1:], s), c, s)
		}
	}
	_, _ = fmt.Fprintf(s.Err, "castalia: no command %q; %s`castalia help` lists them\n", args[0], shell.DidYouMean(args[0], commandNames(all)))
	return 2
}

// printCommandHelp prints how a command is called and, for one without
// subcommands, its flags, which the command itself knows.
func printCommandHelp(ctx context.Context, c command, s shell.IO) {
	_, _ = fmt.Fprintf(s.Out, "castalia %s: %s\n\n%s", c.name, c.summary, usage(c))
	_ = c.run(ctx, []string{"--help"}, s)
}

func commandNames(all []command) []string {
	var names []string
	for _, c := range all {
		if !c.hidden {
			names = append(names, c.name)
		}
	}
	return names
}

func finish(err error, c command, s shell.IO) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[shell.ExitError](err); ok {
		return int(code)
	}
	if u, ok := errors.AsType[shell.UsageError](err); ok {
		_, _ = fmt.Fprintf(s.Err, "castalia %s: %s; see `castalia help %s`\n", c.name, strings.TrimSuffix(u.Text, "."), c.name)
		return 2
	}
	_, _ = fmt.Fprintf(s.Err, "castalia %s: %v\n", c.name, err)
	return 1
}

func isHelp(arg string) bool { return arg == "help" || arg == "-h" || arg == "--help" }

// usage writes how a command is called, one line for each of its forms.
func usage(c command) string {
	var b strings.Builder
	for i, form := range strings.Split(c.args, " | ") {
		_, _ = fmt.Fprintf(&b, "%-6s castalia %s %s\n", map[bool]string{true: "usage:"}[i == 0], c.name, form)
	}
	return b.String()
}

func printHelp(w io.Writer, all []command) {
	_, _ = fmt.Fprint(w, "Castalia: a community's own oracle in one program.\n\nusage: castalia COMMAND [ARGUMENTS]\n\n")
	for _, c := range all {
		if !c.hidden {
			_, _ = fmt.Fprintf(w, "  %-12s %s\n", c.name, c.summary)
		}
	}
	_, _ = fmt.Fprint(w, "\n`castalia help COMMAND` explains one of them. Start with `castalia serve`.\n")
}
