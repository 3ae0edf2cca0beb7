package ipfsgateway_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/blockstore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/ipfsgateway"
)

var nonce atomic.Int64

type site struct {
	t   *testing.T
	w   *filestoretest.World
	url string
}

func newSite(t *testing.T, w *filestoretest.World) *site {
	t.Helper()
	return openSite(t, w, identityhttp.Wrap(identitytest.New(t), identity.Files))
}

func openSite(t *testing.T, w *filestoretest.World, authenticate func(httpserver.Handler) httpserver.Handler) *site {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = server.Mount(ipfsgateway.Surface(w.Service, ipfsgateway.Deps{
		Blocks: blockstore.New(w.Service, w.Store), Authenticate: authenticate,
	}))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	return &site{t, w, ts.URL}
}

// do asks as somebody, or as nobody, and fails on another status.
func (s *site) do(status int, who *identitytest.Actor, method, target string, header ...string) ([]byte, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+target, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if who != nil {
		once := identitytest.Nonce(strconv.FormatInt(nonce.Add(1), 10))
		r.Header.Set("Authorization", "Bearer "+identitytest.Files(s.t, *who, identitytest.Oracle.DID, "*", once))
		r.Header.Set("X-Auth-Type", "ucan")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %.200s %v", method, target, res.StatusCode, status, b, err)
	}
	return b, res.Header
}

// blocks reads a CAR, which checks every block, and returns their CIDs.
func (s *site) blocks(who *identitytest.Actor, target string) []string {
	s.t.Helper()
	body, _ := s.do(200, who, "GET", target)
	return blocksOf(s.t, body)
}

func blocksOf(t *testing.T, body []byte) []string {
	t.Helper()
	a, err := car.Read(string(body), 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, b := range a.Blocks {
		ids = append(ids, ipld.CIDText(b.CID))
	}
	return ids
}

func (s *site) publish(f filestore.File) {
	s.t.Helper()
	if _, err := s.w.SetPublic(s.t.Context(), filestore.Owner(f.Namespace), filestore.Target{ID: f.ID}, true); err != nil {
		s.t.Fatal(err)
	}
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return string(b)
}

func leaf(text string, i int) string {
	c, _, _ := cid.Sum(strings.NewReader(text[i*cid.LeafSize:min(len(text), (i+1)*cid.LeafSize)]), cid.Options{})
	return c.String()
}

func TestPublicFilesAreBlocks(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		alice := identitytest.Alice.DID
		small := w.MustPut(t, alice, "/small.txt", "small enough")
		text := random(3*cid.LeafSize + 17)
		big := w.MustPut(t, alice, "/big.bin", text)
		s.do(404, nil, "GET", "/ipfs/"+small.CID+"?format=raw")
		s.do(404, nil, "GET", "/ipfs/"+leaf(text, 1)+"?format=raw")
		s.publish(small)
		s.publish(big)

		body, h := s.do(200, nil, "GET", "/ipfs/"+small.CID+"?format=raw")
		if string(body) != "small enough" || h.Get("Cache-Control") != "public, max-age=29030400, immutable" || h.Get("Etag") != `"`+small.CID+`.raw"` ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Ipfs-Path") != "/ipfs/"+small.CID || h.Get("X-Ipfs-Roots") != small.CID {
			t.Errorf("%q %v", body, h)
		}
		if body, _ := s.do(206, nil, "GET", "/ipfs/"+small.CID+"?format=raw", "Range", "bytes=6-8"); string(body) != "eno" {
			t.Errorf("a range is %q", body)
		}
		s.do(304, nil, "GET", "/ipfs/"+small.CID, "Accept", "application/vnd.ipld.raw", "If-None-Match", h.Get("Etag"))
		// A leaf and the root by themselves, whoever asked for what before.
		if body, _ := s.do(200, nil, "GET", "/ipfs/"+leaf(text, 1)+"?format=raw"); string(body) != text[cid.LeafSize:2*cid.LeafSize] {
			t.Error("a leaf is something else")
		}
		s.do(200, nil, "GET", "/ipfs/"+big.CID+"?format=raw")

		all := []string{big.CID, leaf(text, 0), leaf(text, 1), leaf(text, 2), leaf(text, 3)}
		for query, want := range map[string][]string{
			"": all, "&dag-scope=all": all, "&dag-scope=entity": all, "&dag-scope=block": all[:1],
			"&entity-bytes=0:0":                                 all[:2],
			"&entity-bytes=1048576:2097151":                     {all[0], all[2]},
			"&entity-bytes=1048575:1048576":                     all[:3],
			"&entity-bytes=-1:*":                                {all[0], all[4]},
			"&entity-bytes=99999999:*":                          all[:1],
			"&dag-scope=entity&entity-bytes=-99999999:-2097170": {all[0], all[1]},
		} {
			if got := s.blocks(nil, "/ipfs/"+big.CID+"?format=car"+query); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
		_, h = s.do(200, nil, "HEAD", "/ipfs/"+big.CID, "Accept", "application/vnd.ipld.car;dups=y")
		if h.Get("Content-Type") != "application/vnd.ipld.car; version=1; order=dfs; dups=y" || h.Get("Accept-Ranges") != "none" || h.Get("Content-Location") == "" {
			t.Errorf("%v", h)
		}
		s.do(304, nil, "GET", "/ipfs/"+big.CID+"?format=car&car-dups=y", "If-None-Match", h.Get("Etag"))

		// A new version has other blocks; what is no longer public is gone.
		w.MustPut(t, alice, "/big.bin", "another")
		s.do(404, nil, "GET", "/ipfs/"+leaf(text, 1)+"?format=raw")
		if _, err := w.SetPublic(t.Context(), filestore.Owner(alice), filestore.Target{ID: small.ID}, false); err != nil {
			t.Fatal(err)
		}
		s.do(404, nil, "GET", "/ipfs/"+small.CID+"?format=raw")
	})
}

func TestTokensReachTheirOwn(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		text := random(2 * cid.LeafSize)
		f := w.MustPut(t, identitytest.Alice.DID, "/private.bin", text)
		_, h := s.do(200, &identitytest.Alice, "GET", "/ipfs/"+leaf(text, 1)+"?format=raw")
		if h.Get("Cache-Control") != "private, max-age=29030400, immutable" {
			t.Errorf("%v", h)
		}
		if got := s.blocks(&identitytest.Alice, "/ipfs/"+f.CID+"?format=car"); len(got) != 3 {
			t.Errorf("%v", got)
		}
		for _, who := range []*identitytest.Actor{nil, &identitytest.Bob} {
			s.do(404, who, "GET", "/ipfs/"+f.CID+"?format=car")
			_, h := s.do(404, who, "GET", "/ipfs/"+leaf(text, 1)+"?format=raw")
			if strings.Contains(h.Get("Cache-Control"), "immutable") {
				t.Errorf("that something is missing may be kept: %v", h)
			}
		}
		s.do(401, nil, "GET", "/ipfs/"+f.CID+"?format=car", "Authorization", "Bearer nonsense", "X-Auth-Type", "ucan")
	})
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.w.MustPut(t, identitytest.Alice.DID, "/f", "text")
	s.publish(f)
	at := "/ipfs/" + f.CID
	for target, status := range map[string]int{
		"/ipfs/nonsense?format=raw": 400, "/ipfs/" + strings.Repeat("b", 2000) + "?format=raw": 400,
		at: 400, at + "?format=tar": 400, at + "/x?format=raw": 400, at + "/x?format=car": 404,
		at + "?format=car&dag-scope=some": 400, at + "?format=car&entity-bytes=1": 400, at + "?format=car&entity-bytes=5:2": 400,
		at + "?format=car&car-version=2": 400, at + "?format=car&car-order=bfs": 400, at + "?format=car&car-dups=maybe": 400,
		"/ipfs/bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy?format=raw": 404,
	} {
		s.do(status, nil, "GET", target)
	}
	s.do(412, nil, "GET", "/ipfs/bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy?format=raw", "Cache-Control", "only-if-cached")
	// A CID that contains its block needs no store, and is never in a CAR.
	if body, _ := s.do(200, nil, "GET", "/ipfs/bafkqabtimvwgy3yk?format=raw"); !bytes.Equal(body, []byte("hello\n")) {
		t.Errorf("%q", body)
	}
	if got := s.blocks(nil, "/ipfs/bafkqabtimvwgy3yk?format=car"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// Of a block few ranges are sent, or all of it.
func TestFewRangesOfABlock(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	text := strings.Repeat("0123456789", 2000)
	f := s.w.MustPut(t, identitytest.Alice.DID, "/f", text)
	s.publish(f)
	at := "/ipfs/" + f.CID + "?format=raw"
	if body, _ := s.do(206, nil, "GET", at, "Range", "bytes=3-5"); string(body) != "345" {
		t.Errorf("%q", body)
	}
	many := make([]string, 900)
	for i := range many {
		many[i] = strconv.Itoa(2*i) + "-" + strconv.Itoa(2*i)
	}
	if body, _ := s.do(200, nil, "GET", at, "Range", "bytes="+strings.Join(many, ",")); string(body) != text {
		t.Errorf("%d bytes", len(body))
	}
	s.do(416, nil, "GET", at, "Range", "bytes=90000-")
}
