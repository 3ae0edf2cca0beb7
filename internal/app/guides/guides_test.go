package guides_test

import (
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/castalia-org/castalia/docs"
	"github.com/castalia-org/castalia/internal/app/guides"
	"github.com/castalia-org/castalia/internal/platform/guidebook"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
)

func serve(t *testing.T, pages fs.FS) func(target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	surface, err := guides.Surface("Testa <b>", pages, wordshttp.Speaker{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(surface); err != nil {
		t.Fatal(err)
	}
	return func(target string, header ...string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
}

var (
	linked  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchors = regexp.MustCompile(`id="([^"]*)"`)
)

// TestEveryPageIsServedAndEveryLinkLeadsSomewhere walks all that can be reached.
func TestEveryPageIsServedAndEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	get := serve(t, docs.Pages)
	pages := map[string]map[string]bool{} // address: its anchors
	var links [][2]string
	open := []string{"/guides"}
	for len(open) > 0 {
		address := open[0]
		open = open[1:]
		if pages[address] != nil {
			continue
		}
		got := get(address)
		if got.Code != http.StatusOK {
			t.Fatalf("GET %s: %d", address, got.Code)
		}
		pages[address] = map[string]bool{"": true}
		if !strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range anchors.FindAllStringSubmatch(got.Body.String(), -1) {
			pages[address][m[1]] = true
		}
		for _, m := range linked.FindAllStringSubmatch(got.Body.String(), -1) {
			u, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Fatalf("%s links to %q: %v", address, m[1], err)
			}
			if u.Host != "" || u.Path != "" && u.Path != "/guides" && !strings.HasPrefix(u.Path, guidebook.Home) {
				continue
			}
			target := u.Path
			if target == "" {
				target = address
			}
			links = append(links, [2]string{target, u.Fragment})
			open = append(open, target)
		}
	}
	for _, l := range links {
		if !pages[l[0]][l[1]] {
			t.Errorf("something links to %s#%s, and there is no such heading", l[0], l[1])
		}
	}
	names, err := fs.Glob(docs.Pages, "guides/*.md")
	if err != nil || len(names) < 30 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		if pages[guidebook.Address(guidebook.Home, "README.md", name)] == nil {
			t.Errorf("no way leads to %s", name)
		}
	}
}

// TestPassagesAreWhereTheySay: what search finds is under the anchor that it names.
func TestPassagesAreWhereTheySay(t *testing.T) {
	t.Parallel()
	get := serve(t, docs.Pages)
	all, err := guidebook.Passages(docs.Pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		address := guidebook.Address(guidebook.Home, p.Document, "")
		if anchor := `id="` + string(p.Meta) + `"`; len(p.Meta) > 0 && !strings.Contains(get(address).Body.String(), anchor) {
			t.Errorf("%s has no %s", address, anchor)
		}
	}
}

func TestSearchFindsSections(t *testing.T) {
	t.Parallel()
	get := serve(t, docs.Pages)
	for query, want := range map[string]string{
		"how do I restore a backup?":           `href="/guides/backup`,
		"telephone gateway":                    `href="/guides/ussd#`,
		"zxqv":                                 "Nothing was found for “zxqv”",
		`"><script>x`:                          "&#34;&gt;&lt;script&gt;x",
		strings.Repeat("zxqv ", 11) + "backup": `href="/guides/backup`,
		strings.Repeat("zxqv ", 12) + "backup": "Nothing was found for “zxqv",
		strings.Repeat("zxqv-", 12) + "backup": "Nothing was found for “zxqv",
	} {
		got := get("/guides?q=" + url.QueryEscape(query))
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) ||
			strings.Contains(got.Body.String(), "<script") {
			t.Errorf("%q: %d, without %s:\n%.2000s", query, got.Code, want, got.Body)
		}
	}
	if got := get("/guides?q=" + strings.Repeat("a", 401)); got.Code != http.StatusBadRequest {
		t.Errorf("a long search: %d", got.Code)
	}
}

func TestPagesRunNothing(t *testing.T) {
	t.Parallel()
	get := serve(t, fstest.MapFS{
		"README.md":   {Data: []byte("# List\n\n[a](guides/a.md)\n")},
		"guides/a.md": {Data: []byte("# A\n\n<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> [bad](javascript:alert(1)) ![bad](data:text/html,x)\n\n## B `c`\n\n| d |\n|--:|\n| e |\n")},
		"secret.txt":  {Data: []byte("no")},
	})
	got := get("/guides/a")
	text := got.Body.String()
	for _, never := range []string{"<script", "onerror", "javascript:", "data:text", "style=", "<b>"} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %s:\n%s", never, text)
		}
	}
	for _, must := range []string{`<h2 id="b-c">`, `href="#b-c"`, `<td align="right">e</td>`, `<nav aria-label="On this page">`, "<title>A · Testa &lt;b&gt;</title>"} {
		if !strings.Contains(text, must) {
			t.Errorf("the page lacks %s:\n%s", must, text)
		}
	}
	csp := got.Header().Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	if again := get("/guides/a", "If-None-Match", got.Header().Get("Etag")); again.Code != http.StatusNotModified {
		t.Errorf("a page that did not change: %d", again.Code)
	}
	for _, missing := range []string{"/guides/b", "/guides/../secret.txt", "/guides/images/..%2Fsecret.txt", "/guides/images/none.png", "/guides/reference/a"} {
		if got := get(missing); got.Code != http.StatusNotFound {
			t.Errorf("GET %s: %d", missing, got.Code)
		}
	}
}

// What stands around a guide is in the reader's language, the guide in English, and
// each says which it is.
func TestTheFrameIsInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	get := serve(t, docs.Pages)
	// What is hidden beyond the left edge makes a page from right to left begin there, empty.
	if style := get("/guides/style.css").Body.String(); style == "" || strings.Contains(style, "left:") {
		t.Errorf("the style knows left and right:\n%s", style)
	}
	for _, c := range []struct {
		target, accept string
		want           []string
	}{
		{"/guides/start", "ar", []string{`<html lang="ar" dir="rtl">`, "في هذه الصفحة", `<div lang="en" dir="ltr">`}},
		{"/guides?q=xyzzyx", "fr-FR,fr;q=0.9", []string{`<html lang="fr" dir="ltr">`, "Rien n’a été trouvé pour « xyzzyx »"}},
		{"/guides?q=telephone&language=sw", "fr", []string{`<html lang="sw"`, `name="language" value="sw"`, `<section class="found" lang="en"`}},
		{"/guides/start", "", []string{`<html lang="en" dir="ltr">`, "On this page"}},
	} {
		r := get(c.target, "Accept-Language", c.accept)
		for _, want := range c.want {
			if !strings.Contains(r.Body.String(), want) {
				t.Errorf("%s in %q lacks %s", c.target, c.accept, want)
			}
		}
		if !strings.Contains(strings.Join(r.Header().Values("Vary"), ","), "Accept-Language") || r.Header().Get("Content-Language") == "" {
			t.Errorf("%s: %v", c.target, r.Header())
		}
	}
}

// Whoever chose a language by the address keeps it on every way from there.
func TestTheChosenLanguageStays(t *testing.T) {
	t.Parallel()
	get := serve(t, fstest.MapFS{
		"README.md":      {Data: []byte("# List\n\n[a](guides/a.md)\n")},
		"guides/a.md":    {Data: []byte("# A\n\n## Bees\n\nBees [live](b.md#hive) in [hives](#bees), see [forge](../adr/1.md), [far](https://example.org/x).\n\n![p](../images/p.png)\n")},
		"guides/b.md":    {Data: []byte("# B\n\n## Hive\n\nText\n")},
		"images/p.png":   {Data: []byte("x")},
		"reference/c.md": {Data: []byte("# C\n")},
	})
	for target, want := range map[string][]string{
		"/guides?language=sw":         {`href="/guides/a?language=sw"`},
		"/guides/a?language=sw":       {`href="/guides/b?language=sw#hive"`, `href="/guides/a?language=sw#bees"`, `href="#bees"`, `src="/guides/images/p.png"`, `href="https://example.org/x"`},
		"/guides?q=bees&language=sw":  {`<h2><a href="/guides/a?language=sw#bees">`, `href="/guides/b?language=sw#hive"`},
		"/guides?q=bees&language=fr":  {`<h2><a href="/guides/a?language=fr#bees">`, `href="/guides/b?language=fr#hive"`},
		"/guides?q=bees":              {`<h2><a href="/guides/a#bees">`, `href="/guides/b#hive"`},
		"/guides/a?language=tlh":      {`href="/guides/b#hive"`},
		"/guides?q=zxqv&language=sw":  {`href="/guides?language=sw"`},
		`/guides/a?language=sw%22%3E`: {`href="/guides/b#hive"`},
	} {
		body := get(target, "Accept-Language", "ar").Body.String()
		for _, one := range want {
			if !strings.Contains(body, one) {
				t.Errorf("%s lacks %s:\n%s", target, one, body)
			}
		}
		if strings.Contains(target, "language=sw&") || strings.HasSuffix(target, "language=sw") {
			for _, m := range linked.FindAllStringSubmatch(body, -1) {
				u, err := url.Parse(html.UnescapeString(m[1]))
				if err != nil {
					t.Fatal(err)
				}
				page := u.Host == "" && strings.HasPrefix(u.Path, "/guides") && !strings.Contains(u.Path, ".")
				if page != (u.RawQuery == "language=sw") {
					t.Errorf("%s links to %s", target, m[1])
				}
			}
		}
	}
}
