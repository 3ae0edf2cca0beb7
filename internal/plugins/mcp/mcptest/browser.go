package mcptest

import (
	"io"
	"net/http"
	"regexp"
	"testing"
)

var pageCode = regexp.MustCompile(`<code>([A-Z0-9]{4}-[A-Z0-9]{4})</code>`)

// Visit is what a browser gets from an address, without following redirects.
func Visit(t *testing.T, address string) (status int, location, body string) {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), string(data)
}

// Agree opens a link and agrees to what the issuer asks. It returns the address
// to which the issuer leads back.
func Agree(t *testing.T, link string) string {
	t.Helper()
	status, there, body := Visit(t, link)
	if status != http.StatusSeeOther {
		t.Fatalf("the link: %d %s", status, body)
	}
	status, back, body := Visit(t, there)
	if status != http.StatusFound {
		t.Fatalf("the issuer: %d %s", status, body)
	}
	return back
}

// Code is what the page at the end shows.
func Code(t *testing.T, back string) string {
	t.Helper()
	status, _, body := Visit(t, back)
	found := pageCode.FindStringSubmatch(body)
	if status != http.StatusOK || found == nil {
		t.Fatalf("the page: %d %s", status, body)
	}
	return found[1]
}
