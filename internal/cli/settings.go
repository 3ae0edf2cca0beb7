package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/plugin"
)

// settingFlags are the flags by which every command that needs the
// configuration takes it.
type settingFlags struct {
	file string
	set  map[string]string
	// plugins are the shipped ones and those of this build; load fills their settings.
	plugins []plugin.Plugin
}

func (f *settingFlags) register(fs *flag.FlagSet, s shell.IO) {
	f.set = map[string]string{}
	f.plugins = append(app.ShippedPlugins(), s.Plugins...)
	fs.StringVar(&f.file, "config", "", "configuration `FILE` (YAML, NAME: value)")
	fs.Func("set", "set one value, as `NAME=value`; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("expected NAME=value")
		}
		f.set[name] = value
		return nil
	})
	fs.Func("port", "same as --set PORT=`N`", f.shortcut("PORT"))
	fs.Func("data", "same as --set CASTALIA_DATA=`FOLDER`", f.shortcut("CASTALIA_DATA"))
}

func (f *settingFlags) shortcut(name string) func(string) error {
	return func(text string) error {
		f.set[name] = text
		return nil
	}
}

func (f *settingFlags) load(s shell.IO) (config.Settings, []config.Setting, error) {
	in := config.Input{Env: s.Env, Flags: f.set}
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return config.Settings{}, nil, fmt.Errorf("read configuration file: %w", err)
		}
		in.File = text
	}
	var settings config.Settings
	all, err := config.Load(&settings, in, pluginconf.Parts(f.plugins)...)
	return settings, all, err
}

func configCommand() command {
	return command{name: "config", args: "[--reference] [--config FILE] [--set NAME=value]", summary: "print the effective configuration, secrets masked", run: runConfig}
}

func runConfig(_ context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("config", s)
	var from settingFlags
	from.register(fs, s)
	reference := fs.Bool("reference", false, "print the reference page instead")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return shell.Usagef("unexpected argument %q", fs.Arg(0))
	}
	if *reference {
		var settings config.Settings
		all, err := config.Load(&settings, config.Input{}, pluginconf.Parts(from.plugins)...)
		if err != nil {
			return err
		}
		_, err = io.WriteString(s.Out, config.Reference(all))
		return err
	}
	settings, all, err := from.load(s)
	if err != nil {
		return err
	}
	verdicts, err := app.PluginVerdicts(settings, from.plugins)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	part := ""
	for _, set := range all {
		if set.Part != part {
			part = set.Part
			_, _ = fmt.Fprintf(w, "\n%s\n", part)
		}
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\n", set.Name, set.Value, set.Source)
	}
	_, _ = fmt.Fprintf(w, "\nPlugins\n")
	for _, v := range verdicts {
		state := "off"
		if v.On {
			state = "on"
		}
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\n", v.Name, state, v.Why)
	}
	return w.Flush()
}
