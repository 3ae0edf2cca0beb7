package shell

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/spelling"
)

// DefaultPort is where a server listens that was told nothing.
const DefaultPort = "3000"

// ServerFlag is how every command that speaks to a server is told which: by
// --server, else CASTALIA_URL, else the one on this machine.
func ServerFlag(fs *flag.FlagSet, s IO) *string {
	local := "http://127.0.0.1:" + cmp.Or(s.Getenv("PORT"), DefaultPort)
	url := address(cmp.Or(s.Getenv("CASTALIA_URL"), local))
	fs.Var(&url, "server", "`URL` of the server (CASTALIA_URL)")
	return (*string)(&url)
}

// address is a server's. Whoever names a host alone means http: that is how a server on
// this machine is reached.
type address string

// String returns the address.
func (a *address) String() string { return string(*a) }

// Set takes an address.
func (a *address) Set(s string) error {
	if s != "" && !strings.Contains(s, "://") {
		s = "http://" + s
	}
	*a = address(s)
	return nil
}

// KeyFlag is how a command that signs is told with which key: by --key, else
// CASTALIA_KEY, else the one in this folder.
func KeyFlag(fs *flag.FlagSet, s IO) *string {
	return fs.String("key", cmp.Or(s.Getenv("CASTALIA_KEY"), DefaultKeyFile), "key `FILE` that says who you are (CASTALIA_KEY)")
}

// NewFlags returns a flag set that reports mistakes as usage errors.
func NewFlags(c string, s IO) *flag.FlagSet {
	fs := flag.NewFlagSet("castalia "+c, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // mistakes are told once, in one line
	fs.Usage = func() { printFlags(s.Out, fs) }
	return fs
}

// Parse reads flags and turns a request for help into a quiet success.
func Parse(fs *flag.FlagSet, args []string) error {
	// The package calls Usage after mistakes too, where a line is enough.
	help := fs.Usage
	fs.Usage = func() {}
	defer func() { fs.Usage = help }()
	err := fs.Parse(args)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		help()
		return ExitError(0)
	}
	text := strings.Replace(err.Error(), "flag provided but not defined: -", "no flag --", 1)
	if name, unknown := strings.CutPrefix(text, "no flag --"); unknown {
		var names []string
		fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		if meant := spelling.Meant(name, names); meant != "" {
			text += "; did you mean --" + meant + "?"
		}
	}
	return Usagef("%s", text)
}

// printFlags lists flags with two dashes, as people write them.
func printFlags(w io.Writer, fs *flag.FlagSet) {
	_, _ = fmt.Fprintf(w, "\nflags of %s:\n", fs.Name())
	fs.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		line := "  --" + f.Name
		if value != "" {
			line += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
			text += " (default " + f.DefValue + ")"
		}
		_, _ = fmt.Fprintf(w, "%-28s %s\n", line, text)
	})
}

// ParseMixed reads flags that may stand before and after other arguments, and
// returns those.
func ParseMixed(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := Parse(fs, args); err != nil {
			return nil, err
		}
		args = fs.Args()
		if len(args) == 0 {
			return rest, nil
		}
		rest = append(rest, args[0])
		args = args[1:]
	}
}

// ParseFlags reads flags, for a command that takes nothing else.
func ParseFlags(fs *flag.FlagSet, args []string) error {
	rest, err := ParseMixed(fs, args)
	if err == nil && len(rest) > 0 {
		err = Usagef("unexpected argument %q", rest[0])
	}
	return err
}

// List is a flag that may be repeated.
type List []string

// String implements flag.Value.
func (l *List) String() string { return strings.Join(*l, ", ") }

// Set implements flag.Value.
func (l *List) Set(value string) error {
	*l = append(*l, value)
	return nil
}
