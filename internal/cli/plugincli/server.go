package plugincli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/cli/shell"
)

// server has the plugins of a running one.
type server struct {
	desk *shell.Desk
	out  io.Writer
}

func (s server) run(ctx context.Context, verb string, change pluginconf.Values) error {
	var said pluginconf.List
	if err := s.desk.Ask(ctx, http.MethodGet, "", nil, &said); err != nil {
		return err
	}
	if verb == "list" {
		w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		for _, p := range said.Plugins {
			show(w, plain(p))
		}
		return w.Flush()
	}
	// All names are looked up before anything is changed.
	changes := map[string]pluginconf.NewValues{}
	for name, value := range change {
		owner := ownerOf(said.Plugins, name)
		if owner == "" {
			return fmt.Errorf("%s: no such setting of a plugin at the server", name)
		}
		if changes[owner].Values == nil {
			changes[owner] = pluginconf.NewValues{Values: map[string]*string{}}
		}
		changes[owner].Values[name] = &value
	}
	for _, owner := range slices.Sorted(maps.Keys(changes)) {
		if err := s.desk.Ask(ctx, http.MethodPatch, "/"+url.PathEscape(owner), changes[owner], nil); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(s.out, "%s: stored. It is in force on each node after its next start.\n", shell.OneLine(owner))
	}
	return nil
}

// ownerOf is the plugin that has a setting.
func ownerOf(plugins []pluginconf.State, setting string) string {
	for _, p := range plugins {
		for _, s := range p.Settings {
			if s.Name == setting {
				return p.Name
			}
		}
	}
	return ""
}

// plain leaves out of what a server says what a terminal would take for a command.
func plain(p pluginconf.State) pluginconf.State {
	p.Name, p.Why = shell.OneLine(p.Name), shell.OneLine(p.Why)
	p.Settings = slices.Clone(p.Settings)
	for i := range p.Settings {
		s := &p.Settings[i]
		s.Name, s.Value, s.Source = shell.OneLine(s.Name), shell.OneLine(s.Value), shell.OneLine(s.Source)
	}
	return p
}
