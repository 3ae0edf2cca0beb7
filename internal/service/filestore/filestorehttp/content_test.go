package filestorehttp_test

import (
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func TestRanges(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		content := string(blobtest.Bytes(3 << 20))
		s.put("/big", content)
		for header, want := range map[string]string{
			"bytes=0-0": content[:1], "bytes=65479-65481": content[65479:65482], "bytes=1000000-2500000": content[1000000:2500001], "bytes=-5": content[len(content)-5:],
			"bytes=3145000-": content[3145000:], "bytes=3145727-9999999": content[3145727:],
		} {
			a := s.own("GET", "/api/fs/content?path=/big", "", "Range: "+header).want(206)
			if a.body != want {
				t.Errorf("%s: %d bytes, want %d", header, len(a.body), len(want))
			}
			if a.header.Get("X-Vfs-Cid") == "" {
				t.Errorf("%s: no CID", header)
			}
		}
		s.own("GET", "/api/fs/content?path=/big", "", "Range: bytes=9999999-").want(416)
		multi := s.own("GET", "/api/fs/content?path=/big", "", "Range: bytes=0-9,100-109").want(206)
		_, params, err := mime.ParseMediaType(multi.header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		r := multipart.NewReader(strings.NewReader(multi.body), params["boundary"])
		for _, want := range []string{content[:10], content[100:110]} {
			p, err := r.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := io.ReadAll(p); string(b) != want {
				t.Errorf("part: %d bytes", len(b))
			}
		}
		head := s.own("HEAD", "/api/fs/content?path=/big", "").want(200)
		if head.header.Get("Content-Length") != "3145728" || head.body != "" {
			t.Errorf("HEAD: %v", head.header)
		}
	})
}

// Many ranges cost no more than the whole content, which is sent instead.
func TestManyRangesAreFew(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		content := string(blobtest.Bytes(3 << 20))
		s.put("/big", content)
		var reads atomic.Int64
		plan := blobtest.Healthy()
		plan.Reading = func(context.Context) { reads.Add(1) }
		w.Blobs.Set(plan)
		get := func(header string) answer {
			reads.Store(0)
			return s.own("GET", "/api/fs/content?path=/big", "", "Range: "+header)
		}
		single := func(n, step int) string {
			specs := make([]string, n)
			for i := range specs {
				specs[i] = fmt.Sprintf("%d-%d", i*step, i*step)
			}
			return "bytes=" + strings.Join(specs, ",")
		}
		get("none=1").want(200)
		whole := reads.Load()
		for _, header := range []string{
			single(9000, 110), single(17, 10_000), single(1001, 1), "bytes=" + strings.Repeat("0-,", 20_000) + "0-", "lines=0-4", "seconds=1-", "bytes",
		} {
			a := get(header).want(200)
			if a.body != content || a.header.Get("Content-Range") != "" || a.header.Get("Content-Length") != "3145728" {
				t.Errorf("%.40s: %d bytes, %v", header, len(a.body), a.header)
			}
			if n := reads.Load(); n > 2*whole { // a network gives pieces as they come
				t.Errorf("%.40s: %d reads, %d for the whole content", header, n, whole)
			}
		}
		for header, want := range map[string]string{
			single(900, 1): content[:900], "bytes=5-9,0-4,7-20": content[:21], "bytes=0-,0-,1-": content, "BYTES=3-4": content[3:5], "bytes=1-2,9999999-": content[1:3],
		} {
			if a := get(header).want(206); a.body != want || !strings.HasPrefix(a.header.Get("Content-Range"), "bytes ") {
				t.Errorf("%.40s: %d bytes, want %d; %v", header, len(a.body), len(want), a.header)
			}
		}
		if a := get(single(16, 100_000)).want(206); !strings.HasPrefix(a.header.Get("Content-Type"), "multipart/byteranges") || reads.Load() > 16*whole {
			t.Errorf("16 ranges: %d reads, %v", reads.Load(), a.header)
		}
		for _, header := range []string{"bytes=2-1", "bytes=a-b", "bytes=9999999-"} {
			get(header).want(416)
		}
	})
}

func TestConditions(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	one := s.put("/f", "one")
	get := func(header string) int { return s.own("GET", "/api/fs/content?path=/f", "", header).status }
	if got := get(`If-None-Match: "` + one.CID + `"`); got != 304 {
		t.Errorf("unchanged: %d", got)
	}
	if got := get(`If-None-Match: "other"`); got != 200 {
		t.Errorf("changed: %d", got)
	}
	put := func(header string) answer {
		return s.own("PUT", "/api/fs/content?path=/f", "two", header)
	}
	conflict := decode[map[string]any](put(`If-Match: "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"`).want(412))
	if conflict["cid"] != one.CID || conflict["version"] != 1.0 {
		t.Errorf("a conflict names what is there: %v", conflict)
	}
	put("If-None-Match: *").want(412)
	put(`If-Match: "` + one.CID + `"`).want(200)
	put(`If-Match: "` + one.CID + `"`).want(412)
	s.own("PUT", "/api/fs/content?path=/new", "x", "If-Match: *").want(412)
	s.own("PUT", "/api/fs/content?path=/new", "x", "If-None-Match: *").want(201)
	s.own("PUT", "/api/fs/content?path=/new", "x", "If-Match: unquoted").want(400)
}

// Whoever asks for a state gets that state or none, whole or in ranges.
func TestReadingOnlyWhatIsExpected(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	old := s.put("/f", "one")
	f := s.put("/f", "two")
	for _, target := range []string{"/content?path=/f", "/files/" + f.ID + "/content", "/cid/" + f.CID} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, c := range []struct {
				match  string
				status int
			}{{`"` + f.CID + `"`, 200}, {`"x", "` + f.CID + `"`, 200}, {"*", 200}, {`"` + old.CID + `"`, 412}} {
				s.own(method, "/api/fs"+target, "", "If-Match: "+c.match).want(c.status)
				if c.status == 200 {
					c.status = 206
				}
				s.own(method, "/api/fs"+target, "", "If-Match: "+c.match, "Range: bytes=0-0").want(c.status)
			}
			s.own(method, "/api/fs"+target, "", "If-Match: unquoted").want(400)
		}
	}
	a := s.own("GET", "/api/fs/content?path=/f", "", `If-Match: "`+old.CID+`"`)
	if a.header.Get("Etag") != "" || !strings.Contains(a.body, f.CID) {
		t.Errorf("refused with %v: %s", a.header, a.body)
	}
	s.own("GET", "/api/fs/files/"+f.ID+"/versions/1/content", "", `If-Match: "`+old.CID+`"`).want(200)
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		first := s.own("POST", "/api/fs/files?path=/once", "x", "Idempotency-Key: k1").want(201)
		again := s.own("POST", "/api/fs/files?path=/once", "x", "Idempotency-Key: k1").want(201)
		if first.body != again.body {
			t.Errorf("another answer:\n%s\n%s", first.body, again.body)
		}
		s.own("POST", "/api/fs/files?path=/other", "x", "Idempotency-Key: k1").want(400)
		s.own("POST", "/api/fs/files?path=/once", "x").want(409)
		id := decode[filestorehttp.FileMetadata](first).ID
		move := `{"items":[{"id":"` + id + `","destinationPath":"/moved"}]}`
		for range 2 {
			r := decode[filestorehttp.BatchResult](s.own("POST", "/api/fs/batch/move", move, "Idempotency-Key: k2").want(200))
			if r.Succeeded != 1 || r.Results[0].Path != "/moved" {
				t.Errorf("move: %+v", r)
			}
		}
		if v := decode[filestorehttp.VersionList](s.own("GET", "/api/fs/files/"+id+"/versions", "").want(200)); len(v.Versions) != 1 {
			t.Errorf("%d versions", len(v.Versions))
		}
	})
}

func TestBrowsersDoNotRunContent(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.own("PUT", "/api/fs/content?path=/x.html", "<script>alert(1)</script>", "Content-Type: text/html").want(201)
	f := decode[filestorehttp.FileMetadata](s.own("GET", "/api/fs/stat?path=/x.html", "").want(200))
	public := decode[filestorehttp.PublicState](s.own("PATCH", "/api/fs/files/"+f.ID+"/public?public=true", "").want(200))
	at := strings.TrimPrefix(public.PublicURL, s.url)
	for _, a := range []answer{s.own("GET", "/api/fs/content?path=/x.html", ""), s.do("", "GET", at, "")} {
		a.want(200)
		if !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") || a.header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("headers %v", a.header)
		}
	}
	s.own("PATCH", "/api/fs/files/"+f.ID+"/public?public=false", "").want(200)
	s.do("", "GET", at, "").want(404)
	s.do("", "GET", "/public/id/", "").want(404)
}

// The name says what a file is when its sender does not; curl's --data-binary
// calls every body a form, which says nothing.
func TestMediaType(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	s := newSite(t, filestoretest.Embedded(t))
	for _, c := range []struct{ path, sent, want string }{
		{"/a.json", form, "application/json"},
		{"/b.json", "Application/X-WWW-Form-Urlencoded; charset=utf-8", "application/json"},
		{"/c.PNG", "", "image/png"},
		{"/no-extension", form, "application/octet-stream"},
		{"/d.unheard-of", "", "application/octet-stream"},
		{"/e.json", "text/x-mine", "text/x-mine"},
		{"/e.json", form, "text/x-mine"}, // a file keeps what it was said to be
	} {
		var headers []string
		if c.sent != "" {
			headers = append(headers, "Content-Type: "+c.sent)
		}
		f := decode[filestorehttp.FileMetadata](s.own("PUT", "/api/fs/content?path="+c.path, "{}", headers...))
		if f.MimeType != c.want {
			t.Errorf("%s sent as %q: %q, want %q", c.path, c.sent, f.MimeType, c.want)
		}
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/e", "a b a")
	edit := func(body string) answer {
		return s.own("PATCH", "/api/fs/files/"+f.ID+"/edit", body, "Content-Type: application/json")
	}
	if a := edit(`{"oldString":"x","newString":"y"}`).want(409); !strings.Contains(a.body, "oldString not found") {
		t.Error(a.body)
	}
	if a := edit(`{"oldString":"a","newString":"y"}`).want(409); !strings.Contains(a.body, "appears 2 times") {
		t.Error(a.body)
	}
	r := decode[filestorehttp.EditResult](edit(`{"oldString":"a","newString":"c","replaceAll":true}`).want(200))
	if r.Replacements != 2 || r.Version != 2 {
		t.Errorf("%+v", r)
	}
	if a := s.own("GET", "/api/fs/content?path=/e", ""); a.body != "c b c" {
		t.Error(a.body)
	}
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/l", "one\ntwo\nthree")
	read := func(query string) answer { return s.own("GET", "/api/fs/files/"+f.ID+"/read"+query, "") }
	got := decode[filestorehttp.LineWindow](read("?offset=2&limit=1").want(200))
	if got != (filestorehttp.LineWindow{Text: "     2\ttwo\n", Offset: 2, Count: 1, HasMore: true, TotalLines: 3}) {
		t.Errorf("%+v", got)
	}
	read("?offset=0").want(400)
	read("?limit=x").want(400)
	bin := s.put("/b", "a\x00b")
	s.own("GET", "/api/fs/files/"+bin.ID+"/read", "").want(415)
}

// A folder's dot-folders are not published along with it, since nobody sees them
// there; ending it ends all.
func TestPublicFolders(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.put("/site/index.html", "hello")
	s.put("/site/pages/one.html", "one")
	s.put("/site/.git/config", "secret")
	s.put("/other/x", "x")
	s.put("/.well/known/a", "a")
	state := func(path string, public bool, count int) {
		t.Helper()
		got := decode[filestorehttp.PublicState](s.own("PUT", fmt.Sprintf("/api/fs/folders/public?path=%s&public=%t", path, public), "").want(200))
		if got.Public != public || got.Count != count {
			t.Errorf("%s, %t: %+v, want %d", path, public, got, count)
		}
	}
	address := func(path string) string {
		t.Helper()
		return decode[filestorehttp.FileMetadata](s.own("GET", "/api/fs/stat?path="+path, "").want(200)).PublicURL
	}
	state("/site", true, 2)
	for path, public := range map[string]bool{"/site/index.html": true, "/site/pages/one.html": true, "/site/.git/config": false, "/other/x": false} {
		if at := address(path); (at != "") != public {
			t.Errorf("%s is at %q", path, at)
		}
	}
	state("/.well/known", true, 1) // whoever names it, means it
	state("/site/.git", true, 1)
	state("/site", false, 3)
	for _, path := range []string{"/site/index.html", "/site/.git/config"} {
		if at := address(path); at != "" {
			t.Errorf("%s is still at %q", path, at)
		}
	}
	s.own("PUT", "/api/fs/folders/public?path=/nowhere&public=true", "").want(404)
}

// One name has one spelling, however a keyboard composes it; capitals are other
// letters.
func TestNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		composed, apart := "/caf%C3%A9/x", "/cafe%CC%81/x"
		s.own("PUT", "/api/fs/content?path="+apart, "one").want(201)
		s.own("PUT", "/api/fs/content?path="+composed, "two", "If-None-Match: *").want(412)
		if got := s.own("GET", "/api/fs/content?path="+composed, "").want(200).body; got != "one" {
			t.Errorf("composed: %q", got)
		}
		s.own("PUT", "/api/fs/content?path=/CAF%C3%89/x", "capital").want(201)
		s.own("PUT", "/api/fs/content?path=/cafe/x", "plain").want(201)
		if list := decode[filestorehttp.FileList](s.own("GET", "/api/fs/files", "").want(200)); len(list.Files) != 3 {
			t.Errorf("%d files", len(list.Files))
		}
		folder := token(t, alice, "fs/read", identitytest.Can("fs/read", alice.Home("/café")))
		s.do(folder, "GET", "/api/fs/content?path="+apart, "").want(200)
		s.do(token(t, alice, "fs/read", identitytest.Can("fs/read", alice.Home("/café"))), "GET", "/api/fs/content?path=/cafe/x", "").want(404)
	})
}
