// Package cli is the command line: one file per subcommand, each a function of
// its arguments and streams, so that tests call what users call.
//
// A command prints what happened and what to do next. It reads the environment
// and the standard streams only through IO, never through package os, and it
// reports failure by returning an error: Run prints it once, in one line, and
// turns it into an exit code.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/castalia-org/castalia/internal/platform/spelling"
)

// IO is everything of the process that a command may touch.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Env holds the environment as "NAME=value" lines.
	Env []string
}

// Getenv returns the value of an environment variable, or "".
func (s IO) Getenv(name string) string {
	value := ""
	for _, line := range s.Env {
		if v, ok := strings.CutPrefix(line, name+"="); ok {
			value = v
		}
	}
	return value
}

// Terminal reports whether the output is a terminal: progress bars and colour
// are for people only.
func (s IO) Terminal() bool { return isTerminal(s.Out) && s.Getenv("NO_COLOR") == "" }

// ErrTerminal is Terminal for the error stream, where progress is drawn.
func (s IO) ErrTerminal() bool { return isTerminal(s.Err) && s.Getenv("NO_COLOR") == "" }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// command is one subcommand.
type command struct {
	name    string
	args    string // what follows the name in the usage line
	summary string
	run     func(ctx context.Context, args []string, s IO) error
	// hidden commands are not for people: the program calls itself with them.
	hidden bool
}

// usageError is a mistake in how the program was called: exit code 2.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...)}
}

// exitError ends the program with a code after the command has said everything
// itself, as `ucan verify` does for a token that is not valid.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run executes one command line (without the program's name) and returns the
// exit code: 0 done, 1 failed, 2 called wrongly.
func Run(ctx context.Context, args []string, s IO) int {
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
	_, _ = fmt.Fprintf(s.Err, "castalia: no command %q; %s`castalia help` lists them\n", args[0], didYouMean(args[0], commandNames(all)))
	return 2
}

// printCommandHelp prints how a command is called and, for one without
// subcommands, its flags, which the command itself knows.
func printCommandHelp(ctx context.Context, c command, s IO) {
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

// didYouMean is a sentence about the name that somebody meant, or nothing.
func didYouMean(typed string, names []string) string {
	if meant := spelling.Meant(typed, names); meant != "" {
		return "did you mean " + meant + "? "
	}
	return ""
}

// cutFirst parts a subcommand from its arguments.
func cutFirst(args []string) (name string, rest []string) {
	if len(args) == 0 {
		return "", nil
	}
	return args[0], args[1:]
}

// noSubcommand refuses the first argument of a command with subcommands.
func noSubcommand(args []string, names ...string) error {
	if len(args) == 0 {
		return usagef("expected one of %s", strings.Join(names, ", "))
	}
	if meant := spelling.Meant(args[0], names); meant != "" {
		return usagef("no subcommand %q; did you mean %s?", args[0], meant)
	}
	return usagef("no subcommand %q; there are %s", args[0], strings.Join(names, ", "))
}

func finish(err error, c command, s IO) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	if u, ok := errors.AsType[usageError](err); ok {
		_, _ = fmt.Fprintf(s.Err, "castalia %s: %s; see `castalia help %s`\n", c.name, strings.TrimSuffix(u.text, "."), c.name)
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

// defaultPort is where a server listens that was told nothing.
const defaultPort = "3000"

// serverFlag is how every command that speaks to a server is told which: by
// --server, else CASTALIA_URL, else the one on this machine.
func serverFlag(fs *flag.FlagSet, s IO) *string {
	local := "http://127.0.0.1:" + orDefault(s.Getenv("PORT"), defaultPort)
	return fs.String("server", orDefault(s.Getenv("CASTALIA_URL"), local), "`URL` of the server (CASTALIA_URL)")
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
