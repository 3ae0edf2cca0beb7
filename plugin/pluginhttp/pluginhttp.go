// Package pluginhttp is the part of the plugin contract that speaks HTTP.
//
// It stands apart so that package plugin, and with it the oracle's core, stays
// free of a transport.
package pluginhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/plugin"
)

// RouteProvider adds HTTP routes to the oracle's surface. They need the same
// credentials as the oracle's own routes unless plugin.PublicRouteProvider names them.
type RouteProvider interface {
	Routes() []Route
}

// Route is one HTTP route, with what the documentation says of it.
type Route struct {
	Method  string
	Pattern string // "/memory/{key}"
	Summary string
	Doc     string
	Params  []Param
	// Body is a Go value whose type documents the JSON body; nil when there is none.
	Body    any
	MaxBody int64
	// Example is a body that works, for the documentation; nil is made from the type.
	Example any
	Replies []Reply
	// Page says that people open it in a browser: its requests are counted by their
	// address, together with those for other pages. Public routes that check no
	// secret of their own need that.
	Page bool
	// InPerson says that it takes an invocation that the user signed, and no delegation
	// alone: others may hold one, and what is made here would outlast it. Routes that
	// make something speak as the user, or send to an address what the user says, need
	// that.
	InPerson bool
	// Handler serves the request. rt.User is empty on public routes. A returned
	// *plugin.Error becomes the response; any other error a 500 without details.
	Handler func(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error
}

// Param documents a path, query or header parameter.
type Param struct {
	Name     string
	In       string // path, query, header
	Required bool
	Schema   any // a Go value of the parameter's type
	Doc      string
}

// Reply documents one response.
type Reply struct {
	Status int
	Body   any
	Doc    string
}
