package httpserver

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// The page is ours, small, and asks no other host for anything.
//
//go:embed docs
var docFiles embed.FS

// docCSP lets the page run its own script and talk to its own server.
const docCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsSurface is the documentation itself. It is public: it says what can be
// asked, not what the answers are.
func (s *Server) docsSurface() Surface {
	page := func(pattern string) Route {
		return Route{
			Method: http.MethodGet, Pattern: pattern, Auth: Public, Limit: LimitPages, Hidden: true,
			Handler: func(w http.ResponseWriter, r *http.Request) error { return serveDoc(w, r, "index.html") },
		}
	}
	return Surface{
		Name: "docs", Doc: "What this deployment serves.", CORS: OpenCORS("*"), Errors: s.cfg.Errors,
		Routes: []Route{
			page("/docs"), page("/docs/"),
			{
				Method: http.MethodGet, Pattern: "/docs/{file}", Auth: Public, Limit: LimitPages, Hidden: true,
				Handler: func(w http.ResponseWriter, r *http.Request) error { return serveDoc(w, r, r.PathValue("file")) },
			},
			{
				Method: http.MethodGet, Pattern: "/docs-json", Auth: Public, Limit: LimitPages, Summary: "This document",
				Doc:     "OpenAPI 3.1, made from the routes that are mounted now.",
				Replies: []Reply{{Status: http.StatusOK, Media: "application/json", Doc: "The OpenAPI document"}},
				Handler: s.serveOpenAPI,
			},
		},
	}
}

func serveDoc(w http.ResponseWriter, r *http.Request, name string) error {
	types := map[string]string{
		"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
		"js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
	}
	_, ext, _ := strings.Cut(name, ".")
	data, err := docFiles.ReadFile("docs/" + name)
	if err != nil || types[ext] == "" {
		return notFound(r)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", docCSP)
	return serveCached(w, r, types[ext], data)
}

// serveCached sends bytes that change rarely, or says that they did not.
func serveCached(w http.ResponseWriter, r *http.Request, contentType string, data []byte) error {
	sum := sha256.Sum256(data)
	tag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
	h := w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", "no-cache")
	if match := r.Header.Get("If-None-Match"); match == "*" || strings.Contains(match, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(len(data)))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(data)
	return err
}

// docCache keeps the document until a surface has changed.
type docCache struct {
	mu       sync.Mutex
	versions []uint64
	doc      []byte
}

func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) error {
	doc, err := s.cachedOpenAPI()
	if err != nil {
		return fault.Wrap(fault.Internal, "The document could not be made", err)
	}
	return serveCached(w, r, jsonContentType[0], doc)
}

func (s *Server) cachedOpenAPI() ([]byte, error) {
	s.mu.Lock()
	dynamics := s.dynamics
	versions := []uint64{uint64(len(s.surfaces))}
	s.mu.Unlock()
	for _, sf := range dynamics {
		if sf.Dynamic.Version != nil {
			versions = append(versions, sf.Dynamic.Version())
		}
	}
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	if s.docs.doc != nil && slices.Equal(s.docs.versions, versions) {
		return s.docs.doc, nil
	}
	doc, err := s.OpenAPI()
	if err != nil {
		return nil, err
	}
	s.docs.doc, s.docs.versions = doc, versions
	return doc, nil
}
