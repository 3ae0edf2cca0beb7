package pluginconf

import (
	"net/http"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// State is what an operator sees of a plugin.
type State struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Summary  string    `json:"summary"`
	Version  string    `json:"version"`
	On       bool      `json:"on"`
	Why      string    `json:"why"`
	Settings []Setting `json:"settings"`
}

// List is the body of GET /operator/plugins.
type List struct {
	Plugins []State `json:"plugins"`
}

// NewValues is the body of PATCH /operator/plugins/{name}.
type NewValues struct {
	// Values are the settings to change; null or an empty text takes the stored value away.
	Values map[string]*string `json:"values"`
}

// Deps is what the routes stand on.
type Deps struct {
	// Plugins says of each plugin whether it is on, and why; the settings are filled in here.
	Plugins func() ([]State, error)
	// Given is what is in force, Applied what of it came from the database at the start.
	Given   []config.Setting
	Applied Values
	Stored  *operatordoc.Document[Values]
	Shelf   *operatordoc.Shelf
	Author  func(*http.Request) string
}

type api struct{ Deps }

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	a := api{d}
	operators := []string{"Operators"}
	return httpserver.Surface{
		Name: "plugins", Doc: "Which plugins are on, and their settings.",
		Routes: []httpserver.Route{{
			Method: http.MethodGet, Pattern: "/operator/plugins", Auth: httpserver.Operator, Tags: operators,
			Summary: "Plugins", Doc: "Which plugins are on, and why; and their settings, without secrets.",
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: List{}}}, Handler: a.list,
		}, {
			Method: http.MethodPatch, Pattern: "/operator/plugins/{name}", Auth: httpserver.Operator, Tags: operators,
			Summary: "Change a plugin's settings",
			Doc: "What is stored is in force on a node after its next start. What a variable, the file or a flag of the server sets cannot be changed, nor what is set where the server runs alone; readOnly and reason say so. " +
				"Secrets are sealed and not shown again.",
			Params: []httpserver.Param{{Name: "name", In: "path", Required: true, Doc: "The plugin.", Example: "memory"}},
			Body:   NewValues{}, MaxBody: maxBytes, Example: map[string]any{"values": map[string]any{"MEMORY_IN_PROMPT": "7"}},
			Replies: []httpserver.Reply{
				{Status: http.StatusOK, Body: State{}},
				{Status: http.StatusBadRequest, Doc: "A value does not fit, or the plugin has no such setting; the message names it."},
				{Status: http.StatusNotFound, Doc: "No such plugin."},
				{Status: http.StatusConflict, Doc: "A variable, the file or a flag of the server rules, or the setting is of the machine alone; the message names it."},
			},
			Handler: a.change,
		}},
	}
}

// states are the plugins with their settings.
func (a api) states() ([]State, error) {
	list, err := a.Plugins()
	for i := range list {
		list[i].Settings = States(list[i].Name, a.Given, a.Applied, a.Stored.Value())
	}
	return list, err
}

func (a api) list(w http.ResponseWriter, _ *http.Request) error {
	list, err := a.states()
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, List{list})
}

func (a api) change(w http.ResponseWriter, r *http.Request) error {
	var body NewValues
	if err := httpserver.ReadJSON(w, r, &body); err != nil {
		return err
	}
	find := func() (State, error) {
		list, err := a.states()
		if err != nil {
			return State{}, err
		}
		at := slices.IndexFunc(list, func(s State) bool { return s.Name == r.PathValue("name") })
		if at < 0 {
			return State{}, fault.Newf(fault.NotFound, "There is no plugin %q", r.PathValue("name"))
		}
		return list[at], nil
	}
	plugin, err := find()
	if err != nil {
		return err
	}
	change := Values{}
	for name, value := range body.Values {
		if !slices.ContainsFunc(plugin.Settings, func(s Setting) bool { return s.Name == name }) {
			return fault.Newf(fault.Invalid, "%s: the plugin %s has no such setting", name, plugin.Name)
		}
		change[name] = ""
		if value != nil {
			change[name] = *value
		}
	}
	if len(change) > 0 {
		if _, err := Change(r.Context(), a.Shelf, a.Given, plugin.Name, change, a.Author(r)); err != nil {
			return err
		}
	}
	if plugin, err = find(); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, plugin)
}
