package pluginconf

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// Setting is what an operator sees of a plugin's setting.
type Setting struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Kind is text, number, boolean, duration, list or choice.
	Kind    string   `json:"kind"`
	Allowed string   `json:"allowed"`
	Choices []string `json:"choices,omitempty"`
	Default string   `json:"default"`
	// Value is in force on this node; empty for secrets, of which Given tells whether there is one.
	Value  string `json:"value"`
	Secret bool   `json:"secret"`
	Given  bool   `json:"given"`
	// Source is where it comes from: default, file, environment, flag or database.
	Source string `json:"source"`
	// ReadOnly says that a variable, the file or a flag rules, or that it is of the machine alone;
	// Reason is which, such as "set where the server runs".
	ReadOnly bool   `json:"readOnly"`
	Reason   string `json:"reason,omitempty"`
	// Stored says that operators stored a value, Next what it is (not for secrets), and Restart
	// that it is in force on this node after the next start only.
	Stored  bool   `json:"stored"`
	Next    string `json:"next,omitempty"`
	Restart bool   `json:"restart"`
}

// ruled says why operators cannot change a setting; empty means that they can.
func ruled(s config.Setting) string {
	switch {
	case s.Source != config.FromDefault && s.Source != config.FromDatabase:
		return fmt.Sprintf("set by the server's %s", s.Source)
	case s.Machine:
		return config.WhereItRuns
	}
	return ""
}

// States are the settings of a plugin: given is what is in force, applied what of it came from
// the database at the start, stored what is there now.
func States(name string, given []config.Setting, applied, stored Values) []Setting {
	out := []Setting{}
	for _, s := range given {
		if s.Part != partOf(name) {
			continue
		}
		next, kept := stored[s.Name]
		one := Setting{
			Name: s.Name, Doc: s.Doc, Kind: s.Kind, Allowed: s.Allowed, Choices: s.Choices, Default: s.Default, Value: s.Value,
			Secret: s.Secret, Given: s.Value != "", Source: string(s.Source), Stored: kept,
			Reason: ruled(s), ReadOnly: ruled(s) != "", Restart: ruled(s) == "" && stored[s.Name] != applied[s.Name],
		}
		if s.Secret {
			one.Value = ""
		} else if kept {
			one.Next = config.Mask(next)
		}
		out = append(out, one)
	}
	return out
}

// tries is how often a change is put on top of somebody else's.
const tries = 3

// Change stores values of a plugin; an empty one is taken away. An empty plugin is any.
func Change(ctx context.Context, shelf *operatordoc.Shelf, given []config.Setting, name string, change Values,
	author string,
) (operatordoc.Version, error) {
	names := slices.Sorted(maps.Keys(change))
	for try := 1; ; try++ {
		now, err := shelf.Contents(ctx, Document)
		if err != nil {
			return operatordoc.Version{}, err
		}
		values, err := read(now.Text)
		if err != nil {
			return operatordoc.Version{}, fault.Wrap(fault.Conflict, "What is stored of plugins cannot be read: restore an earlier version of the document \"plugins\"", err)
		}
		for _, setting := range names {
			_, stored := values[setting]
			if err := allow(given, name, setting, stored && change[setting] == ""); err != nil {
				return operatordoc.Version{}, err
			}
			if values[setting] = change[setting]; change[setting] == "" {
				delete(values, setting)
			}
		}
		v, err := shelf.Store(ctx, Document, values.text(), operatordoc.Change{
			Author: author, Note: fmt.Sprintf("changed %s", strings.Join(names, ", ")), After: now.Newest,
		})
		if !fault.Is(err, fault.Precondition) || try == tries {
			return v, err
		}
	}
}

// allow says why a setting cannot be changed. A stored value may always be taken away: one that
// is not in force is of no use, and nobody else can remove it.
func allow(given []config.Setting, name, setting string, takenAway bool) error {
	at := find(given, name, setting)
	switch {
	case takenAway && (at >= 0 || name == ""):
		return nil
	case at < 0:
		return fault.Newf(fault.Invalid, "%s: no such setting of a plugin; `castalia plugins` lists them", setting)
	case ruled(given[at]) != "":
		return fault.Newf(fault.Conflict, "%s is %s and cannot be changed here: change it there", setting, ruled(given[at]))
	}
	return nil
}

// find is where a setting of a plugin is among those that are given, or -1. An empty plugin is any.
func find(given []config.Setting, name, setting string) int {
	return slices.IndexFunc(given, func(s config.Setting) bool {
		return s.Name == setting && (s.Part == partOf(name) || name == "" && strings.HasPrefix(s.Part, partOf("")))
	})
}

// Unknown are the stored names that no plugin of this build declares.
func Unknown(given []config.Setting, stored Values) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if find(given, "", name) < 0 {
			out = append(out, name)
		}
	}
	return out
}

// Stored are the names that operators stored a value of; what is secret is still sealed.
func Stored(ctx context.Context, shelf *operatordoc.Shelf) (Values, error) {
	now, err := shelf.Contents(ctx, Document)
	if err != nil {
		return nil, err
	}
	return read(now.Text)
}
