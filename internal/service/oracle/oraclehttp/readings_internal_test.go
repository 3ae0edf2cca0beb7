package oraclehttp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// Whoever reads as much as they may has no versions read beside it: there is no service here
// that could.
func TestVersionsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	a := &api{readings: ratelimit.NewSlots(readingsEach)}
	const who = "did:key:zAda"
	for range readingsEach {
		leave, err := a.readings.Take(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	ctx, gone := context.WithCancel(t.Context())
	gone()
	w := httptest.NewRecorder()
	err := a.writeVersions(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody), who)
	if !errors.Is(err, context.Canceled) || w.Body.Len() > 0 {
		t.Errorf("answered %d bytes: %v", w.Body.Len(), err)
	}
}
