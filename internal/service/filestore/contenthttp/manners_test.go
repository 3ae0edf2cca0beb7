package contenthttp_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

func TestErrorsOfFiles(t *testing.T) {
	t.Parallel()
	for _, kind := range fault.Kinds() {
		for word, err := range map[string]error{
			kind.String(): fault.New(kind, "shown"),
			"a_code":      fault.New(kind, "shown").WithCode("a_code"),
		} {
			w := httptest.NewRecorder()
			contenthttp.Errors(w, nil, err)
			var body struct {
				Error, Message string
				Status         int
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			if body.Error != word || body.Message != "shown" || body.Status != w.Code || w.Code != httpserver.Status(kind) {
				t.Errorf("%s: %d %s", kind, w.Code, w.Body)
			}
		}
	}
}

// Pages upload in parts, read what they may, and are MCP clients.
func TestCORSOfFiles(t *testing.T) {
	t.Parallel()
	p := contenthttp.CORS("")
	for _, name := range []string{
		"x-ucan-delegation", "Tus-Resumable", "If-Match", "Range", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
		"Last-Event-ID",
	} {
		if !slices.Contains(p.Headers, name) {
			t.Errorf("%s is refused", name)
		}
	}
	for _, name := range []string{"x-vfs-cid", "ETag", "Upload-Offset", "Location", httpserver.HeaderRequestID} {
		if !slices.Contains(p.Exposed, name) {
			t.Errorf("%s is hidden", name)
		}
	}
}
