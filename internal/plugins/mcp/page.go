package mcp

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// pageText is what the page after an authorization says.
type pageText struct {
	Oracle, Server, Host, Code, Problem string
}

const pageSource = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{if .Problem}}Not authorized{{else}}One more step{{end}}</title>
<style>
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 12vh auto; padding: 0 1.5rem; color-scheme: light dark }
code { display: block; font-size: 2rem; letter-spacing: .1em; margin: 1.5rem 0 }
</style>
{{if .Problem}}<h1>Not authorized</h1>
<p role="alert">{{.Problem}}</p>
{{else}}<h1>One more step</h1>
<p>Give {{.Oracle}} this code, and it may use {{.Server}} ({{.Host}}) for you:</p>
<code>{{.Code}}</code>
<p>Enter it where you asked for the link, within ten minutes. If it was not you who asked, close this page and give the code to nobody.</p>
{{end}}</html>
`

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
	return pluginhttp.WriteJSON(w, http.StatusOK, document{
		ID: base + documentPath, Name: p.host.OracleName, Site: base, Redirects: []string{base + callbackPath},
		Grants: []string{"authorization_code", "refresh_token"}, Responses: []string{"code"}, Method: "none",
	})
}
