package filestorehttp_test

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func sha256Field(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// What a sender says of its bytes is checked before they are a file.
func TestDigestsOfBodies(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		was := s.put("/f", "what was there")
		for _, content := range []string{"", "small", string(blobtest.Bytes(100_000)), string(blobtest.Bytes(2<<20 + 1))} {
			sum512, sumMD5 := sha512.Sum512([]byte(content)), md5.Sum([]byte(content))
			right := []string{
				"Content-Digest: " + sha256Field(content), "Repr-Digest: " + sha256Field(content),
				"Content-Digest: unixsum=:AAA=:, sha-512=:" + base64.StdEncoding.EncodeToString(sum512[:]) + ":",
				"Content-MD5: " + base64.StdEncoding.EncodeToString(sumMD5[:]),
			}
			other := md5.Sum([]byte("other"))
			for _, wrong := range []string{
				"Content-Digest: " + sha256Field("other"), "Repr-Digest: " + sha256Field("other"),
				"Content-MD5: " + base64.StdEncoding.EncodeToString(other[:]),
			} {
				a := s.own("PUT", "/api/fs/content?path=/f", content, wrong).want(400)
				if !strings.Contains(a.body, "digest_mismatch") || !strings.Contains(a.body, strings.Split(wrong, ":")[0]) {
					t.Errorf("%d bytes, %s: %s", len(content), wrong, a.body)
				}
				s.own("POST", "/api/fs/files?path=/new", content, right[0], wrong).want(400)
				s.own("PUT", "/api/fs/files/"+was.ID, content, wrong, "Idempotency-Key: "+wrong).want(400)
			}
			for _, header := range []string{"Content-Digest: sha-256=xyz", "Content-Digest: unixsum=:AAA=:", "Content-MD5: d41d8cd98f00b204e9800998ecf8427e"} {
				if a := s.own("PUT", "/api/fs/content?path=/f", content, header).want(400); !strings.Contains(a.body, "bad_digest") {
					t.Errorf("%s: %s", header, a.body)
				}
			}
			if a := s.own("GET", "/api/fs/content?path=/f", "").want(200); a.body != "what was there" || a.header.Get("X-Vfs-Version") != "1" {
				t.Fatalf("version %s of %d bytes", a.header.Get("X-Vfs-Version"), len(a.body))
			}
			s.own("GET", "/api/fs/stat?path=/new", "").want(404)
			for _, header := range right {
				s.own("PUT", "/api/fs/content?path=/g", content, header)
			}
			a := s.own("GET", "/api/fs/content?path=/g", "").want(200)
			if a.body != content || a.header.Get("Repr-Digest") != sha256Field(content) || a.header.Get("Content-Digest") != sha256Field(content) {
				t.Errorf("%d bytes: %v", len(content), a.header)
			}
			if head := s.own("HEAD", "/api/fs/content?path=/g", "").want(200); head.header.Get("Repr-Digest") != sha256Field(content) {
				t.Errorf("HEAD: %v", head.header)
			}
			if len(content) > 3 {
				part := s.own("GET", "/api/fs/content?path=/g", "", "Range: bytes=1-2").want(206)
				if part.header.Get("Repr-Digest") != sha256Field(content) || part.header.Get("Content-Digest") != "" {
					t.Errorf("a range: %v", part.header)
				}
			}
		}
	})
}

func TestDigestsOfPartsAndForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	at := s.begin("/up", "Upload-Length: 6")
	if a := s.patch(at, 0, "abc", "Content-Digest: "+sha256Field("abd")).want(400); !strings.Contains(a.body, "digest_mismatch") {
		t.Error(a.body)
	}
	s.patch(at, 0, "abc", "Content-Digest: "+sha256Field("abc")).want(204)
	sum := sha256.Sum256([]byte("def"))
	checksum := "Upload-Checksum: sha256 " + base64.StdEncoding.EncodeToString(sum[:])
	s.patch(at, 3, "def", checksum, "Content-Digest: "+sha256Field("x")).want(400)
	s.patch(at, 3, "def", checksum, "Content-Digest: "+sha256Field("def")).want(200)

	body, header := form(t, formPart{"f", "f.txt", "text/plain", "hello"})
	s.own("POST", "/api/fs/files", body, header, "Content-Digest: "+sha256Field(body)).want(400)
	with := func(digest string) string {
		return strings.Replace(body, "Content-Type: text/plain", "Content-Type: text/plain\r\nContent-Digest: "+digest, 1)
	}
	s.own("POST", "/api/fs/files", with(sha256Field("hullo")), header).want(400)
	s.own("POST", "/api/fs/files", with(sha256Field("hello")), header).want(201)
}

// Damage has a status: of a whole file, of a range, of an export.
func TestDamageHasAStatus(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		content := string(blobtest.Bytes(3 << 20))
		s.put("/d/f", content)
		flipped := blobtest.Healthy()
		flipped.Flip = 2<<20 + 100
		w.Blobs.Set(flipped)
		for _, c := range []struct{ target, header string }{
			{"/api/fs/content?path=/d/f", "Range: bytes=2097152-2097999"},
			{"/api/fs/content?path=/d/f", "Range: bytes=2097152-2097999,3000000-3000001"},
			{"/api/fs/content?path=/d/f", "Range: bytes=2097152-"},
			{"/api/fs/export?path=/d", "Accept: */*"},
			{"/api/fs/export?path=/d/f", "Accept: */*"},
		} {
			a := s.own("GET", c.target, "", c.header).want(500)
			if !strings.Contains(a.body, "corrupt") {
				t.Errorf("%s %s: %s", c.target, c.header, a.body)
			}
			for _, name := range []string{"Content-Range", "Repr-Digest", "Etag", "X-Vfs-Root-Cid", "Content-Disposition"} {
				if a.header.Get(name) != "" {
					t.Errorf("%s %s: the error has %s: %s", c.target, c.header, name, a.header.Get(name))
				}
			}
		}
		if a := s.own("GET", "/api/fs/content?path=/d/f", "", "Range: bytes=100-199").want(206); a.body != content[100:200] {
			t.Error("what is not damaged cannot be read")
		}
		w.Blobs.Set(blobtest.Healthy())
		s.own("GET", "/api/fs/export?path=/d", "").want(200)
	})
}
