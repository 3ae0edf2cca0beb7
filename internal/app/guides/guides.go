// Package guides serves the documentation that is built into the program, as pages
// that people read and search.
//
// Pages are made from Markdown whose raw HTML is left out, under a policy that runs no
// script and loads nothing from elsewhere. A search is a form and needs no script
// either. The guides are in English; what stands around them is in the reader's
// language (platform/words). What there is to read says nothing about this deployment, so anybody may.
//
// They are of the release that runs, and in reach where a community has no way to
// the internet: that is why they are built in (0.8 MB with pictures), and answers
// link here. Pages are drawn, and the index is made, when somebody first asks.
// Anchors are those of forges, so that a link works in both places. Decisions
// (docs/adr) are not served: links to them lead to the repository.
package guides

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/guidebook"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/httpserver/steady"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
)

//go:embed page
var pageFiles embed.FS

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const (
	maxQuery = 400 // bytes of a search
	maxWords = 12  // that are looked for: each costs about as much as the rest together, and anybody may ask
	maxHits  = 10
)

// book is the documentation, read when somebody first asks for it.
type book struct {
	name   string // of the oracle
	docs   fs.FS
	frame  *template.Template
	pages  wordshttp.Speaker
	shelf  map[string]func() (map[string]page, error) // by the language that the address asks for
	search func() (*textindex.Small, error)
}

// Surface returns the pages' routes. name is the oracle's, docs the tree below docs.
func Surface(name string, docs fs.FS, pages wordshttp.Speaker) (httpserver.Surface, error) {
	frame, err := template.ParseFS(pageFiles, "page/frame.html")
	if err != nil {
		return httpserver.Surface{}, fmt.Errorf("read frame of guides: %w", err)
	}
	b := &book{name: name, docs: docs, frame: frame, pages: pages}
	b.shelf = map[string]func() (map[string]page, error){}
	for _, asked := range pages.Asks() {
		b.shelf[asked] = sync.OnceValues(func() (map[string]page, error) { return drawAll(docs, asked) })
	}
	b.search = sync.OnceValues(func() (*textindex.Small, error) {
		all, err := guidebook.Passages(docs)
		if err != nil {
			return nil, err
		}
		// The list of pages says every word and explains none.
		all = slices.DeleteFunc(all, func(p textindex.Passage) bool { return p.Document == guidebook.Page("") })
		return textindex.NewSmall(all, analyse.Everyday())
	})
	route := func(pattern, summary, doc string, handler httpserver.Handler, params ...httpserver.Param) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: pattern, Auth: httpserver.Public, Limit: httpserver.LimitPages, Quiet: true,
			Tags:    []string{"Guides"},
			Summary: summary, Doc: doc, Params: params, Handler: handler,
			Replies: []httpserver.Reply{{Status: http.StatusOK, Media: "text/html"}},
		}
	}
	query := httpserver.Param{Name: "q", In: "query", Doc: "Words to look for, or a question; without it the list of pages is shown."}
	hidden := route("/guides/", "", "", b.serveStart)
	hidden.Hidden = true
	return httpserver.Surface{Name: "guides", Doc: "The documentation of this program, to read and to search.", Routes: []httpserver.Route{
		route("/guides", "Guides", "The list of pages, or what was found for `q`.", b.serveStart, query), hidden,
		route("/guides/{path...}", "A guide", "One page, such as `start` or `reference/config`, or a picture of one.", b.servePage),
	}}, nil
}

// shown is what the frame is filled with.
type shown struct {
	wordshttp.Page
	Oracle, Title, Query string
	Guide                page
	Found                []found
	Searched             bool
}

// Nothing says that a search found nothing.
func (s shown) Nothing() string {
	return s.Language.Say("guides.nothing", words.Values{"query": s.Query})
}

// found is one passage that a search found.
type found struct {
	Title, Address string
	Text           template.HTML
}

func (b *book) serveStart(w http.ResponseWriter, r *http.Request) error {
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	if query == "" {
		return b.servePage(w, r)
	}
	if len(query) > maxQuery {
		return fault.New(fault.Invalid, "The search is too long.")
	}
	index, err := b.search()
	if err != nil {
		return err
	}
	result, err := index.Search(r.Context(), firstWords(query), maxHits)
	if err != nil {
		return err
	}
	in := b.pages.Choose(w, r)
	body := shown{Page: in, Oracle: b.name, Title: in.Say("guides.search"), Query: query, Searched: true}
	for _, h := range result.Hits {
		text, err := drawPassage(h.Document, h.Text, in.Asked)
		if err != nil {
			return err
		}
		to := address(h.Document, "#"+string(h.Meta), in.Asked)
		body.Found = append(body.Found, found{Title: strings.ReplaceAll(h.Title, "`", ""), Address: to, Text: text})
	}
	return b.write(w, r, body)
}

// firstWords cuts a search behind its first words, however they are separated.
func firstWords(query string) string {
	count, inside := 0, false
	for i, r := range query {
		is := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if is && !inside {
			if count++; count > maxWords {
				return query[:i]
			}
		}
		inside = is
	}
	return query
}

func (b *book) servePage(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("path")
	if name == "style.css" {
		return b.serveFile(w, r, pageFiles, "page/style.css")
	}
	if path.Dir(name) == "images" {
		return b.serveFile(w, r, b.docs, name)
	}
	in := b.pages.Choose(w, r)
	all, err := b.shelf[in.Asked]()
	if err != nil {
		return err
	}
	p, ok := all[guidebook.Page(strings.TrimSuffix(name, ".md"))]
	if !ok {
		return httpserver.NotFound(r)
	}
	return b.write(w, r, shown{Page: in, Oracle: b.name, Title: p.Title, Guide: p})
}

func (b *book) write(w http.ResponseWriter, r *http.Request, body shown) error {
	var out bytes.Buffer
	if err := b.frame.Execute(&out, body); err != nil {
		return fmt.Errorf("draw page of guides: %w", err)
	}
	w.Header().Set("Content-Security-Policy", policy)
	return steady.Serve(w, r, "text/html; charset=utf-8", out.Bytes())
}

// media are the files that pages have.
var media = map[string]string{".css": "text/css; charset=utf-8", ".png": "image/png", ".svg": "image/svg+xml"}

func (b *book) serveFile(w http.ResponseWriter, r *http.Request, files fs.FS, name string) error {
	data, err := fs.ReadFile(files, name)
	if err != nil || media[path.Ext(name)] == "" {
		return httpserver.NotFound(r)
	}
	w.Header().Set("Content-Security-Policy", policy)
	return steady.Serve(w, r, media[path.Ext(name)], data)
}
