package filestorehttp_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// Nothing becomes public, or stays so, by a flag that is missing, misspelt, said
// twice or in the wrong place.
func TestPublishingTakesAClearWord(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		f := s.put("/d/f", "secret")
		routes := map[string]func(query, body string, headers ...string) answer{
			"file": func(query, body string, headers ...string) answer {
				return s.own("PATCH", "/api/fs/files/"+f.ID+"/public?"+query, body, headers...)
			},
			"folder": func(query, body string, headers ...string) answer {
				return s.own("PUT", "/api/fs/folders/public?path=/d&"+query, body, headers...)
			},
		}
		address := func() string {
			return decode[filestorehttp.FileMetadata](s.own("GET", "/api/fs/stat?path=/d/f", "").want(200)).PublicURL
		}
		for name, call := range routes {
			for _, state := range []bool{false, true} {
				if state {
					call("public=true", "").want(200)
				}
				for _, c := range []struct{ query, body, names string }{
					{"", "", "missing"},
					{"publik=false", "", "missing"},
					{"Public=false", "", "missing"},
					{"public=", "", `""`},
					{"public=yes", "", `"yes"`},
					{"public=1", "", `"1"`},
					{"public=TRUE", "", `"TRUE"`},
					{"public=true&public=false", "", "more than once"},
					{"public=true", `{"public":true}`, "more than once"},
					{"", `{"public":true,"public":false}`, "more than once"},
					{"", `{}`, "missing"},
					{"", `{"Public":false}`, `"Public"`},
					{"", `{"publik":false}`, `"publik"`},
					{"public=true", `{"publik":false}`, `"publik"`},
					{"", `{"public":"false"}`, `"false"`},
					{"", `{"public":null}`, "null"},
					{"", `{"public":0}`, "0"},
					{"", `{"public":[true]}`, "array"},
					{"", `false`, "object"},
					{"", `public=false`, "JSON"},
					{"", `{"public":false`, "JSON"},
					{"", `{"public":false} {"public":true}`, "JSON"},
				} {
					a := call(c.query, c.body).want(400)
					if !strings.Contains(a.body, "public") || !strings.Contains(strings.ReplaceAll(a.body, `\"`, `"`), c.names) {
						t.Errorf("%s ?%s %s: the answer does not say %s: %s", name, c.query, c.body, c.names, a.body)
					}
					if at := address(); (at != "") != state {
						t.Fatalf("%s ?%s %s: public is %q now", name, c.query, c.body, at)
					}
				}
			}
			call("", `{"public":false}`, "Content-Type: application/json").want(200)
			if at := address(); at != "" {
				t.Errorf("%s: the body did not end it: %s", name, at)
			}
			call("", ` {"public": true} `).want(200)
			if address() == "" {
				t.Errorf("%s: the body did not publish it", name)
			}
			call("public=false", `{}`).want(200)
		}
	})
}

// An Idempotency-Key that published does not answer for one that ends it.
func TestPublishingByBodyBindsItsKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	at := "/api/fs/files/" + s.put("/f", "x").ID + "/public"
	s.own("PATCH", at, `{"public":true}`, "Idempotency-Key: k").want(200)
	s.own("PATCH", at, `{ "public": true }`, "Idempotency-Key: k").want(200)
	if a := s.own("PATCH", at, `{"public":false}`, "Idempotency-Key: k").want(400); !strings.Contains(a.body, "key_reused") {
		t.Error(a.body)
	}
}

// A member that nobody knows may be a misspelt limit: the request is refused.
func TestMisspeltMembersAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/f", "a")
	for _, c := range []struct{ method, target, body string }{
		{"PATCH", "/api/fs/files/" + f.ID + "/edit", `{"oldString":"a","newString":"b","dry_run":true}`},
		{"POST", "/api/fs/shares", `{"delegation":"x","path":"/f","max_uses":1}`},
		{"POST", "/api/fs/move", `{"from":"/f","to":"/g","override":false}`},
		{"POST", "/api/fs/batch/move", `{"items":[{"id":"` + f.ID + `","destinationPath":"/g","If":"x"}]}`},
		{"POST", "/api/fs/batch/delete", `{"ids":["` + f.ID + `"],"dryRun":true}`},
	} {
		if a := s.own(c.method, c.target, c.body).want(400); !strings.Contains(a.body, "should not exist") {
			t.Errorf("%s %s: %s", c.method, c.target, a.body)
		}
	}
	if a := s.own("GET", "/api/fs/content?path=/f", "").want(200); a.body != "a" {
		t.Errorf("the file has %q", a.body)
	}
}

// What is not plainly a type that cannot run is a download.
func TestDoubtfulMediaTypesAreDownloads(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	for _, c := range []struct{ sent, disposition, served string }{
		{"text/plain", "inline", "text/plain"},
		{"text/plain; charset=utf-8", "inline", "text/plain; charset=utf-8"},
		{"Image/PNG", "inline", "Image/PNG"},
		{"video/mp4", "inline", "video/mp4"},
		{"audio/ogg; codecs=opus", "inline", "audio/ogg; codecs=opus"},
		{"text/html", "attachment", "text/html"},
		{"image/svg+xml", "attachment", "image/svg+xml"},
		{"application/x-test", "attachment", "application/x-test"},
		{"text/plain-html", "attachment", "text/plain-html"},
		{"video/unheard-of", "attachment", "video/unheard-of"},
		{"text/plain, text/html", "attachment", "application/octet-stream"},
		{"text/plain,", "attachment", "application/octet-stream"},
		{"text/plain;charset=utf-8, text/html", "attachment", "application/octet-stream"},
		{"text/plain; charset", "attachment", "application/octet-stream"},
		{"video/../text/html", "attachment", "application/octet-stream"},
		{"text", "attachment", "application/octet-stream"},
		{"text/", "attachment", "application/octet-stream"},
		{"text/plain text/html", "attachment", "application/octet-stream"},
	} {
		s.own("PUT", "/api/fs/content?path=/x", "<b>", "Content-Type: "+c.sent)
		for _, method := range []string{"GET", "HEAD"} {
			a := s.own(method, "/api/fs/content?path=/x", "").want(200)
			kind, _, _ := strings.Cut(a.header.Get("Content-Disposition"), ";")
			if kind != c.disposition || a.header.Get("Content-Type") != c.served || a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %q: %s as %q, want %s as %q", method, c.sent, kind, a.header.Get("Content-Type"), c.disposition, c.served)
			}
		}
	}
	s.own("PUT", "/api/fs/content?path=/twice", "<b>", "Content-Type: text/plain", "Content-Type: text/html").want(201)
	if a := s.own("GET", "/api/fs/content?path=/twice", ""); !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("two media types are served %v", a.header)
	}
}
