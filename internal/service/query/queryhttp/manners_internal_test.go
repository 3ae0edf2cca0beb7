package queryhttp

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

func TestFaultsAreStatusesOfGRPC(t *testing.T) {
	t.Parallel()
	for _, kind := range fault.Kinds() {
		w := httptest.NewRecorder()
		writeFault(w, fault.New(kind, "shown"))
		var body struct {
			Code    int
			Message string
			Details []any
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if body.Message != "shown" || body.Details == nil || w.Code != httpserver.Status(kind) {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
		if kind != fault.Internal && body.Code == 13 {
			t.Errorf("%s has no gRPC code of its own", kind)
		}
	}
}

func TestCORSIsClosedUnlessAsked(t *testing.T) {
	t.Parallel()
	if p := CORS(" ,"); len(p.Origins)+len(p.Headers)+len(p.Methods)+len(p.Exposed) != 0 {
		t.Errorf("open to %v", p)
	}
	if p := CORS("https://a.example, https://b.example/"); len(p.Origins) != 2 || p.Origins[1] != "https://b.example" {
		t.Errorf("open to %v", p.Origins)
	}
}
