package filestorehttp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// link is a share link of Alice's: whoever has it reads below a path.
type link struct {
	*site
	filestorehttp.ShareEntry
	holder     identitytest.Actor
	delegation string
	path       string
}

// share makes and registers a link.
func (s *site) share(path string, uses int) *link {
	s.t.Helper()
	l := &link{site: s, holder: identitytest.NewActor(fmt.Sprintf("link %d", nonce.Add(1))), path: path}
	l.delegation = identitytest.Delegation(s.t, alice, l.holder.DID, identitytest.Can("fs/read", alice.Home(path)))
	body, err := json.Marshal(filestorehttp.ShareBody{Delegation: l.delegation, Path: path, MaxUses: int64(uses)})
	if err != nil {
		s.t.Fatal(err)
	}
	l.ShareEntry = decode[filestorehttp.ShareEntry](s.own("POST", "/api/fs/shares", string(body)).want(201))
	return l
}

// bearer is a token of whoever has the link.
func (l *link) bearer() string {
	l.t.Helper()
	return token(l.t, l.holder, "fs/read", identitytest.Can("fs/read", alice.Home(l.path)), identitytest.Proof(l.delegation))
}

// use sends a request of whoever has the link.
func (l *link) use(method, target string, headers ...string) answer {
	l.t.Helper()
	return l.do(l.bearer(), method, target, "", headers...)
}

// uses returns what the owner is told of a link's uses.
func (l *link) uses() int64 {
	l.t.Helper()
	for _, e := range decode[filestorehttp.ShareList](l.own("GET", "/api/fs/shares?limit=200", "").want(200)).Shares {
		if e.ID == l.ID {
			return e.Uses
		}
	}
	l.t.Fatalf("the link to %s is not listed", l.path)
	return 0
}

// However a text is read, it counts, and a link that is used up is over.
func TestALinkIsReadAsOftenAsItIsGood(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.put("/s/f", "secret one\n")
		f := s.put("/s/f", "secret two\n")
		w.Index(t.Context(), t)
		for _, way := range []string{
			"/content?path=/s/f", "/files/" + f.ID + "/content", "/cid/" + f.CID, "/files/" + f.ID + "/read",
			"/files/" + f.ID + "/versions/1/content", "/search?q=secret", "/grep?q=secret", "/export?path=/s", "/export?path=/s/f",
		} {
			l := s.share("/s", 1)
			l.use("GET", "/api/fs/stat?path=/s/f").want(200)
			if a := l.use("GET", "/api/fs"+way).want(200); !strings.Contains(a.body, "secret") {
				t.Errorf("%s: %q", way, a.body)
			}
			for _, again := range []string{way, "/stat?path=/s/f", "/files/" + f.ID + "/versions/1/content", "/grep?q=secret", "/export?path=/s"} {
				if a := l.use("GET", "/api/fs"+again).want(403); !strings.Contains(a.body, "link_over") {
					t.Errorf("%s, then %s: %s", way, again, a.body)
				}
			}
			if n := l.uses(); n != 1 {
				t.Errorf("%s: counted %d", way, n)
			}
		}
	})
}

// What shows nothing of the content is no reading; each range is one.
func TestWhatCountsAsAReading(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/f", "content")
	l := s.share("/f", 0)
	for _, c := range []struct {
		method, target string
		headers        []string
		status         int
		counts         int64
	}{
		{"HEAD", "/content?path=/f", nil, 200, 0},
		{"HEAD", "/content?path=/f", []string{"Range: bytes=0-1"}, 206, 0},
		{"HEAD", "/export?path=/f", nil, 200, 0},
		{"GET", "/content?path=/f", []string{`If-None-Match: "` + f.CID + `"`}, 304, 0},
		{"GET", "/content?path=/f", []string{`If-None-Match: "` + f.CID + `"`, "Range: bytes=0-1"}, 304, 0},
		{"GET", "/content?path=/f", []string{`If-Match: "other"`, "Range: bytes=0-1"}, 412, 0},
		{"GET", "/content?path=/g", nil, 404, 0},
		{"GET", "/files?path=/", nil, 200, 0},
		{"GET", "/files/" + f.ID + "/versions", nil, 200, 0},
		{"GET", "/content?path=/f", nil, 200, 1},
		{"GET", "/content?path=/f", []string{"Range: bytes=0-1"}, 206, 1},
		{"GET", "/content?path=/f", []string{"Range: bytes=2-"}, 206, 1},
		{"GET", "/content?path=/f", []string{"Range: bytes=0-1,3-4"}, 206, 1},
	} {
		before := l.uses()
		l.use(c.method, "/api/fs"+c.target, c.headers...).want(c.status)
		if got := l.uses() - before; got != c.counts {
			t.Errorf("%s %s %v counts %d, want %d", c.method, c.target, c.headers, got, c.counts)
		}
	}
}

// Readers that come together share what is left.
func TestALinkIsNotReadMoreOftenByMany(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.put("/f", "content")
		l := s.share("/f", 3)
		var read, refused atomic.Int64
		var readers sync.WaitGroup
		for range 12 {
			readers.Go(func() {
				switch a := l.use("GET", "/api/fs/content?path=/f"); a.status {
				case 200:
					read.Add(1)
				case 403:
					refused.Add(1)
				}
			})
		}
		readers.Wait()
		if read.Load() != 3 || refused.Load() != 9 || l.uses() != 3 {
			t.Errorf("%d read, %d refused, %d counted", read.Load(), refused.Load(), l.uses())
		}
	})
}

// A stream of changes ends with the link: nothing that happens later is told.
func TestAStreamEndsWithItsLink(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.put("/s/before", "x")
		l := s.share("/s", 0)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/fs/changes", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+l.bearer())
		r.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		lines, seen := bufio.NewScanner(res.Body), ""
		for !strings.Contains(seen, "/s/before") && lines.Scan() {
			seen = lines.Text()
		}
		s.own("DELETE", "/api/fs/shares/"+l.ID, "").want(204)
		s.put("/s/after", "x")
		for lines.Scan() {
			if strings.Contains(lines.Text(), "/s/after") {
				t.Fatal("a change after the link's end was told")
			}
		}
	})
}

// Whoever has a link learns of no other, and ends none: not the one that it is,
// and not one of somebody else to the same file.
func TestLinksAreTheirMakers(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.put("/f", "content")
		l, other := s.share("/f", 0), s.share("/f", 0)
		if got := decode[filestorehttp.ShareList](l.use("GET", "/api/fs/shares").want(200)).Shares; len(got) != 0 {
			t.Errorf("whoever has a link is shown %+v", got)
		}
		for _, id := range []string{other.ID, l.ID} {
			l.use("DELETE", "/api/fs/shares/"+id).want(404)
		}
		other.use("GET", "/api/fs/content?path=/f").want(200)

		// What it made itself is its own, and the owner's.
		reach := identitytest.Can("fs/read", alice.Home("/f"))
		onward := identitytest.Delegation(t, l.holder, bob.DID, reach, identitytest.Proof(l.delegation))
		body, err := json.Marshal(filestorehttp.ShareBody{Delegation: onward, Path: "/f"})
		if err != nil {
			t.Fatal(err)
		}
		made := decode[filestorehttp.ShareEntry](s.do(l.bearer(), "POST", "/api/fs/shares", string(body)).want(201))
		if got := decode[filestorehttp.ShareList](s.do(l.bearer(), "GET", "/api/fs/shares",
			"").want(200)).Shares; len(got) != 1 || got[0].ID != made.ID {
			t.Errorf("its own link: %+v", got)
		}
		s.do(l.bearer(), "DELETE", "/api/fs/shares/"+made.ID, "").want(204)
		s.own("DELETE", "/api/fs/shares/"+other.ID, "").want(204)
		other.use("GET", "/api/fs/content?path=/f").want(403)
		if got := decode[filestorehttp.ShareList](s.own("GET", "/api/fs/shares", "").want(200)).Shares; len(got) != 3 {
			t.Errorf("the owner sees %+v", got)
		}
	})
}
