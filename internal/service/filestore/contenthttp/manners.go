package contenthttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// Errors is the table of the file store's faces: error, message, status.
func Errors(w http.ResponseWriter, _ *http.Request, err error) {
	e := fault.From(err)
	word := e.Code
	if word == "" {
		word = e.Kind.String()
	}
	httpserver.WriteFault(w, e, map[string]any{"error": word, "message": e.Message, "status": httpserver.Status(e.Kind)})
}

// CORS is the open policy with what file transfer and MCP need. origins is "*" or a
// comma list; empty is "*".
func CORS(origins string) httpserver.CORSPolicy {
	p := httpserver.OpenCORS(origins)
	p.Headers = append(
		p.Headers, "Range", "If-Match", "If-None-Match", "If-Range", "If-Modified-Since", "Idempotency-Key", "Last-Event-ID",
		"Tus-Resumable", "Upload-Length", "Upload-Offset", "Upload-Metadata", "Upload-Defer-Length", "Upload-Concat",
		"Upload-Checksum", "Content-Digest", "Repr-Digest", "Content-MD5", "X-HTTP-Method-Override", "Mcp-Session-Id",
		"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
	)
	p.Methods = append(p.Methods, "HEAD")
	p.Exposed = append(
		p.Exposed, "ETag", "Location", "Content-Range", "Accept-Ranges", "Content-Disposition", "Last-Modified",
		"x-vfs-cid", "x-vfs-content-hash", "x-vfs-version", "x-vfs-file-id",
		"Tus-Resumable", "Tus-Version", "Tus-Extension", "Tus-Max-Size", "Tus-Checksum-Algorithm",
		"Upload-Offset", "Upload-Length", "Upload-Expires", "Upload-Metadata", "Upload-Defer-Length", "Upload-Concat",
		"Content-Digest", "Repr-Digest", "Mcp-Session-Id", "WWW-Authenticate",
	)
	return p
}
