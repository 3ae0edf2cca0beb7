// Package plugincli is the command that shows plugins and stores their settings.
//
// It works on the database, beside nodes that run or not: a plugin that does not start with what
// was stored must not be in the way of taking it back. With --server it asks a running server.
package plugincli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// What help says of the command.
const (
	Usage   = "[list] | set NAME=VALUE… | set NAME < FILE | unset NAME… | … [--data FOLDER] [--config FILE] [--set NAME=value] | … --server URL [--token TOKEN|--key FILE]"
	Summary = "which plugins are on, and their settings, which can be stored here"
)

// Settings is how the program takes its settings.
type Settings struct {
	Register func(*flag.FlagSet)
	Options  func() (app.Options, error)
	// Author is who changes something.
	Author string
}

// maxValue bounds a value that comes by standard input; the document has a smaller limit.
const maxValue = 64 << 10

// Run runs the command.
func Run(ctx context.Context, args []string, s shell.IO, from Settings) error {
	verb := "list"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	fs := shell.NewFlags("plugins "+verb, s)
	from.Register(fs)
	desk := shell.NewDesk(fs, s, "/operator/plugins")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	change := pluginconf.Values{}
	switch verb {
	case "list":
		if len(rest) > 0 {
			return shell.Usagef("unexpected argument %q", rest[0])
		}
	case "set":
		if change, err = values(rest, s.In); err != nil {
			return err
		}
	case "unset":
		for _, name := range rest {
			change[name] = ""
		}
	default:
		return shell.Usagef("no subcommand %q: want list, set or unset", verb)
	}
	if verb != "list" && len(change) == 0 {
		return shell.Usagef("%s takes at least one setting", verb)
	}
	if desk.Asks("server") {
		return server{desk, s.Out}.run(ctx, verb, change)
	}
	opt, err := from.Options()
	if err != nil {
		return err
	}
	opt.Log = slog.New(slog.DiscardHandler) // what happened is printed
	return app.OperatorDocs(ctx, opt, func(shelf *operatordoc.Shelf) error {
		if verb == "list" {
			return list(ctx, opt, shelf, s.Out)
		}
		v, err := pluginconf.Change(ctx, shelf, opt.Given, "", change, from.Author)
		if err == nil {
			_, err = fmt.Fprintf(s.Out, "Stored as version %d of the document \"plugins\". It is in force on each node after its next start.\n", v.Number)
		}
		return err
	})
}

// values reads NAME=VALUE; one name alone takes its value from standard input, so that
// secrets are in no history of a shell.
func values(args []string, in io.Reader) (pluginconf.Values, error) {
	change := pluginconf.Values{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok && len(args) > 1 {
			return nil, shell.Usagef("%q: want NAME=VALUE, or one NAME alone whose value comes by standard input", arg)
		}
		if !ok {
			text, err := io.ReadAll(io.LimitReader(in, maxValue))
			if err != nil {
				return nil, fmt.Errorf("read the value: %w", err)
			}
			value = strings.TrimRight(string(text), "\r\n")
		}
		if value == "" {
			return nil, shell.Usagef("%s: the value is empty; `castalia plugins unset %s` takes a stored one away", name, name)
		}
		change[name] = value
	}
	return change, nil
}

func list(ctx context.Context, opt app.Options, shelf *operatordoc.Shelf, out io.Writer) error {
	stored, err := pluginconf.Stored(ctx, shelf)
	if err != nil {
		return err
	}
	given, _ := config.Use(pluginconf.Parts(opt.Plugins), opt.Given, stored) // sealed ones count as given
	verdicts, err := app.PluginVerdicts(opt.Settings, opt.Plugins)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range verdicts {
		show(w, pluginconf.State{
			Name: v.Name, On: v.On, Why: v.Why, Settings: pluginconf.States(v.Name, given, stored, stored),
		})
	}
	for _, name := range pluginconf.Unknown(opt.Given, stored) {
		_, _ = fmt.Fprintf(w, "%s is stored, but no plugin of this build has it: `castalia plugins unset %s` takes it away\n", name, name)
	}
	return w.Flush()
}

// show writes a plugin with its settings.
func show(w io.Writer, p pluginconf.State) {
	state := "off"
	if p.On {
		state = "on"
	}
	_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, state, p.Why)
	for _, set := range p.Settings {
		value, source := set.Value, set.Source
		if set.Secret && set.Given {
			value = "********"
		}
		switch {
		case set.Reason == config.WhereItRuns && set.Stored:
			source += ", " + set.Reason + "; what is stored is not used"
		case set.Reason == config.WhereItRuns:
			source += ", " + set.Reason
		case set.Stored && set.ReadOnly:
			source += ", which rules over the database"
		case set.Restart:
			source += ", changes with the next start"
		}
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\n", set.Name, value, source)
	}
}
