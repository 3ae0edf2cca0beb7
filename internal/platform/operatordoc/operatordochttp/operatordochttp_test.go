package operatordochttp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordochttp"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func serve(t *testing.T) *httpserver.Server {
	t.Helper()
	shelf := operatordoc.NewShelf(operatordocsql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t),
		operatordocsql.Migrations())), operatordoc.Config{})
	for name, text := range map[string]string{"poem": "", "ruled": "set outside"} {
		_, err := operatordoc.Put(shelf, operatordoc.Definition[string]{
			Name: name, Title: "The " + name, Media: "text/plain", Variable: strings.ToUpper(name), MaxBytes: 64, Text: text,
			Parse: func(text []byte, _ operatordoc.Source) (string, error) {
				if strings.HasPrefix(string(text), "bad") {
					return "", errors.New("line 1: it is bad")
				}
				return string(text), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	server, err := httpserver.New(httpserver.Config{OperatorToken: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(operatordochttp.Surface(operatordochttp.Deps{Shelf: shelf, Author: func(*http.Request) string {
		return "Ada"
	}})); err != nil {
		t.Fatal(err)
	}
	return server
}

func ask(t *testing.T, server http.Handler, method, path, body, match string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer hush")
	r.Header.Set("Content-Type", "application/json")
	if match != "" {
		r.Header.Set("If-Match", match)
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

func TestDocumentsAreChangedAndRestored(t *testing.T) {
	t.Parallel()
	server := serve(t)
	const poem = "/operator/documents/poem"
	read := func(path string, into any) http.Header {
		t.Helper()
		w := ask(t, server, "GET", path, "", "")
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
		return w.Header()
	}
	var doc operatordochttp.Document
	if h := read(poem, &doc); h.Get("ETag") != `"0"` || doc.Source != "built in" || doc.ReadOnly {
		t.Errorf("before the first version: %v %+v", h, doc)
	}
	for _, c := range []struct{ method, path, body, match, etag string }{
		{"PUT", poem, `{"text":"roses","note":"a start"}`, `"0"`, `"1"`},
		{"PUT", poem, `{"text":"violets"}`, `"1"`, `"2"`},
		{"DELETE", poem, "", `"2"`, `"3"`},
		{"POST", poem + "/versions/1/restore", `{"note":"back"}`, `"3"`, `"4"`},
		{"POST", poem + "/versions/2/restore", "", `"4"`, `"5"`},
	} {
		if w := ask(t, server, c.method, c.path, c.body, c.match); w.Code != http.StatusOK ||
			w.Header().Get("ETag") != c.etag {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	if h := read(poem, &doc); h.Get("ETag") != `"5"` || doc.Text != "violets" || doc.Version != 5 || doc.Author != "Ada" ||
		doc.Source != "database" {
		t.Errorf("%v %+v", h, doc)
	}
	var history operatordochttp.History
	read(poem+"/versions?limit=2", &history)
	if len(history.Versions) != 2 || history.Next != 4 || history.Versions[1].Note != "back" ||
		history.Versions[1].Restores != 1 {
		t.Errorf("history: %+v", history)
	}
	read(poem+"/versions?before=4", &history)
	if len(history.Versions) != 3 || !history.Versions[0].Removed || history.Versions[2].Note != "a start" {
		t.Errorf("the rest: %+v", history)
	}
	var old operatordochttp.VersionText
	if read(poem+"/versions/1", &old); old.Text != "roses" || old.Size != 5 {
		t.Errorf("version 1: %+v", old)
	}
	var list operatordochttp.DocumentList
	if read("/operator/documents", &list); len(list.Documents) != 2 {
		t.Errorf("list: %+v", list)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	server := serve(t)
	if w := ask(t, server, "PUT", "/operator/documents/poem", `{"text":"roses"}`, `"0"`); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	const wanted = `If-Match must name the version that you changed, as the ETag of GET says it, such as \"3\"`
	for _, c := range []struct {
		name, method, path, body, match string
		status                          int
		says                            string
	}{
		{"no version", "PUT", "poem", `{"text":"x"}`, "", 400, wanted},
		{"any version", "PUT", "poem", `{"text":"x"}`, "*", 400, wanted},
		{"no quotes", "PUT", "poem", `{"text":"x"}`, "1", 400, wanted},
		{"another spelling", "PUT", "poem", `{"text":"x"}`, `"01"`, 400, wanted},
		{"a negative one", "PUT", "poem", `{"text":"x"}`, `"-1"`, 400, wanted},
		{"an old version", "PUT", "poem", `{"text":"x"}`, `"0"`, 412, "Version 1 is the newest by now, written by Ada"},
		{"a bad text", "PUT", "poem", `{"text":"bad"}`, `"1"`, 400, "The poem: line 1: it is bad"},
		{"a large text", "PUT", "poem", `{"text":"` + strings.Repeat("x", 65) + `"}`, `"1"`, 413, "The poem may have at most 64 bytes"},
		{"a long note", "PUT", "poem", `{"text":"x","note":"` + strings.Repeat("x", 501) + `"}`, `"1"`, 400, "note may have at most 500 bytes"},
		{"an unknown member", "PUT", "poem", `{"texts":"x"}`, `"1"`, 400, "texts"},
		{"another document", "PUT", "song", `{"text":"x"}`, `"1"`, 404, "There is no such document; there are"},
		{"a ruled one", "PUT", "ruled", `{"text":"x"}`, `"0"`, 409, `The document \"ruled\" is set by the variable RULED of the server`},
		{"remove a ruled one", "DELETE", "ruled", "", `"0"`, 409, `The document \"ruled\" is set by the variable RULED of the server`},
		{"a version that is not there", "GET", "poem/versions/7", "", "", 404, "There is no version 7, or it is no longer kept"},
		{"no number", "GET", "poem/versions/latest", "", "", 400, "version must be a whole number of at least 1"},
		{"restore what is not there", "POST", "poem/versions/7/restore", "{}", `"1"`, 404, "There is no version 7"},
		{"a bad limit", "GET", "poem/versions?limit=101", "", "", 400, "limit must be a whole number from 1 to 100"},
		{"a bad place", "GET", "poem/versions?before=x", "", "", 400, "before must be a whole number"},
	} {
		if w := ask(t, server, c.method, "/operator/documents/"+c.path, c.body, c.match); w.Code != c.status ||
			!strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/operator/documents", http.NoBody)
	w := httptest.NewRecorder()
	if server.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", w.Code, w.Body)
	}
}
