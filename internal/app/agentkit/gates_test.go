package agentkit_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// gate is a plugin that lets nobody in.
type gate struct{ oracletest.Post }

func (*gate) Gate(context.Context, plugin.GateRequest) error {
	return plugin.Errorf(http.StatusPaymentRequired, "no credits")
}

// Questions pass the plugins' gates.
func TestGates(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(d *oraclekit.Deps) { d.Plugins = append(d.Plugins, &gate{}) })
	if text, got := call(t, connect(t, s, talks(t, alice), nil), "ask_oracle",
		map[string]any{"question": "hi"}); got.Status != "error" || text != "no credits" {
		t.Errorf("%q %+v", text, got)
	}
}
