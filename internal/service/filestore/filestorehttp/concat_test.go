package filestorehttp_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

const tusHeader = "Tus-Resumable: 1.0.0"

// piece begins a partial upload and sends all of it.
func (s *site) piece(content string) string {
	s.t.Helper()
	at := s.beginPiece(len(content))
	s.patch(at, 0, content).want(204)
	return at
}

func (s *site) beginPiece(length int) string {
	s.t.Helper()
	a := s.own("POST", "/api/fs/upload", "", tusHeader, "Upload-Concat: partial", fmt.Sprintf("Upload-Length: %d", length)).want(201)
	return strings.TrimPrefix(a.header.Get("Location"), s.url)
}

func (s *site) join(path string, parts ...string) answer {
	s.t.Helper()
	return s.own("POST", "/api/fs/upload", "", tusHeader, "Upload-Concat: final;"+strings.Join(parts, " "),
		"Upload-Metadata: path "+b64(path)+",contentType "+b64("text/x-joined"))
}

func TestPiecesBecomeOneFile(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		content := string(blobtest.Bytes(3<<20 + 4321))
		cuts := []int{0, 1000, 1<<20 + 7, 2 << 20, len(content)}
		var parts []string
		for i := range len(cuts) - 1 {
			parts = append(parts, s.piece(content[cuts[i]:cuts[i+1]]))
		}
		parts = append(parts, s.piece("")) // an empty piece adds nothing
		parts[1] = s.url + parts[1]        // addresses may be absolute
		head := s.own("HEAD", parts[0], "", tusHeader).want(200)
		if head.header.Get("Upload-Concat") != "partial" || head.header.Get("Upload-Offset") != "1000" || head.header.Get("X-Vfs-Cid") != "" {
			t.Errorf("HEAD of a piece: %v", head.header)
		}
		if u := decode[filestorehttp.UsageBody](s.own("GET", "/api/fs/usage", "").want(200)); u.Files != 0 {
			t.Errorf("a piece shows as a file: %+v", u)
		}
		done := s.join("/joined", parts...).want(201)
		if done.header.Get("X-Vfs-Cid") != cidOf(t, content) || done.header.Get("Upload-Length") != strconv.Itoa(len(content)) {
			t.Errorf("final answer %v", done.header)
		}
		at := strings.TrimPrefix(done.header.Get("Location"), s.url)
		a := s.own("GET", "/api/fs/content?path=/joined", "").want(200)
		if a.body != content || a.header.Get("Content-Type") != "text/x-joined" || a.header.Get("X-Vfs-Version") != "1" {
			t.Errorf("the file has %d bytes, %v", len(a.body), a.header)
		}
		// A client that lost the answer asks again, at another node too.
		other := newSite(t, &filestoretest.World{Service: w.Node(), Clock: w.Clock})
		parts[1] = strings.TrimPrefix(parts[1], s.url)
		again := other.join("/joined", parts...).want(201)
		if again.header.Get("X-Vfs-File-Id") != done.header.Get("X-Vfs-File-Id") || !strings.HasSuffix(again.header.Get("Location"), at) {
			t.Errorf("asked again: %v", again.header)
		}
		head = s.own("HEAD", at, "", tusHeader).want(200)
		if !strings.HasPrefix(head.header.Get("Upload-Concat"), "final;/api/fs/upload/") || head.header.Get("Upload-Offset") != strconv.Itoa(len(content)) {
			t.Errorf("HEAD of the joined upload: %v", head.header)
		}
		s.patch(at, len(content), "more").want(403)
		s.patch(at, 0, "more").want(403)
		s.own("HEAD", parts[0], "", tusHeader).want(404) // it takes no room any more
		if v := decode[filestorehttp.FileMetadata](s.own("GET", "/api/fs/stat?path=/joined", "").want(200)); v.Version != 1 {
			t.Errorf("version %d", v.Version)
		}
		s.own("DELETE", at, "", tusHeader).want(204)
		s.own("GET", "/api/fs/content?path=/joined", "").want(200)
	})
}

func TestJoiningIsRefused(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		whole, open, plain := s.piece("whole"), s.beginPiece(9), s.begin("/plain", "Upload-Length: 1")
		if a := s.join("/x", whole, open).want(409); !strings.Contains(a.body, "at 0 of 9") || !strings.Contains(a.body, "upload_not_finished") {
			t.Error(a.body)
		}
		s.join("/x", whole, plain).want(400)
		s.join("/x", whole, "/api/fs/upload/none").want(404)
		s.join("/x", whole, "/elsewhere/x").want(400)
		s.join("/x").want(400)
		s.join("/x", strings.Split(strings.Repeat(whole+" ", 101), " ")[:101]...).want(400)
		s.join("/a/../x", whole).want(400)
		begin := func(headers ...string) answer {
			return s.own("POST", "/api/fs/upload", "", append(headers, tusHeader, "Upload-Metadata: path "+b64("/x"))...)
		}
		for _, concat := range []string{"Partial", "partial;", "final", "", "partial, final"} {
			begin("Upload-Concat: "+concat, "Upload-Length: 3").want(400)
		}
		begin("Upload-Concat: partial", "Upload-Concat: partial", "Upload-Length: 3").want(400)
		begin("Upload-Concat: final;"+whole, "Upload-Length: 5").want(400)
		s.own("POST", "/api/fs/upload", "", tusHeader, "Upload-Concat: final;"+whole).want(400) // no name
		bobs := s.do(token(t, bob, "*"), "POST", "/api/fs/upload", "", tusHeader, "Upload-Concat: final;"+whole, "Upload-Metadata: path "+b64("/x")).want(404)
		if strings.Contains(bobs.body, "whole") {
			t.Error(bobs.body)
		}
		s.own("GET", "/api/fs/content?path=/x", "").want(404)
		s.put("/taken", "earlier")
		s.join("/taken", whole).want(409)
		s.join("/x", whole).want(201) // nothing of this used it up
	})
}

// A token for a folder can do all of it inside, and nothing outside.
func TestPiecesStayInTheirScope(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	folder := func() string {
		return token(t, alice, "fs/write", identitytest.Can("fs/write", alice.Home("/in")))
	}
	a := s.do(folder(), "POST", "/api/fs/upload", "abc", tusHeader, "Upload-Concat: partial", "Upload-Length: 3", "Content-Type: application/offset+octet-stream").want(201)
	at := strings.TrimPrefix(a.header.Get("Location"), s.url)
	if a.header.Get("Upload-Offset") != "3" {
		t.Errorf("with its bytes: %v", a.header)
	}
	join := func(path string) answer {
		return s.do(folder(), "POST", "/api/fs/upload", "", tusHeader, "Upload-Concat: final;"+at, "Upload-Metadata: path "+b64(path))
	}
	join("/out").want(403)
	elsewhere := token(t, alice, "fs/write", identitytest.Can("fs/write", alice.Home("/other")))
	s.do(elsewhere, "HEAD", at, "", tusHeader).want(404)
	join("/in/f").want(201)
}

func TestPiecesCountAgainstTheQuota(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t, func(c *filestore.Config) { c.Quota = 1000 })
	s := newSite(t, w)
	half := strings.Repeat("x", 500)
	one, two := s.piece(half), s.piece(half)
	if a := s.patch(s.beginPiece(1), 0, "x").want(507); !strings.Contains(a.body, "quota_exceeded") {
		t.Error(a.body)
	}
	s.put("/f", "one more")
	s.join("/joined", one, two).want(507)
	s.own("GET", "/api/fs/content?path=/joined", "").want(404)
	f := decode[filestorehttp.FileMetadata](s.own("GET", "/api/fs/stat?path=/f", "").want(200))
	s.own("DELETE", "/api/fs/files/"+f.ID, "").want(200)
	s.own("POST", "/api/fs/batch/purge", `{"ids":["`+f.ID+`"]}`).want(200)
	s.join("/joined", one, two).want(201)
	s.piece(half) // the pieces have made room
}

func TestUploadsSayWhatTheyOffer(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	for _, path := range []string{"/api/fs/upload", "/api/fs/upload/any"} {
		a := s.do("", "OPTIONS", path, "").want(204)
		for name, want := range map[string]string{
			"Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Checksum-Algorithm": "sha256,sha1,md5", "Tus-Max-Size": "5368709120",
			"Tus-Extension": "creation,creation-with-upload,creation-defer-length,termination,checksum,expiration,concatenation",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("OPTIONS %s: %s is %q", path, name, got)
			}
		}
	}
	pre := s.do("", "OPTIONS", "/api/fs/upload", "", "Origin: https://page.example", "Access-Control-Request-Method: POST").want(204)
	if !strings.Contains(pre.header.Get("Access-Control-Allow-Headers"), "Upload-Concat") {
		t.Errorf("preflight: %v", pre.header)
	}
}

// Uppy names a file, not a path.
func TestUploadsTakeAFilename(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	begin := func(query, meta string) answer {
		return s.own("POST", "/api/fs/upload"+query, "abc", tusHeader, "Upload-Length: 3", "Content-Type: application/offset+octet-stream", "Upload-Metadata: "+meta)
	}
	uppy := "relativePath " + b64("null") + ",name " + b64("sea.png") + ",type " + b64("image/png") + ",filetype " + b64("image/png") + ",filename " + b64("sea.png")
	begin("", uppy).want(201)
	begin("?path=/photos/", uppy).want(201)
	begin("?path=/as/called", uppy).want(201)
	begin("", "path "+b64("/meta/")+","+uppy).want(201)
	for _, path := range []string{"/sea.png", "/photos/sea.png", "/as/called", "/meta/sea.png"} {
		if a := s.own("GET", "/api/fs/content?path="+path, "").want(200); a.header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
	begin("", "filetype "+b64("image/png")).want(400)
	begin("", "filename "+b64("../x")).want(400)
	begin("", "filename "+b64("a/b")).want(400)
	begin("", "filename "+b64("..")).want(400)
	begin("", "filename "+b64("y")+",overwrite "+b64("yes")).want(400)
}
