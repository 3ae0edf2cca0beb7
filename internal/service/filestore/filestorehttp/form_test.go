package filestorehttp_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// formPart is a part as browsers and curl -F send it: a field, or a file.
type formPart struct{ field, filename, media, content string }

// form writes the body of a form and the header that announces it.
func form(t *testing.T, parts ...formPart) (body, header string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q", p.field))
		if p.filename != "" {
			h.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q; filename=%q", p.field, p.filename))
		}
		if p.media != "" {
			h.Set("Content-Type", p.media)
		}
		part, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(p.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), "Content-Type: " + w.FormDataContentType()
}

// A form's files are stored, not its envelope.
func TestForms(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		large := string(blobtest.Bytes(2<<20 + 17))
		png := formPart{"file", "sea.png", "image/png", large}
		for i, c := range []struct {
			request string
			parts   []formPart
			path    string
			status  int
		}{
			{"POST /api/fs/files?path=/as/called.png", []formPart{png}, "/as/called.png", 201},
			{"POST /api/fs/files?path=/folder/", []formPart{png}, "/folder/sea.png", 201},
			{"POST /api/fs/files", []formPart{png}, "/sea.png", 201},
			{"POST /api/fs/files", []formPart{{"path", "", "", "/field.png"}, png}, "/field.png", 201},
			{"POST /api/fs/files", []formPart{{"path", "", "", "/field/"}, png}, "/field/sea.png", 201},
			{"PUT /api/fs/content?path=/put.png", []formPart{png}, "/put.png", 201},
			{"PUT /api/fs/content?path=/put.png", []formPart{png}, "/put.png", 200},
			{"PUT /api/fs/files/" + s.put("/by-id", "old").ID, []formPart{png}, "/by-id", 200},
		} {
			method, target, _ := strings.Cut(c.request, " ")
			body, header := form(t, c.parts...)
			a := s.own(method, target, body, header).want(c.status)
			f := decode[filestorehttp.FileMetadata](a)
			if f.Path != c.path || f.MimeType != "image/png" || f.CID != cidOf(t, large) || a.header.Get("X-Vfs-Cid") != f.CID {
				t.Errorf("%d %s: %+v", i, c.request, f)
			}
			if a := s.own("GET", "/api/fs/content?path="+c.path, "").want(200); a.body != large {
				t.Errorf("%s: %d other bytes", c.request, len(a.body))
			}
		}
		s.own(formRequest(s, "POST", "/api/fs/files", png)).want(409)
		body, header := form(t, formPart{"f", "empty.txt", "", ""})
		if f := decode[filestorehttp.FileMetadata](s.own("POST", "/api/fs/files", body, header).want(201)); f.Size != 0 ||
			f.MimeType != "text/plain; charset=utf-8" {
			t.Errorf("an empty file: %+v", f)
		}
	})
}

// formRequest is what own takes to send a form.
func formRequest(s *site, method, target string, parts ...formPart) (m, at, body, header string) {
	body, header = form(s.t, parts...)
	return method, target, body, header
}

func TestFormsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		one, two, three := formPart{"files", "1.txt", "text/plain", "one"}, formPart{"files", "2.txt", "text/plain", "two"},
			formPart{"files", "3.txt", "", "three"}
		list := decode[filestorehttp.FileList](s.own(formRequest(s, "POST", "/api/fs/files?path=/d/", one, two, three)).want(201))
		if got := paths(list.Files); got != "/d/1.txt /d/2.txt /d/3.txt" {
			t.Errorf("stored %q", got)
		}
		// The first that cannot be stored ends it, and the answer says what came before.
		s.put("/e/2.txt", "earlier")
		a := s.own(formRequest(s, "POST", "/api/fs/files?path=/e/", one, two, three)).want(409)
		told := decode[struct {
			Message string
			Stored  []filestorehttp.FileMetadata
		}](a)
		if paths(told.Stored) != "/e/1.txt" || !strings.Contains(told.Message, "2.txt") {
			t.Errorf("a conflict in the middle: %s", a.body)
		}
		if got := paths(decode[filestorehttp.FileList](s.own("GET", "/api/fs/files?path=/e/", "").want(200)).Files); got != "/e/1.txt /e/2.txt" {
			t.Errorf("stored %q", got)
		}
		// One path is not the place of two files.
		if a := s.own(formRequest(s, "PUT", "/api/fs/content?path=/x", one, two)).want(400); !strings.Contains(a.body, `"/x"`) {
			t.Error(a.body)
		}
	})
}

// A key repeats a form as it repeats a body.
func TestFormsWithAKey(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		one, two := formPart{"f", "1.txt", "text/plain", "one"}, formPart{"f", "2.txt", "text/plain", "two"}
		send := func(parts ...formPart) answer {
			body, header := form(t, parts...)
			return s.own("POST", "/api/fs/files?path=/d/", body, header, "Idempotency-Key: k")
		}
		first := send(one, two).want(201)
		again := send(one, two).want(201)
		if diff := cmp.Diff(first.body, again.body); diff != "" {
			t.Error(diff)
		}
		other := two
		other.content = "2"
		if a := send(one, other).want(400); !strings.Contains(a.body, "key_reused") {
			t.Error(a.body)
		}
		if f := decode[filestorehttp.FileMetadata](s.own("GET", "/api/fs/stat?path=/d/2.txt", "").want(200)); f.Version != 1 {
			t.Errorf("version %d", f.Version)
		}
	})
}

func TestFormsAreRefused(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t, func(c *filestore.Config) { c.Quota = 100_000; c.MaxUpload = 50_000 })
	s := newSite(t, w)
	file := formPart{"file", "f", "", "x"}
	for name, c := range map[string]struct {
		parts  []formPart
		status int
		names  string
	}{
		"no file":              {[]formPart{{"path", "", "", "/x"}}, 400, "no file"},
		"nothing":              {nil, 400, ""},
		"an unknown field":     {[]formPart{{"public", "", "", "false"}, file}, 400, "public"},
		"two paths":            {[]formPart{{"path", "", "", "/a"}, {"path", "", "", "/b"}, file}, 400, "path"},
		"a path after a file":  {[]formPart{file, {"path", "", "", "/a"}}, 400, "before"},
		"a filename that goes": {[]formPart{{"file", "..", "", "x"}}, 400, "path"},
		"a long path":          {[]formPart{{"path", "", "", "/" + strings.Repeat("x", 5000)}, file}, 400, "path"},
		"too large":            {[]formPart{{"file", "big", "", strings.Repeat("x", 50_001)}}, 413, "50000"},
	} {
		a := s.own(formRequest(s, "POST", "/api/fs/files", c.parts...)).want(c.status)
		if !strings.Contains(a.body, c.names) {
			t.Errorf("%s: %s", name, a.body)
		}
		if name == "a path after a file" { // what was stored before it is told
			s.own("DELETE", "/api/fs/content?path=/f", "").want(200)
		}
	}
	body, header := form(t, file)
	s.own("POST", "/api/fs/files?path=/cut", body[:len(body)-12], header).want(400)
	s.own("POST", "/api/fs/files?path=/cut", body, "Content-Type: multipart/form-data").want(400)
	s.own("POST", "/api/fs/files?path=/cut", body, `Content-Type: multipart/form-data; boundary="`+strings.Repeat("b", 71)+`"`).want(400)
	encoded := strings.Replace(body, "\r\n\r\n", "\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1)
	s.own("POST", "/api/fs/files?path=/cut", encoded, header).want(400)
	many := make([]formPart, 101)
	for i := range many {
		many[i] = formPart{"path", "", "", ""}
	}
	s.own(formRequest(s, "POST", "/api/fs/files", many...)).want(400)
	if got := paths(decode[filestorehttp.FileList](s.own("GET", "/api/fs/files", "").want(200)).Files); got != "" {
		t.Errorf("stored %q", got)
	}
	s.own(formRequest(s, "POST", "/api/fs/files?path=/q/", formPart{"f", "1", "", strings.Repeat("x", 49_000)},
		formPart{"f", "2", "", strings.Repeat("y", 49_000)}, formPart{"f", "3", "", strings.Repeat("z", 3000)})).want(507)
	if got := paths(decode[filestorehttp.FileList](s.own("GET", "/api/fs/files", "").want(200)).Files); got != "/q/1 /q/2" {
		t.Errorf("stored beyond the quota: %q", got)
	}
}
