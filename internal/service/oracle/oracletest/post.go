package oracletest

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/castalia-org/castalia/plugin"
)

// Post is a plugin with a tool that people want to be asked about.
type Post struct{ Sent atomic.Int64 }

// Describe names it.
func (*Post) Describe() plugin.Description {
	return plugin.Description{
		Name:     "post",
		Manifest: plugin.Manifest{Title: "Post", Summary: "Sends.", WhenToUse: []string{"sending"}, Visibility: plugin.Always},
	}
}

// Tools is the one that waits for an approval.
func (p *Post) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "send", Description: "Send.", Confirm: true,
		Run: func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
			p.Sent.Add(1)
			return plugin.Text("sent"), nil
		},
	}}
}
