// Package shell is what the commands of the program have in common: the streams
// and the environment that they may touch, mistakes in how they were called,
// flags, and files that hold keys and tokens.
//
// A command reads the environment and the standard streams only through IO, never
// through package os, and reports failure by returning an error.
package shell

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/castalia-org/castalia/internal/platform/spelling"
	"github.com/castalia-org/castalia/plugin"
)

// IO is everything of the process that a command may touch.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Env holds the environment as "NAME=value" lines.
	Env []string
	// Plugins are those of this build, beside the shipped ones.
	Plugins []plugin.Plugin
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
func (s IO) Terminal() bool { return s.OutIsTerminal() && s.Getenv("NO_COLOR") == "" }

// OutIsTerminal reports whether the output is a terminal, coloured or not: what
// must reach no log is printed nowhere else.
func (s IO) OutIsTerminal() bool { return isTerminal(s.Out) }

// ErrTerminal is Terminal for the error stream, where progress is drawn.
func (s IO) ErrTerminal() bool { return isTerminal(s.Err) && s.Getenv("NO_COLOR") == "" }

// InIsTerminal reports whether somebody types at a terminal, and can be asked.
func (s IO) InIsTerminal() bool { return isTerminal(s.In) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// UsageError is a mistake in how the program was called: exit code 2.
type UsageError struct{ Text string }

// Error implements error.
func (e UsageError) Error() string { return e.Text }

// Usagef says what was wrong with how the program was called.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Sprintf(format, args...)}
}

// ExitError ends the program with a code after the command has said everything
// itself, as `ucan verify` does for a token that is not valid.
type ExitError int

// Error implements error.
func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// DidYouMean is a sentence about the name that somebody meant, or nothing.
func DidYouMean(typed string, names []string) string {
	if meant := spelling.Meant(typed, names); meant != "" {
		return "did you mean " + meant + "? "
	}
	return ""
}

// CutFirst parts a subcommand from its arguments.
func CutFirst(args []string) (name string, rest []string) {
	if len(args) == 0 {
		return "", nil
	}
	return args[0], args[1:]
}

// NoSubcommand refuses the first argument of a command with subcommands.
func NoSubcommand(args []string, names ...string) error {
	if len(args) == 0 {
		return Usagef("expected one of %s", strings.Join(names, ", "))
	}
	if meant := spelling.Meant(args[0], names); meant != "" {
		return Usagef("no subcommand %q; did you mean %s?", args[0], meant)
	}
	return Usagef("no subcommand %q; there are %s", args[0], strings.Join(names, ", "))
}
