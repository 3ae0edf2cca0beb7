package app

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"
)

// TestTheOraclesEntityKnowsItsPort reads the addresses of a program that took
// any free port: clients resolve them before their first request.
func TestTheOraclesEntityKnowsItsPort(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, port, err := net.SplitHostPort(w.Addr())
	if err != nil || port == "0" {
		t.Fatalf("%s: %v", w.Addr(), err)
	}
	got := w.send(t, request{method: http.MethodGet, target: "/ixo/did/dids/" + w.ownOracle().DID()})
	var reply struct {
		IidDocument struct {
			Service []struct{ ID, ServiceEndpoint string }
		}
	}
	if err := json.Unmarshal(got.Body.Bytes(), &reply); err != nil {
		t.Fatalf("%d %s: %v", got.Code, got.Body, err)
	}
	want := map[string]string{"{id}#api": "http://localhost:" + port, "{id}#ws": "ws://localhost:" + port}
	for _, s := range reply.IidDocument.Service {
		if s.ServiceEndpoint != want[s.ID] {
			t.Errorf("%s is %q, want %q", s.ID, s.ServiceEndpoint, want[s.ID])
		}
		delete(want, s.ID)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
