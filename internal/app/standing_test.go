package app

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Whoever shows no token now acts in somebody's name only while that somebody's key was
// not withdrawn.
func TestNothingStandsOnAWithdrawnKey(t *testing.T) {
	t.Parallel()
	w, ctx := open(t), t.Context()
	var link struct{ URL string }
	w.alices(t, request{method: http.MethodPost, target: "/api/fs/shares/plain", body: `{"path":"` + w.file(t).Path + `"}`}, &link)
	at, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	opened := func() int {
		return w.send(t, request{method: http.MethodGet, target: at.Path, may: []string{"see"}}).Code
	}
	if err := w.standing(ctx, alice.DID); err != nil || opened() != http.StatusOK {
		t.Fatalf("she stands: %v, her link is answered with %d", err, opened())
	}
	if _, err := w.identity.RevokeByOperator(ctx, identity.RevokedIssuer, alice.DID); err != nil {
		t.Fatal(err)
	}
	if err := w.standing(ctx, alice.DID); !fault.Is(err, fault.Forbidden) || opened() != http.StatusGone {
		t.Errorf("with a key that was withdrawn: %v, the link is answered with %d", err, opened())
	}
	if err := w.standing(ctx, bob.DID); err != nil {
		t.Errorf("somebody else: %v", err)
	}
}
