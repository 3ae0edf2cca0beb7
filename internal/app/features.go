package app

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// featureList tells the console what this node serves, so that it offers no page
// and asks no route that is not there. It says nothing that /docs does not.
type featureList struct {
	Name     string   `json:"name"`
	Services []string `json:"services"`
	Plugins  []string `json:"plugins"`
	// Access tells a stranger whether an invitation is needed.
	Access membership.Mode `json:"access"`
	Screen screenSize      `json:"screen"`
}

// screenSize is how much of a screen the console's telephone shows, of the service code that it asks for
// (`?code=`), else of all.
type screenSize struct {
	Septets    int `json:"septets"`
	Characters int `json:"characters"`
}

// pluginStates says of each plugin whether it is on, and why.
func (a *App) pluginStates() ([]pluginconf.State, error) {
	verdicts, err := PluginVerdicts(a.opt.Settings, a.opt.Plugins)
	if err != nil {
		return nil, err
	}
	out := make([]pluginconf.State, 0, len(verdicts))
	for _, v := range verdicts {
		s := pluginconf.State{Name: v.Name, Title: v.Name, On: v.On && a.serves("oracle"), Why: v.Why}
		if !a.serves("oracle") {
			s.Why = "this node does not serve the oracle"
		}
		for _, p := range a.opt.Plugins {
			if d := p.Describe(); d.Name == v.Name {
				s.Title, s.Summary, s.Version = d.Manifest.Title, d.Manifest.Summary, d.Version
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func (a *App) getFeatures(w http.ResponseWriter, r *http.Request) error {
	states, err := a.pluginStates()
	if err != nil {
		return err
	}
	limit := a.screens.Of("", r.URL.Query().Get("code")).OrDefault()
	body := featureList{
		Name: a.documents.name.Value(), Services: a.opt.Services, Plugins: []string{}, Access: a.access.Mode(),
		Screen: screenSize{limit.Septets, limit.Units},
	}
	for _, s := range states {
		if s.On {
			body.Plugins = append(body.Plugins, s.Name)
		}
	}
	w.Header().Set("Cache-Control", "no-cache")
	return httpserver.WriteJSON(w, http.StatusOK, body)
}
