package filestorehttp_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

var (
	alice = identitytest.Alice
	bob   = identitytest.Bob
)

func cidOf(t *testing.T, content string) string {
	t.Helper()
	c, _, err := cid.Sum(strings.NewReader(content), cid.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.String()
}

func TestContentCarriesItsCID(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		for name, content := range map[string]string{"small": "hello\n", "medium": strings.Repeat("m", 40<<10), "large": strings.Repeat("large ", 1<<19)} {
			created := s.own("POST", "/api/fs/files?path=/"+name, content, "Content-Type: text/x-"+name).want(201)
			f := decode[filestorehttp.FileMetadata](created)
			sum := sha256.Sum256([]byte(content))
			for _, target := range []string{"/api/fs/files/" + f.ID + "/content", "/api/fs/content?path=/" + name, "/api/fs/cid/" + f.CID, "/api/fs/files/" + f.ID + "/versions/1/content"} {
				a := s.own("GET", target, "").want(200)
				got := map[string]string{
					"cid": a.header.Get("X-Vfs-Cid"), "hash": a.header.Get("X-Vfs-Content-Hash"), "version": a.header.Get("X-Vfs-Version"), "type": a.header.Get("Content-Type"),
				}
				want := map[string]string{"cid": cidOf(t, content), "hash": hex.EncodeToString(sum[:]), "version": "1", "type": "text/x-" + name}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s:\n%s", target, diff)
				}
				if a.body != content {
					t.Errorf("%s: other content", target)
				}
			}
		}
		if f := s.put("/p", "x"); !strings.HasPrefix(f.CID, "bafkrei") {
			t.Errorf("small CID %s", f.CID)
		}
	})
}

func TestCIDListHasTheLawsFields(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/docs/a.txt", "one")
	s.put("/docs/b.txt", "one") // equal content is another entry
	list := decode[filestorehttp.CIDList](s.own("GET", "/api/fs/cids", "").want(200))
	want := filestorehttp.CIDEntry{CID: cidOf(t, "one"), ID: f.ID, Path: "/docs/a.txt", Name: "a.txt", Size: 3, MimeType: "text/plain"}
	if len(list.CIDs) != 2 || list.Total != 2 {
		t.Fatalf("got %+v", list)
	}
	if diff := cmp.Diff(want, list.CIDs[0]); diff != "" {
		t.Error(diff)
	}
}

func TestCIDListPaging(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	for _, n := range []string{"/a", "/b", "/c"} {
		s.put(n, n)
	}
	for query, want := range map[string]string{
		"": "/a /b /c", "?limit=2": "/a /b", "?limit=2&offset=2": "/c", "?offset=9": "", "?limit=999999999999999999999": "/a /b /c", "?limit=0": "",
	} {
		var paths []string
		for _, e := range decode[filestorehttp.CIDList](s.own("GET", "/api/fs/cids"+query, "").want(200)).CIDs {
			paths = append(paths, e.Path)
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	for _, bad := range []string{"?limit=-1", "?limit=x", "?offset=-1", "?offset=1e3", "?limit=1.5"} {
		s.own("GET", "/api/fs/cids"+bad, "").want(400)
	}
}

func TestAForeignCIDIsNotConfirmed(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/secret", "alice's")
	s.do(token(t, bob, "*"), "GET", "/api/fs/cid/"+f.CID, "").want(404)
	list := decode[filestorehttp.CIDList](s.do(token(t, bob, "*"), "GET", "/api/fs/cids", "").want(200))
	if list.Total != 0 || len(list.CIDs) != 0 {
		t.Errorf("Bob sees %+v", list)
	}
}

func TestUnparsableCIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	for _, bad := range []string{"x", "bafk", "QmPbpjoVLmQRjNRbepMaJy7uWVFtpYEAYaUFx1eYrhv5L9", "..%2F..", "%00"} {
		s.own("GET", "/api/fs/cid/"+bad, "").want(404)
		s.do(cidToken(t, cidOf(t, "one")), "GET", "/api/fs/cid/"+bad, "").want(403)
	}
}

func TestPathScopeHoldsForEqualContent(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.put("/private/x", "same")
	s.put("/private/y", "other")
	s.put("/public/x", "same")
	scoped := func() string {
		return token(t, alice, "fs/read", identitytest.Can("fs/read", alice.Home("/public")))
	}
	s.do(scoped(), "GET", "/api/fs/cid/"+cidOf(t, "same"), "").want(200)
	s.do(scoped(), "GET", "/api/fs/cid/"+cidOf(t, "other"), "").want(404)
	list := decode[filestorehttp.CIDList](s.do(scoped(), "GET", "/api/fs/cids", "").want(200))
	if list.Total != 1 || list.CIDs[0].Path != "/public/x" {
		t.Errorf("got %+v", list)
	}
	outside := s.own("GET", "/api/fs/stat?path=/private/x", "").want(200)
	id := decode[filestorehttp.FileMetadata](outside).ID
	s.do(scoped(), "GET", "/api/fs/files/"+id+"/content", "").want(404)
	s.do(scoped(), "GET", "/api/fs/content?path=/private/x", "").want(404)
}

// cidToken is a delegation of Alice's that reaches some CIDs alone.
func cidToken(t *testing.T, cids ...string) string {
	t.Helper()
	return token(t, alice, "fs/read", identitytest.CIDs("fs/read", alice.Home(""), cids...))
}

func TestCIDScopedTokenUsesTwoRoutesOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/a", "one")
	for _, r := range []struct{ method, target, body string }{
		{"GET", "/api/fs/tree", ""},
		{"GET", "/api/fs/files", ""},
		{"GET", "/api/fs/folders", ""},
		{"GET", "/api/fs/glob?pattern=/*", ""},
		{"GET", "/api/fs/search?q=one", ""},
		{"GET", "/api/fs/grep?q=one", ""},
		{"GET", "/api/fs/files/" + f.ID, ""},
		{"GET", "/api/fs/files/" + f.ID + "/read", ""},
		{"GET", "/api/fs/files/" + f.ID + "/content", ""},
		{"GET", "/api/fs/content?path=/a", ""},
		{"GET", "/api/fs/stat?path=/a", ""},
		{"POST", "/api/fs/files?path=/n", "x"},
		{"PUT", "/api/fs/files/" + f.ID, "x"},
		{"PUT", "/api/fs/content?path=/a", "x"},
		{"PATCH", "/api/fs/files/" + f.ID + "/edit", `{"oldString":"one","newString":"two"}`},
		{"PATCH", "/api/fs/files/" + f.ID + "/public?public=true", ""},
		{"PUT", "/api/fs/folders/public?path=/&public=true", ""},
		{"POST", "/api/fs/batch/move", `{"items":[]}`},
		{"POST", "/api/fs/batch/delete", `{"ids":[]}`},
		{"POST", "/api/fs/batch/purge", `{"ids":[]}`},
		{"POST", "/api/fs/move", `{}`},
		{"GET", "/api/fs/files/" + f.ID + "/versions", ""},
		{"GET", "/api/fs/files/" + f.ID + "/versions/1/content", ""},
		{"POST", "/api/fs/files/" + f.ID + "/versions/1/restore", ""},
		{"POST", "/api/fs/upload", ""},
		{"GET", "/api/fs/changes", ""},
		{"GET", "/api/fs/usage", ""},
		{"GET", "/api/fs/audit", ""},
		{"GET", "/api/fs/export", ""},
		{"GET", "/api/fs/trash", ""},
		{"GET", "/api/fs/shares", ""},
		{"DELETE", "/api/fs/content?path=/a", ""},
	} {
		if a := s.do(cidToken(t, f.CID), r.method, r.target, r.body); a.status != 403 {
			t.Errorf("%s %s: %d, want 403", r.method, r.target, a.status)
		}
	}
	s.do(cidToken(t, f.CID), "GET", "/api/fs/cid/"+f.CID, "").want(200)
	s.do(cidToken(t, f.CID), "GET", "/api/fs/cids", "").want(200)
}

func TestCIDOutsideTheSetIsForbidden(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	one, two := s.put("/a", "one"), s.put("/b", "two")
	s.do(cidToken(t, one.CID), "GET", "/api/fs/cid/"+two.CID, "").want(403)
	s.do(cidToken(t, one.CID), "GET", "/api/fs/cid/"+cidOf(t, "nowhere"), "").want(403)
	list := decode[filestorehttp.CIDList](s.do(cidToken(t, one.CID), "GET", "/api/fs/cids", "").want(200))
	if list.Total != 1 || list.CIDs[0].CID != one.CID {
		t.Errorf("got %+v", list)
	}
}

func TestGrantedButAbsentCIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	absent := cidOf(t, "nowhere")
	s.do(cidToken(t, absent), "GET", "/api/fs/cid/"+absent, "").want(404)
}

func TestEmptyCIDSetGrantsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/a", "one")
	s.do(cidToken(t), "GET", "/api/fs/cid/"+f.CID, "").want(403)
	list := decode[filestorehttp.CIDList](s.do(cidToken(t), "GET", "/api/fs/cids", "").want(200))
	if list.Total != 0 || len(list.CIDs) != 0 {
		t.Errorf("got %+v", list)
	}
}

func TestCIDSetsIntersectAlongTheChain(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	one, two, three := s.put("/a", "one"), s.put("/b", "two"), s.put("/c", "three")
	grant := identitytest.Delegation(t, alice, bob.DID, identitytest.CIDs("fs/read", alice.Home(""), one.CID, two.CID))
	narrowed := func() string {
		return token(t, bob, "fs/read", identitytest.CIDs("fs/read", alice.Home(""), two.CID, three.CID), identitytest.Proof(grant))
	}
	s.do(narrowed(), "GET", "/api/fs/cid/"+two.CID, "").want(200)
	s.do(narrowed(), "GET", "/api/fs/cid/"+one.CID, "").want(403)
	s.do(narrowed(), "GET", "/api/fs/cid/"+three.CID, "").want(403)
	silent := func() string {
		return token(t, bob, "fs/read", identitytest.Can("fs/read", alice.Home("")), identitytest.Proof(grant))
	}
	s.do(silent(), "GET", "/api/fs/cid/"+one.CID, "").want(200)
	s.do(silent(), "GET", "/api/fs/cid/"+three.CID, "").want(403)
	s.do(silent(), "GET", "/api/fs/tree", "").want(403)
}

func TestCIDSetComposesWithPathScope(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	in, out := s.put("/in/a", "inside"), s.put("/out/a", "outside")
	both := func() string {
		return token(t, alice, "fs/read", identitytest.CIDs("fs/read", alice.Home("/in"), in.CID, out.CID))
	}
	s.do(both(), "GET", "/api/fs/cid/"+in.CID, "").want(200)
	s.do(both(), "GET", "/api/fs/cid/"+out.CID, "").want(404)
	list := decode[filestorehttp.CIDList](s.do(both(), "GET", "/api/fs/cids", "").want(200))
	if list.Total != 1 || list.CIDs[0].Path != "/in/a" {
		t.Errorf("got %+v", list)
	}
}

func TestTokenWithoutCIDsIsUnrestricted(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/a", "one")
	read := func() string { return token(t, alice, "fs/read", identitytest.Can("fs/read", alice.Home(""))) }
	s.do(read(), "GET", "/api/fs/cid/"+f.CID, "").want(200)
	s.do(read(), "GET", "/api/fs/tree", "").want(200)
	s.do(read(), "GET", "/api/fs/files/"+f.ID+"/content", "").want(200)
}

func TestMissingAndBadTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.do("", "GET", "/api/fs/cids", "").want(401)
	s.do("nonsense", "GET", "/api/fs/cids", "").want(401)
	a := s.do(token(t, alice, "fs/list", identitytest.Can("fs/list", alice.Home(""))), "GET", "/api/fs/cids", "").want(403)
	body := decode[map[string]any](a)
	if body["status"] != 403.0 || body["message"] == "" || body["error"] == "" {
		t.Errorf("error body %v", body)
	}
}
