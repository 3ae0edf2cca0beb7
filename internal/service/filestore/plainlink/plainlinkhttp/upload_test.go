package plainlinkhttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// dropBox makes a link for uploads.
func (s *site) dropBox(path string, maxBytes, maxFiles int) filestorehttp.PlainLink {
	s.t.Helper()
	text, _ := s.do(201, "POST", "/api/fs/shares/upload", "", fmt.Sprintf(`{"path":%q,"maxBytes":%d,"maxFiles":%d,"expiresAt":%q}`,
		path, maxBytes, maxFiles, s.w.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	var made filestorehttp.PlainLink
	if err := json.Unmarshal([]byte(text), &made); err != nil || !made.Plain || !made.Upload ||
		!strings.HasSuffix(made.URL, "/") {
		s.t.Fatalf("%s: %v", text, err)
	}
	return made
}

// sendForm sends files as name, content, name, content.
func (s *site) sendForm(status int, target, accept string, files ...string) string {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(files); i += 2 {
		part, err := form.CreateFormFile("file", files[i])
		if err != nil {
			s.t.Fatal(err)
		}
		_, _ = part.Write([]byte(files[i+1]))
	}
	if err := form.Close(); err != nil {
		s.t.Fatal(err)
	}
	text, _ := s.do(status, "POST", target, accept, body.String(), "Content-Type", form.FormDataContentType())
	return text
}

// holds fails unless these files, as path and content, are all that Alice has.
func (s *site) holds(files ...string) {
	s.t.Helper()
	alice := filestore.Owner(identitytest.Alice.DID)
	all, err := s.w.ListAfter(s.t.Context(), alice, "", 100)
	if err != nil || len(all) != len(files)/2 {
		s.t.Fatalf("%d files, want %d: %+v %v", len(all), len(files)/2, all, err)
	}
	for i := 0; i < len(files); i += 2 {
		f, o, err := s.w.OpenPath(s.t.Context(), alice, files[i])
		if err != nil {
			s.t.Fatalf("%s: %v", files[i], err)
		}
		body, err := o.Range(0, f.Size)
		if err != nil {
			s.t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		_ = body.Close()
		if err != nil || string(got) != files[i+1] {
			s.t.Errorf("%s is %q, want %q: %v", files[i], got, files[i+1], err)
		}
	}
}

// A link for uploads takes files from forms and as bodies, tells nothing of the
// folder, replaces nothing, and is over when it is full.
func TestALinkForUploads(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		w.MustPut(t, identitytest.Alice.DID, "/in/a.txt", "owner's own")
		l := s.dropBox("/in", 100, 4)
		page, h := s.do(200, "GET", l.URL, browser, "")
		if !strings.Contains(page, `<form method="post" enctype="multipart/form-data">`) || !strings.Contains(page, "4 more, of 100 B") || strings.Contains(page, "a.txt") ||
			strings.Contains(page, "<script") || !strings.Contains(h.Get("Content-Security-Policy"), "form-action 'self'") {
			t.Errorf("%v\n%s", h, page)
		}
		s.do(200, "GET", l.URL+"a.txt", "*/*", "") // the page: whoever sends reads nothing
		text, _ := s.do(201, "PUT", l.URL+"a.txt", "", "first")
		if !strings.Contains(text, `"name":"a.txt"`) || strings.Contains(text, "(2)") || !strings.Contains(text, `"cid":"bafk`) {
			t.Errorf("curl -T is told %s", text)
		}
		page = s.sendForm(200, l.URL, browser, `C:\pictures\a.txt`, "second", ".profile", "third")
		if !strings.Contains(page, "Arrived") || !strings.Contains(page, "1 more, of 84 B") {
			t.Errorf("the form shows\n%s", page)
		}
		s.holds("/in/a.txt", "owner's own", "/in/a (2).txt", "first", "/in/a (3).txt", "second", "/in/_.profile", "third")

		// Too many bytes, with and without a length; the link stays open.
		if text, _ := s.do(413, "PUT", l.URL+"b", "", strings.Repeat("x", 85)); !strings.Contains(text, "link_full") {
			t.Errorf("too large: %s", text)
		}
		if text := s.sendForm(413, l.URL, "*/*", "b", strings.Repeat("x", 85)); !strings.Contains(text, "b: the link does not take") {
			t.Errorf("too large in a form: %s", text)
		}
		s.do(400, "PUT", l.URL+"c", "", "text", "Content-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:")
		if list, _ := s.do(200, "GET", "/api/fs/shares", "", ""); !strings.Contains(list, `"uses":3,"state":"open","plain":true,"upload":true,"maxBytes":100,"bytes":16`) {
			t.Errorf("listed as %s", list)
		}
		// The last file, and one too many: the first stays, the answer tells.
		page = s.sendForm(410, l.URL, browser, "last", "4", "more", "5")
		if !strings.Contains(page, "last") || !strings.Contains(page, "Not everything arrived") || strings.Contains(page, "<form") {
			t.Errorf("the last one shows\n%s", page)
		}
		s.do(410, "PUT", l.URL+"d", "", "x")
		s.do(410, "GET", l.URL, browser, "")
		s.holds("/in/a.txt", "owner's own", "/in/a (2).txt", "first", "/in/a (3).txt", "second", "/in/_.profile", "third", "/in/last", "4")
	})
}

// However many send at once, no more comes than the link takes, and no name is lost.
func TestUploadsSideBySide(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		l := s.dropBox("/new/folder", 40, 100)
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		for range 8 {
			wg.Go(func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, l.URL+"same", strings.NewReader("ten bytes."))
				if err != nil {
					t.Error(err)
					return
				}
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_ = res.Body.Close()
				mu.Lock()
				got[res.StatusCode]++
				mu.Unlock()
			})
		}
		wg.Wait()
		if got[201] != 4 || got[413]+got[410] != 4 {
			t.Errorf("%v", got)
		}
		s.holds("/new/folder/same", "ten bytes.", "/new/folder/same (2)", "ten bytes.", "/new/folder/same (3)", "ten bytes.", "/new/folder/same (4)", "ten bytes.")
	})
}

func TestUploadLinksThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.w.MustPut(t, identitytest.Alice.DID, "/f", "text")
	at := s.w.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for body, status := range map[string]int{
		`{"path":"/in","maxBytes":10}`:                                                400,
		`{"path":"/in","expiresAt":"` + at + `"}`:                                     400,
		`{"path":"/in","maxBytes":-1,"expiresAt":"` + at + `"}`:                       400,
		`{"path":"/in","maxBytes":10,"maxFiles":10001,"expiresAt":"` + at + `"}`:      400,
		`{"path":"/in","maxBytes":10,"maxFiles":-1,"expiresAt":"` + at + `"}`:         400,
		`{"path":"/in","maxBytes":10,"expiresAt":"2001-01-01T00:00:00Z"}`:             400,
		`{"path":"/in/../x","maxBytes":10,"expiresAt":"` + at + `"}`:                  400,
		`{"path":"/f","maxBytes":10,"expiresAt":"` + at + `"}`:                        409,
		`{"path":"/in","maxBytes":10,"expiresAt":"` + at + `","delegation":"bafkxx"}`: 400,
	} {
		s.do(status, "POST", "/api/fs/shares/upload", "", body)
	}
	reading := s.link(`{"path":"/f"}`)
	s.do(403, "PUT", reading.URL, "", "x")
	s.sendForm(403, reading.URL, "*/*", "f", "x")
	l := s.dropBox("/in", 10, 0)
	s.do(400, "PUT", l.URL, "", "no name")
	s.do(400, "POST", l.URL, "", "no form")
	s.sendForm(400, l.URL, "*/*")
	s.sendForm(400, l.URL, "*/*", "", "nothing chosen")
	s.do(201, "PUT", l.URL+"ended", "", "x")
	s.do(204, "DELETE", "/api/fs/shares/"+l.ID, "", "")
	s.do(410, "PUT", l.URL+"ended", "", "x")
	late := s.dropBox("/in", 10, 0)
	s.w.Clock.Add(2 * time.Hour)
	s.do(410, "PUT", late.URL+"late", "", "x")
	s.holds("/f", "text", "/in/ended", "x")
}

// The code of an address is a picture without anything else, and no use of the link.
func TestQRCodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.w.MustPut(t, identitytest.Alice.DID, "/a long name.txt", "text")
	l := s.link(`{"path":"/a long name.txt","maxUses":1}`)
	svg, h := s.do(200, "GET", l.URL+"?qr=1", "*/*", "")
	if !strings.HasPrefix(svg, "<svg ") || h.Get("Content-Type") != "image/svg+xml" || h.Get("Content-Security-Policy") != "default-src 'none'" {
		t.Errorf("%v %s", h, svg)
	}
	if page, _ := s.do(200, "GET", l.URL, browser, ""); !strings.Contains(page, svg) {
		t.Error("the page does not show the code")
	}
	s.do(200, "GET", l.URL, "*/*", "")
	s.do(410, "GET", l.URL+"?qr=1", "*/*", "")
}
