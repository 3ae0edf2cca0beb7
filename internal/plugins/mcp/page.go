package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Voice is what a page needs to speak: a language, its direction ("ltr" or "rtl"), and
// its texts, which the program that has this plugin keeps for it.
type Voice struct {
	Language, Direction string
	Say                 func(key string, values map[string]any) string
}

// Pages chooses the language of an answer, and tells the answer.
type Pages func(w http.ResponseWriter, r *http.Request) Voice

// pageText is what the page after an authorization says.
type pageText struct {
	Voice
	Title, Text, Code, After string
	Problem                  bool
}

const pageSource = `<!doctype html>
<html lang="{{.Language}}" dir="{{.Direction}}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 12vh auto; padding: 0 1.5rem; color-scheme: light dark }
code { display: block; direction: ltr; font-size: 2rem; letter-spacing: .1em; margin: 1.5rem 0 }
</style>
<h1>{{.Title}}</h1>
{{if .Problem}}<p role="alert">{{.Text}}</p>
{{else}}<p>{{.Text}}</p>
<code>{{.Code}}</code>
<p>{{.After}}</p>
{{end}}</html>
`

// saidError is an error of which a page has words of its own.
type saidError struct {
	key string
	err *plugin.Error
}

// Error implements error.
func (e *saidError) Error() string { return e.err.Error() }

// Unwrap returns the error as programs get it.
func (e *saidError) Unwrap() error { return e.err }

// said names the text that says an error on a page.
func said(key string, e *plugin.Error) error { return &saidError{key, e} }

// private keeps an answer from caches, other pages and other servers.
func private(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

func show(w http.ResponseWriter, status int, text pageText) error {
	page, err := template.New("page").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	var body bytes.Buffer
	if err := page.Execute(&body, text); err != nil {
		return fmt.Errorf("fill page: %w", err)
	}
	h := w.Header()
	private(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	w.WriteHeader(status)
	_, err = w.Write(body.Bytes())
	return err
}

// document is what authorization servers read that know clients by an address.
type document struct {
	ID        string   `json:"client_id"`
	Name      string   `json:"client_name"`
	Site      string   `json:"client_uri"`
	Redirects []string `json:"redirect_uris"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
	Method    string   `json:"token_endpoint_auth_method"`
}

func (p *Plugin) document(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
	base := pluginhttp.BaseURL(r)
	if !strings.HasPrefix(base, "https://") {
		return plugin.Errorf(http.StatusNotFound, "This deployment has no https address.")
	}
	id, redirect, name := base+documentPath, base+callbackPath, p.host.OracleName
	if text := r.PathValue("issuer"); text != "" {
		issuer, err := base64.RawURLEncoding.Strict().DecodeString(text)
		host := hostOf(string(issuer))
		if err != nil || host == "" {
			return plugin.Errorf(http.StatusNotFound, "No authorization server is called so here.")
		}
		// Whoever agrees elsewhere is told to whom the answer goes.
		id, redirect, name = base+issuersDocument+text, base+issuersCallback+tag(string(issuer)), name+" (for "+host+")"
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, document{
		ID: id, Name: name, Site: base, Redirects: []string{redirect},
		Grants: []string{"authorization_code", "refresh_token"}, Responses: []string{"code"}, Method: "none",
	})
}
