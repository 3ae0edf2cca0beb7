package turn

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// nobody stands in for parts that a deployment does not have.
type nobody struct{}

// Publish drops the event.
func (nobody) Publish(context.Context, oracle.Event) error { return nil }

// Dispatch finds no browser.
func (nobody) Dispatch(context.Context, oracle.Call) (oracle.Outcome, error) {
	return oracle.Outcome{}, oracle.ErrNoBrowser
}

// Authority grants nothing.
func (nobody) Authority(string, identity.Brought) plugin.Authority { return nobody{} }

// Files has none.
func (nobody) Files(string, identity.Brought) plugin.Files { return nobody{} }

// Query has no upstream.
func (nobody) Query(string) plugin.Query { return nobody{} }

// Knowledge has no document.
func (nobody) Knowledge(string, identity.Brought) plugin.Knowledge { return ignorant{} }

// ignorant knows nothing.
type ignorant struct{}

// Tools are none.
func (ignorant) Tools(context.Context) ([]plugin.ToolSpec, error) { return nil, nil }

// Call is refused.
func (ignorant) Call(context.Context, string, json.RawMessage) (plugin.Result, error) {
	return plugin.Result{}, plugin.Errorf(501, "This deployment has no knowledge.")
}

// Invoke has nothing to mint from.
func (nobody) Invoke(context.Context, string, plugin.Capability, time.Duration) (string, error) {
	return "", plugin.ErrNoDelegation
}

// Granted is nothing.
func (nobody) Granted(context.Context) ([]plugin.Capability, error) { return nil, nil }

// Tools are none.
func (nobody) Tools(context.Context) ([]plugin.ToolSpec, error) { return nil, plugin.ErrNoDelegation }

// Call is refused.
func (nobody) Call(context.Context, string, json.RawMessage) (plugin.Result, error) {
	return plugin.Result{}, plugin.ErrNoDelegation
}

// Get is refused.
func (nobody) Get(context.Context, string, url.Values) (json.RawMessage, error) {
	return nil, plugin.Errorf(501, "This deployment has no query gateway.")
}

// OpenAPI is refused.
func (nobody) OpenAPI(context.Context) (json.RawMessage, error) {
	return nil, plugin.Errorf(501, "This deployment has no query gateway.")
}

// NoAccess grants nothing to anybody.
func NoAccess() Access { return nobody{} }
