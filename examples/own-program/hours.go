package main

import (
	"context"
	"encoding/json"

	"github.com/castalia-org/castalia/plugin"
)

// Hours is a plugin that knows when the office is open.
type Hours struct{ cfg Config }

// Config is filled from the environment, the configuration file and --set.
type Config struct {
	Text string `env:"HOURS_TEXT" default:"Monday to Friday, 9 to 17" doc:"When the office is open."`
}

// Describe names the plugin and says when an agent should use it.
func (h *Hours) Describe() plugin.Description {
	return plugin.Description{
		Name: "hours", Version: "1.0.0",
		Manifest: plugin.Manifest{
			Title: "Opening hours", Summary: "Knows when the office is open.",
			WhenToUse:  []string{"somebody asks when the office is open"},
			Visibility: plugin.Always,
		},
	}
}

// Config hands out the struct to fill.
func (h *Hours) Config() any { return &h.cfg }

// Tools is the one thing that an agent can do with this plugin.
func (h *Hours) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "tell_hours", Description: "Tell when the office is open.",
		Schema:   json.RawMessage(`{"type":"object","properties":{}}`),
		ReadOnly: true, Safe: true,
		Run: func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
			return plugin.Result{Text: h.cfg.Text}, nil
		},
	}}
}
