package app

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
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
	got := w.send(t, request{method: http.MethodGet, target: "/ixo/did/dids/" + w.ownOracle("").DID()})
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

// Clients resolve where they reach the deployment, which is not where its nodes reach
// each other.
func TestTheOraclesEntityKnowsThePublicAddress(t *testing.T) {
	t.Parallel()
	w := open(t)
	s := &w.opt.Settings.Server
	for _, c := range []struct{ public, node, want string }{
		{"https://oracle.example/", "http://10.0.0.1:3000", "https://oracle.example"},
		{"", "http://10.0.0.1:3000", "http://10.0.0.1:3000"},
	} {
		if err := s.NodeURL.UnmarshalText([]byte(c.node)); err != nil {
			t.Fatal(err)
		}
		if got := w.ownOracle(c.public); got.APIURL != c.want || got.SocketURL != "ws"+strings.TrimPrefix(c.want, "http") {
			t.Errorf("%+v: %s, %s", c, got.APIURL, got.SocketURL)
		}
	}
}
