package agentkit_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// A question whose turn is refused in its course was not answered.
func TestARefusedTurnIsAnError(t *testing.T) {
	t.Parallel()
	till := &oracletest.Till{}
	s := start(t, nil, till.With)
	text, got := call(t, connect(t, s, talks(t, alice), nil), "ask_oracle", map[string]any{"question": "hi"})
	if got.Status != "error" || text != oracletest.SpentText {
		t.Errorf("%q %+v", text, got)
	}
}
