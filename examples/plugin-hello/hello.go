// Package hello is an example of a plugin: one tool, one route, one prompt and
// a counter that every node shares.
package hello

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Hello greets people and counts its greetings.
type Hello struct {
	cfg   Config
	store plugin.Store
}

// Config is filled from the environment before Start.
type Config struct {
	Greeting string `env:"HELLO_GREETING" default:"Hello" doc:"The word to greet with."`
}

// The optional interfaces that this plugin implements.
var (
	_ plugin.Configurer        = (*Hello)(nil)
	_ plugin.Starter           = (*Hello)(nil)
	_ plugin.ToolProvider      = (*Hello)(nil)
	_ plugin.PromptProvider    = (*Hello)(nil)
	_ pluginhttp.RouteProvider = (*Hello)(nil)
)

// Describe names the plugin.
func (h *Hello) Describe() plugin.Description {
	return plugin.Description{
		Name: "hello", Version: "1.0.0",
		Manifest: plugin.Manifest{
			Title: "Hello", Summary: "Greets people by name and counts its greetings.",
			WhenToUse:  []string{"somebody wants to be greeted"},
			Visibility: plugin.Always,
		},
	}
}

// Config hands out the struct to fill.
func (h *Hello) Config() any { return &h.cfg }

// Start keeps the store.
func (h *Hello) Start(_ context.Context, host plugin.Host) error {
	h.store = host.Store
	return nil
}

// Tools is the one thing that the agent can do with this plugin.
func (h *Hello) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "greet_person", Description: "Greet a person by name.",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"Whom to greet"}},"required":["name"]}`),
		Run:    h.greet,
	}}
}

func (h *Hello) greet(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(args, &in); err != nil || in.Name == "" {
		return plugin.Result{}, plugin.Errorf(http.StatusBadRequest, "tell me whom to greet")
	}
	if err := h.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		n, err := count(ctx, tx)
		if err != nil {
			return err
		}
		return tx.Put(ctx, "count", []byte(strconv.Itoa(n+1)), 0)
	}); err != nil {
		return plugin.Result{}, err
	}
	greeting := h.cfg.Greeting
	if greeting == "" {
		greeting = "Hello"
	}
	return plugin.Text(greeting + ", " + in.Name + "!"), nil
}

// count reads the counter inside a transaction.
func count(ctx context.Context, tx plugin.Tx) (int, error) {
	value, ok, err := tx.Get(ctx, "count")
	if err != nil || !ok {
		return 0, err
	}
	return strconv.Atoi(string(value))
}

// Prompt tells the model about the manners of this deployment.
func (h *Hello) Prompt(context.Context, *plugin.Runtime) (string, error) {
	return "When somebody tells you their name, greet them with the tool greet_person.", nil
}

// Routes shows the counter to whoever may talk to the oracle.
func (h *Hello) Routes() []pluginhttp.Route {
	return []pluginhttp.Route{{
		Method: http.MethodGet, Pattern: "/hello/count", Summary: "How many people were greeted",
		Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: map[string]int{}}},
		Handler: func(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
			value, _, err := h.store.Get(r.Context(), "count")
			if err != nil {
				return err
			}
			n, _ := strconv.Atoi(string(value)) // absent is zero
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			return json.NewEncoder(w).Encode(map[string]int{"count": n})
		},
	}}
}
