package filestorehttp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// Content that the owner names is shown also when it is a dot-file's; a delegate
// cannot name it by itself.
func TestContentThatTheOwnerNames(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		secret, other, open := s.put("/.private/key", "secret"), s.put("/.private/other", "other"), s.put("/open", "open")
		home := alice.Home("")
		cids := func(list ...string) string {
			text, err := json.Marshal(map[string]any{"cids": list})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		read := identitytest.Can("fs/read", home)
		named := identitytest.Delegation(t, alice, bob.DID, identitytest.CanNB("fs/read", home, cids(secret.CID, open.CID)))
		plain := identitytest.Delegation(t, alice, bob.DID, read)
		below := identitytest.Delegation(t, alice, bob.DID, identitytest.CanNB("fs/read", alice.Home("/elsewhere"), cids(secret.CID)))
		again := identitytest.Delegation(t, bob, identitytest.Carol.DID, read, identitytest.Proof(named))
		added := identitytest.Delegation(t, bob, identitytest.Carol.DID,
			identitytest.CanNB("fs/read", home, cids(secret.CID)), identitytest.Proof(plain))
		for name, c := range map[string]struct {
			token  func() string
			status map[string]int
			listed string
		}{
			"named by the owner": {
				func() string { return token(t, bob, "", read, identitytest.Proof(named)) },
				map[string]int{secret.CID: 200, open.CID: 200, other.CID: 403},
				"/.private/key /open",
			},
			"narrowed by the delegate": {
				func() string {
					return token(t, bob, "", identitytest.CanNB("fs/read", home, cids(open.CID, other.CID)), identitytest.Proof(named))
				},
				map[string]int{secret.CID: 403, open.CID: 200, other.CID: 403},
				"/open",
			},
			"passed on": {
				func() string { return token(t, identitytest.Carol, "", read, identitytest.Proof(again)) },
				map[string]int{secret.CID: 200, open.CID: 200},
				"/.private/key /open",
			},
			"named by the delegate alone": {
				func() string {
					return token(t, bob, "", identitytest.CanNB("fs/read", home, cids(secret.CID)), identitytest.Proof(plain))
				},
				map[string]int{secret.CID: 404},
				"",
			},
			"named by a delegate in between": {
				func() string { return token(t, identitytest.Carol, "", read, identitytest.Proof(added)) },
				map[string]int{secret.CID: 404},
				"",
			},
			"named, and outside the folder": {
				func() string {
					return token(t, bob, "", identitytest.Can("fs/read", alice.Home("/elsewhere")), identitytest.Proof(below))
				},
				map[string]int{secret.CID: 404},
				"",
			},
		} {
			for cid, status := range c.status {
				if a := s.do(c.token(), "GET", "/api/fs/cid/"+cid, ""); a.status != status {
					t.Errorf("%s: %s is %d, want %d: %s", name, cid, a.status, status, a.body)
				}
			}
			var listed []string
			for _, e := range decode[filestorehttp.CIDList](s.do(c.token(), "GET", "/api/fs/cids", "").want(200)).CIDs {
				listed = append(listed, e.Path)
			}
			if got := strings.Join(listed, " "); got != c.listed {
				t.Errorf("%s: lists %q, want %q", name, got, c.listed)
			}
		}
	})
}

// A link says what became of it, and one that leads to nothing is not made.
func TestLinksSayWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	s := newSite(t, w)
	s.put("/d/f", "x")
	state := func(l *link) string {
		for _, e := range decode[filestorehttp.ShareList](s.own("GET", "/api/fs/shares?limit=200", "").want(200)).Shares {
			if e.ID == l.ID {
				return e.State
			}
		}
		return "gone"
	}
	used, ended := s.share("/d", 1), s.share("/d/f", 0)
	if used.State != "open" || state(ended) != "open" {
		t.Errorf("new links are %s, %s", used.State, state(ended))
	}
	used.use("GET", "/api/fs/content?path=/d/f").want(200)
	if a := used.use("GET", "/api/fs/content?path=/d/f").want(403); !strings.Contains(a.body, "used up") || state(used) != "used up" {
		t.Errorf("%s: %s", state(used), a.body)
	}
	s.own("DELETE", "/api/fs/shares/"+ended.ID, "").want(204)
	if state(ended) != "ended" {
		t.Errorf("an ended link is %s", state(ended))
	}
	late := s.share("/d", 0)
	w.Clock.Add(365 * 24 * time.Hour)
	if got := state(late); late.ExpiresAt != "" && got != "expired" {
		t.Errorf("a link that expired at %s is %s", late.ExpiresAt, got)
	}
	for _, path := range []string{"/nothing", "/d/f/below", "/d/g"} {
		delegation := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("fs/read", alice.Home(path)))
		s.own("POST", "/api/fs/shares", fmt.Sprintf(`{"delegation":%q,"path":%q}`, delegation, path)).want(404)
	}
}
