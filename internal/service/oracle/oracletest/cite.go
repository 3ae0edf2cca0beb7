package oracletest

import (
	"context"
	"encoding/json"

	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/plugin"
)

// CitingText is what a model says that Citing scripted: it points to two passages, and
// to one that nobody showed it.
const CitingText = "Á Fridays [1]; at eight [2]. Nothing is at [77]."

// Citing is a model that looks passages up and cites them, with the plugin that shows
// it two.
func Citing() (*scripted.Provider, func(*oraclekit.Deps)) {
	model := scripted.Sequence(
		scripted.Calls(plugin.ModelToolCall{ID: "c1", Name: "look_up", Args: json.RawMessage(`{}`)}),
		scripted.Text("Á Fridays [1]; ", "at eight [2]. Nothing is at [77]."),
	)
	return model, func(d *oraclekit.Deps) { d.Plugins = append(d.Plugins, library{}) }
}

type library struct{}

// Describe implements plugin.Plugin.
func (library) Describe() plugin.Description {
	return plugin.Description{
		Name:     "library",
		Manifest: plugin.Manifest{Title: "Library", Summary: "Looks up.", WhenToUse: []string{"looking up"}, Visibility: plugin.Always},
	}
}

// Tools implements plugin.ToolProvider.
func (library) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "look_up", Description: "Look up.", ReadOnly: true,
		Run: func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
			r := plugin.Text("passages")
			r.Citations = []plugin.Citation{
				{Number: 1, Collection: "c", Document: "mill", Passage: "c/mill/0", Title: "Mill", Name: "mill.pdf", Page: 3, Text: "The mill grinds on Fridays."},
				{Number: 2, Collection: "c", Document: "clinic", Passage: "c/clinic/1", Name: "clinic.txt", Text: "The clinic opens at eight."},
				{Number: 3, Collection: "c", Document: "other", Passage: "c/other/0", Title: "Other", Text: "Nobody cites this."},
			}
			return r, nil
		},
	}}
}
