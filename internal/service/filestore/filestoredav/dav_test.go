package filestoredav_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

const propsOfRclone = `<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:prop>
	<d:displayname/><d:getlastmodified/><d:getcontentlength/><d:resourcetype/><d:getcontenttype/><oc:checksums/></d:prop></d:propfind>`

func TestWhoComesIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	got := s.want(401, s.as("", "PROPFIND", "/dav/", nil, "Depth: 1"))
	if challenge := got.Header.Get("Www-Authenticate"); !strings.HasPrefix(challenge, "Basic ") {
		t.Errorf("asked for %q", challenge)
	}
	got = s.want(200, s.as("", "OPTIONS", "/dav/any", nil))
	if got.Header.Get("Dav") != "1, 2" || !strings.Contains(got.Header.Get("Allow"), "PROPFIND") {
		t.Errorf("offered %v", got.Header)
	}
	s.want(207, s.do("PROPFIND", "/dav", "", "Depth: 0")) // without a redirect, which some clients do not follow
	s.want(403, s.do("PROPFIND", "/dav/", "", "Depth: infinity"))
	s.want(403, s.do("PROPFIND", "/dav/", ""))
	s.want(400, s.do("PROPFIND", "/dav/", "", "Depth: 2"))
	s.want(404, s.do("PROPFIND", "/dav/none/", "", "Depth: 1"))
	s.want(400, s.do("GET", "/dav/a/../b", ""))
}

func TestPutKeepsItsConditions(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		first := s.want(201, s.do("PUT", "/dav/f.txt", "one", "Content-Type: text/plain", "If-None-Match: *"))
		tag := first.Header.Get("Etag")
		s.want(412, s.do("PUT", "/dav/f.txt", "two", "If-None-Match: *"))
		s.want(412, s.do("PUT", "/dav/f.txt", "two", `If-Match: "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"`))
		s.want(412, s.do("PUT", "/dav/f.txt", "two", `If: (["other"])`))
		s.want(412, s.do("PUT", "/dav/g.txt", "two", "If-Match: *"))
		s.want(204, s.do("PUT", "/dav/f.txt", "two", "If-Match: "+tag))
		got := s.want(200, s.do("GET", "/dav/f.txt", ""))
		if got.body != "two" || got.Header.Get("X-Vfs-Version") != "2" || got.Header.Get("Etag") == tag {
			t.Errorf("%q %v", got.body, got.Header)
		}
		s.want(206, s.do("GET", "/dav/f.txt", "", "Range: bytes=1-1"))
		s.want(409, s.do("PUT", "/dav/no/folder/f", "x"))
		s.want(400, s.do("PUT", "/dav/part", "x", "Content-Range: bytes 0-0/2"))
		s.want(201, s.do("MKCOL", "/dav/d/", ""))
		s.want(405, s.do("PUT", "/dav/d", "x"))
		s.want(405, s.do("MKCOL", "/dav/f.txt", ""))
		s.want(409, s.do("MKCOL", "/dav/x/y", ""))
		s.want(415, s.do("MKCOL", "/dav/z", "body"))
	})
}

func TestWhatIsSaidOfABody(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.want(400, s.do("PUT", "/dav/f", "hello", "OC-Checksum: SHA1:0000000000000000000000000000000000000000"))
		s.want(400, s.do("PUT", "/dav/f", "hello", "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg=="))
		s.want(400, s.do("PUT", "/dav/f", "hello", "X-OC-Mtime: yesterday"))
		s.want(404, s.do("GET", "/dav/f", ""))
		got := s.want(201, s.do("PUT", "/dav/f", "hello", "OC-Checksum: SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", "X-OC-Mtime: 1000000000"))
		if got.Header.Get("X-Oc-Mtime") != "accepted" {
			t.Errorf("the time was not taken: %v", got.Header)
		}
		shown := func() string { return s.want(207, s.do("PROPFIND", "/dav/", propsOfRclone, "Depth: 1")).body }
		for _, want := range []string{
			"<D:getlastmodified>Sun, 09 Sep 2001 01:46:40 GMT<", "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d MD5:5d41402abc4b2a76b9719d911017c592 SHA256:2cf24dba",
			"<D:getcontentlength>5<", "<D:href>/dav/f</D:href>",
		} {
			if text := shown(); !strings.Contains(text, want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
		if got := s.want(200, s.do("HEAD", "/dav/f", "")); got.Header.Get("Last-Modified") != "Sun, 09 Sep 2001 01:46:40 GMT" {
			t.Errorf("changed %s", got.Header.Get("Last-Modified"))
		}
		s.want(207, s.do("PROPPATCH", "/dav/f", `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><D:lastmodified>1100000000</D:lastmodified></D:prop></D:set></D:propertyupdate>`))
		s.want(201, s.do("COPY", "/dav/f", "", "Destination: "+s.url+"/dav/g"))
		if n := strings.Count(shown(), "Tue, 09 Nov 2004 11:33:20 GMT"); n != 2 {
			t.Errorf("%d files have the time that was set", n)
		}
		// What was said was said of one version.
		w.MustPut(t, alice.DID, "/f", "from elsewhere")
		if text := shown(); strings.Count(text, "SHA1:") != 1 || strings.Count(text, "2004") != 1 {
			t.Errorf("a new version has what was said of the old: %s", text)
		}
	})
}

// A line that is cut in the middle of a PUT leaves what was there.
func TestABrokenPutLeavesNothing(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.want(201, s.do("PUT", "/dav/old", "old"))
		for _, path := range []string{"/dav/old", "/dav/new"} {
			for what, headers := range map[string]string{"length": "Content-Length: 2000000\r\n\r\n", "chunked": "Transfer-Encoding: chunked\r\n\r\nf4240\r\n"} {
				conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				auth := base64.StdEncoding.EncodeToString([]byte("x:" + s.key))
				if _, err := fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nAuthorization: Basic %s\r\n%s%s", path, auth, headers, strings.Repeat("x", 500_000)); err != nil {
					t.Fatal(err)
				}
				if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil ||
					res.StatusCode != http.StatusBadRequest {
					t.Errorf("%s of %s: %v, %v", what, path, res, err)
				} else {
					_ = res.Body.Close()
				}
				_ = conn.Close()
			}
		}
		s.want(404, s.do("GET", "/dav/new", ""))
		if got := s.want(200, s.do("GET", "/dav/old", "")); got.body != "old" || got.Header.Get("X-Vfs-Version") != "1" {
			t.Errorf("left is version %s: %.20q", got.Header.Get("X-Vfs-Version"), got.body)
		}
	})
}

func TestMovesCopiesAndDeletes(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		owner := filestore.Owner(alice.DID)
		to := func(path string) string { return "Destination: " + s.url + path }
		s.want(201, s.do("MKCOL", "/dav/a", ""))
		s.want(201, s.do("PUT", "/dav/a/%C3%BC%20%231.txt", "text"))
		before, err := w.Stat(t.Context(), owner, "/a/ü #1.txt")
		if err != nil {
			t.Fatal(err)
		}
		s.want(201, s.do("MOVE", "/dav/a/", "", to("/dav/b%20b/")))
		if after, err := w.Stat(t.Context(), owner, "/b b/ü #1.txt"); err != nil || after.ID != before.ID {
			t.Errorf("moved to %+v, %v", after, err)
		}
		s.want(201, s.do("COPY", "/dav/b%20b", "", to("/dav/c")))
		s.want(412, s.do("COPY", "/dav/b%20b", "", to("/dav/c"), "Overwrite: F"))
		s.want(204, s.do("COPY", "/dav/b%20b", "", to("/dav/c"), "Overwrite: T"))
		s.want(403, s.do("MOVE", "/dav/c", "", to("/dav/c/d")))
		s.want(403, s.do("MOVE", "/dav/c", "", to("/dav/c")))
		s.want(409, s.do("MOVE", "/dav/c", "", to("/dav/none/d")))
		s.want(502, s.do("MOVE", "/dav/c", "", "Destination: http://elsewhere.example/dav/d"))
		s.want(502, s.do("MOVE", "/dav/c", "", to("/api/fs/d")))
		s.want(400, s.do("MOVE", "/dav/c", ""))
		s.want(404, s.do("MOVE", "/dav/none", "", to("/dav/d")))
		s.want(403, s.do("DELETE", "/dav/", ""))
		s.want(404, s.do("DELETE", "/dav/none", ""))
		s.want(204, s.do("DELETE", "/dav/c/%C3%BC%20%231.txt", ""))
		s.want(207, s.do("PROPFIND", "/dav/c/", "", "Depth: 1")) // an empty folder stays
		s.want(204, s.do("DELETE", "/dav/b%20b", ""))
		s.want(404, s.do("PROPFIND", "/dav/b%20b", "", "Depth: 1"))
		if trash, err := w.Trashed(t.Context(), owner, filestore.Page{Limit: 10}); err != nil || len(trash) != 3 {
			t.Errorf("%d in the trash, %v", len(trash), err)
		}
		// A file can take the place of a folder, in one act.
		s.want(201, s.do("PUT", "/dav/f", "f"))
		s.want(201, s.do("PUT", "/dav/c/x", "x"))
		s.want(204, s.do("MOVE", "/dav/f", "", to("/dav/c")))
		if got := s.want(200, s.do("GET", "/dav/c", "")); got.body != "f" {
			t.Errorf("the file has %q", got.body)
		}
		s.want(404, s.do("GET", "/dav/c/x", ""))
	})
}

func TestAKeyReachesItsScope(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		w.MustPut(t, alice.DID, "/b/secret", "s")
		w.MustPut(t, alice.DID, "/a/.hidden", "h")
		key := s.keyFor("part", identitytest.Can("fs/*", alice.Home("/a")))
		reads := s.keyFor("reads", identitytest.Can("fs/read", alice.Home("/a")))
		put := func(key, path string) reply { return s.as(key, "PUT", path, strings.NewReader("x")) }
		s.want(201, put(key, "/dav/a/x"))
		for _, path := range []string{"/dav/b/secret", "/dav/b/", "/dav/ab", "/dav/a/.hidden"} {
			s.want(404, s.as(key, "GET", path, nil))
			s.want(404, s.as(key, "PROPFIND", path, nil, "Depth: 0"))
			s.want(404, s.as(key, "MOVE", path, nil, "Destination: "+s.url+"/dav/a/y"))
		}
		if got := put(key, "/dav/b/secret").StatusCode; got != 403 && got != 409 {
			t.Errorf("wrote elsewhere: %d", got)
		}
		for _, c := range [][]string{
			{"PUT", "/dav/a/y"},
			{"DELETE", "/dav/a/x"},
			{"MKCOL", "/dav/a/d"},
			{"LOCK", "/dav/a/x"},
			{"PROPPATCH", "/dav/a/x"},
			{"MOVE", "/dav/a/x"},
			{"COPY", "/dav/a/x"},
		} {
			body := ""
			switch c[0] {
			case "LOCK":
				body = `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`
			case "PROPPATCH":
				body = `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="u:"/></prop></set></propertyupdate>`
			}
			s.want(403, s.as(reads, c[0], c[1], strings.NewReader(body), "Destination: "+s.url+"/dav/a/z"))
		}
		text := s.want(207, s.as(reads, "PROPFIND", "/dav/a/", nil, "Depth: 1")).body
		if strings.Contains(text, "hidden") || !strings.Contains(text, "/dav/a/x") {
			t.Errorf("listed %s", text)
		}
		// What a key begins with is there for it, also while it is empty.
		fresh := s.keyFor("fresh", identitytest.Can("fs/*", alice.Home("/n/m")))
		s.want(207, s.as(fresh, "PROPFIND", "/dav/n/m/", nil, "Depth: 1"))
		s.want(201, put(fresh, "/dav/n/m/f"))
	})
}

var lockToken = regexp.MustCompile(`urn:uuid:[0-9a-f-]{36}`)

func TestLocksBindOthers(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		other := s.keyFor("other", identitytest.Can("fs/*", alice.Home("")))
		body := `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>`
		s.want(201, s.do("MKCOL", "/dav/d", ""))
		// What its maker says is told of every file below: a thousand locks of 64 KiB were a page of gigabytes.
		s.want(413, s.do("LOCK", "/dav/d", strings.Replace(body, "me", strings.Repeat("m", davstate.MaxOwner+1), 1)))
		got := s.want(200, s.do("LOCK", "/dav/d", body, "Timeout: Second-600"))
		token := lockToken.FindString(got.Header.Get("Lock-Token"))
		if token == "" || !strings.Contains(got.body, "Second-600") {
			t.Fatalf("locked by %q: %s", token, got.body)
		}
		with := "If: <" + s.url + "/dav/d> (<" + token + ">)"
		s.want(423, s.do("PUT", "/dav/d/f", "x"))
		s.want(423, s.as(other, "PUT", "/dav/d/f", strings.NewReader("x")))
		s.want(423, s.as(other, "PUT", "/dav/d/f", strings.NewReader("x"), with)) // a token is for who got it
		s.want(423, s.as(other, "LOCK", "/dav/d/f", strings.NewReader(body)))
		s.want(423, s.as(other, "DELETE", "/dav/d", nil))
		s.want(201, s.do("PUT", "/dav/d/f", "x", with))
		s.want(409, s.as(other, "UNLOCK", "/dav/d", nil, "Lock-Token: <urn:uuid:x>"))
		part := s.keyFor("part", identitytest.Can("fs/*", alice.Home("/d")))
		s.want(403, s.as(part, "UNLOCK", "/dav/d", nil, "Lock-Token: <"+token+">"))
		s.want(200, s.do("LOCK", "/dav/d", "", "If: (<"+token+">)"))
		if text := s.do("PROPFIND", "/dav/d/f", "", "Depth: 0").body; !strings.Contains(text, token) {
			t.Errorf("the lock of the folder does not show: %s", text)
		}
		// Every node knows of it, and it ends by itself.
		w.Clock.Add(11 * 60 * 1e9)
		s.want(204, s.as(other, "PUT", "/dav/d/f", strings.NewReader("y")))
		s.want(412, s.do("PUT", "/dav/d/f", "z", with))
		// Whoever lost the right to a folder does not keep its owner out: a program that has everything ends the lock.
		token = lockToken.FindString(s.want(200, s.as(part, "LOCK", "/dav/d", strings.NewReader(body))).Header.Get("Lock-Token"))
		s.want(423, s.do("PUT", "/dav/d/f", "z"))
		s.want(204, s.do("UNLOCK", "/dav/d", "", "Lock-Token: <"+token+">"))
		s.want(204, s.do("PUT", "/dav/d/f", "z"))
		// A lock on nothing is an empty file.
		s.want(201, s.do("LOCK", "/dav/new", body, "Depth: 0"))
		if got := s.want(200, s.do("GET", "/dav/new", "")); got.body != "" {
			t.Errorf("it has %q", got.body)
		}
	})
}

// A lock on a folder alone is in the way of what comes there, and not of what is there.
func TestALockedFolderKeepsItsNames(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		other := s.keyFor("other", identitytest.Can("fs/*", alice.Home("")))
		body := `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`
		for _, folder := range []string{"/dav/d", "/dav"} {
			s.do("MKCOL", folder, "")
			s.want(201, s.do("PUT", folder+"/there", "x"))
			s.want(200, s.do("LOCK", folder+"/", body, "Depth: 0"))
			s.want(204, s.as(other, "PUT", folder+"/there", strings.NewReader("y")))
			s.want(423, s.as(other, "PUT", folder+"/new", strings.NewReader("y")))
			s.want(404, s.do("GET", folder+"/new", ""))
			there := filestore.Target{Path: strings.TrimPrefix(folder+"/there", "/dav")}
			if _, err := w.Trash(t.Context(), filestore.Owner(alice.DID), there); err != nil {
				t.Fatal(err)
			}
			s.want(423, s.as(other, "PUT", folder+"/there", strings.NewReader("y"))) // it would come back
		}
	})
}

// during is a body in the middle of which something happens.
type during struct {
	io.Reader
	happens func()
}

func (d *during) Read(p []byte) (int, error) {
	if d.happens != nil {
		d.happens()
		d.happens = nil
	}
	return d.Reader.Read(p)
}

// Whoever sends a body slowly does not write under the lock of somebody who came
// meanwhile, and a lock that comes between the look and any other change is in its way.
func TestALockBindsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		other := s.keyFor("other", identitytest.Can("fs/*", alice.Home("")))
		body := `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>`
		s.want(201, s.do("MKCOL", "/dav/d", ""))
		for _, path := range []string{"/dav/d/there", "/dav/d/new"} {
			if strings.HasSuffix(path, "there") {
				s.want(201, s.do("PUT", path, "mine"))
			}
			r := httptest.NewRequest(http.MethodPut, path, &during{strings.NewReader("theirs"), func() {
				s.do("LOCK", path, body)
			}})
			r.SetBasicAuth("me", other)
			got := httptest.NewRecorder()
			s.server.ServeHTTP(got, r)
			if text := s.do("GET", path, "").body; got.Code != http.StatusLocked || text == "theirs" {
				t.Errorf("%s: %d %s, it has %q", path, got.Code, got.Body, text)
			}
		}

		// The other changes have no body to wait for: they are asked at the service.
		ctx, access := t.Context(), filestore.Owner(alice.DID)
		access.Invoker = "did:key:zOther"
		id := w.MustPut(t, alice.DID, "/d/more", "x").ID
		access.Claims.Places = []filestore.LockPlace{{Path: "/d/there"}}
		ends := folder.Ends{From: "/d/more", To: "/d/moved"}
		for name, change := range map[string]func() error{
			"trash":        func() error { _, err := w.Trash(ctx, access, filestore.Target{ID: id}); return err },
			"trash folder": func() error { _, err := w.Folders.Trash(ctx, access, "/d", filestore.Once{}); return err },
			"move":         func() error { _, err := w.Folders.Move(ctx, access, ends); return err },
			"copy":         func() error { _, err := w.Folders.Copy(ctx, access, ends); return err },
			"make":         func() error { _, _, err := w.Folders.Make(ctx, access, "/d/e"); return err },
		} {
			if err := change(); fault.From(err) == nil || fault.From(err).Code != filestore.CodeLockInTheWay {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// counting counts the queries of folders.
type counting struct {
	*filestoresql.Store
	n atomic.Int64
}

func (c *counting) Entries(ctx context.Context, s filestore.Scope, q folder.EntryQuery) ([]folder.Entry, error) {
	c.n.Add(1)
	return c.Store.Entries(ctx, s, q)
}

func (c *counting) FileAt(ctx context.Context, s filestore.Scope, path string) (folder.Entry, error) {
	c.n.Add(1)
	return c.Store.FileAt(ctx, s, path)
}

func (c *counting) FolderAt(ctx context.Context, s filestore.Scope, path string) (folder.Folder, error) {
	c.n.Add(1)
	return c.Store.FolderAt(ctx, s, path)
}

func TestALargeFolderIsOneQuery(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		store := &counting{Store: w.Store}
		w.Folders = folder.New(w.Service, store)
		s := newSite(t, w)
		fillLarge(t, w)
		got := s.want(207, s.do("PROPFIND", "/dav/large/", propsOfRclone, "Depth: 1"))
		if n := strings.Count(got.body, "<D:response>"); n != largeFiles+1 {
			t.Errorf("%d are listed", n)
		}
		if n := store.n.Load(); n != 1 {
			t.Errorf("%d queries", n)
		}
	})
}

func TestTheQuotaHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t, func(c *filestore.Config) { c.Quota = 10 }))
	s.want(201, s.do("PUT", "/dav/a", "123456"))
	s.want(507, s.do("PUT", "/dav/b", "123456"))
	s.want(507, s.do("COPY", "/dav/a", "", "Destination: "+s.url+"/dav/b"))
	s.want(404, s.do("GET", "/dav/b", ""))
	ask := `<propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>`
	if text := s.do("PROPFIND", "/dav/", ask, "Depth: 0").body; !strings.Contains(text, "<D:quota-available-bytes>4<") ||
		!strings.Contains(text, "<D:quota-used-bytes>6<") {
		t.Errorf("told %s", text)
	}
}

// Properties are no place to keep what the quota refuses.
func TestPropertiesHaveABound(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.want(201, s.do("PUT", "/dav/a", "123456"))
		long := strings.Repeat("v", 30_000)
		for _, c := range []struct {
			change, name string
			status       int
		}{{"set", "one", 207}, {"set", "two", 207}, {"set", "three", 409}, {"set", "one", 207}, {
			"remove", "two", 207,
		}, {"set", "three", 207}} {
			s.want(c.status, s.do("PROPPATCH", "/dav/a",
				`<propertyupdate xmlns="DAV:"><`+c.change+`><prop><`+c.name+` xmlns="u:">`+long+`</`+c.name+`></prop></`+c.change+`></propertyupdate>`))
		}
	})
}

func TestABrowserSeesFolders(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.want(201, s.do("MKCOL", "/dav/d", ""))
	s.want(201, s.do("PUT", "/dav/d/%3Cb%3E&.html", "<script>alert(1)</script>"))
	got := s.want(200, s.do("GET", "/dav/d", ""))
	if strings.Contains(got.body, "<b>") || !strings.Contains(got.body, `href="/dav/d/%3Cb%3E&amp;.html"`) ||
		!strings.Contains(got.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%v %s", got.Header, got.body)
	}
	if got := s.want(200, s.do("GET", "/dav/d/%3Cb%3E&.html", "")); !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("a page of a user is shown: %v", got.Header)
	}
}
