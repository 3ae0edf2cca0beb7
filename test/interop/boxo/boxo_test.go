// Package boxo compares our folders and archives with those of the library that IPFS nodes
// are made of, and has its gateway read from ours.
package boxo

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ipfs/boxo/blockservice"
	"github.com/ipfs/boxo/blockstore"
	chunk "github.com/ipfs/boxo/chunker"
	"github.com/ipfs/boxo/exchange/offline"
	"github.com/ipfs/boxo/files"
	"github.com/ipfs/boxo/gateway"
	"github.com/ipfs/boxo/ipld/merkledag"
	unixfile "github.com/ipfs/boxo/ipld/unixfs/file"
	"github.com/ipfs/boxo/ipld/unixfs/importer/balanced"
	"github.com/ipfs/boxo/ipld/unixfs/importer/helpers"
	uio "github.com/ipfs/boxo/ipld/unixfs/io"
	"github.com/ipfs/boxo/path"
	blocks "github.com/ipfs/go-block-format"
	gocid "github.com/ipfs/go-cid"
	"github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/sync"
	format "github.com/ipfs/go-ipld-format"
	carv2 "github.com/ipld/go-car/v2"
	"github.com/ipld/go-car/v2/storage"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	ourblocks "github.com/castalia-org/castalia/internal/service/filestore/blockstore"
	"github.com/castalia-org/castalia/internal/service/filestore/carimport"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/ipfsgateway"
)

const alice = "did:key:zAlice"

// profile is the one that our CIDs follow.
var profile = uio.UnixFS_v1_2025

func TestMain(m *testing.M) {
	profile.ApplyGlobals()
	m.Run()
}

// tree are files by their paths. A path that ends with a slash is an empty folder.
type tree map[string]string

func random(name string, n int) string {
	seed := [32]byte{}
	copy(seed[:], name)
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b)
	return string(b)
}

// trees are small, as large as one block of a folder can be, one byte more, and larger.
func trees() map[string]tree {
	all := map[string]tree{"small": {
		"empty.txt": "", "mit Blank & Ümlaut.txt": "text", "deep/er/leaf.bin": random("leaf", 1<<20),
		"deep/large.bin": random("large", 3<<20+17), "deep/one more.bin": random("one more", 1<<20+1),
		"deep/nothing/": "", "nothing.at/all/": "", "nothing/": "",
	}}
	for name, extra := range map[string]int{"border": 24, "beyond": 25} {
		t := tree{}
		for i := range 4854 { // of 54 bytes each, 262,120 with what is around them
			t[fmt.Sprintf("many/file-%05d", i)] = "x"
		}
		delete(t, "many/file-00000")
		t["many/file-00000"+strings.Repeat("x", extra)] = "x"
		all[name] = t
	}
	large := tree{"beside.txt": "text"}
	for i := range 15_000 {
		large[fmt.Sprintf("many/%s-%d", []string{"file", "文件", "Ümlaut"}[i%3], i)] = fmt.Sprint(i % 100)
	}
	all["large"] = large
	return all
}

// theirStore is boxo's, in memory.
type theirStore struct {
	blocks blockstore.Blockstore
	format.DAGService
}

func newStore() theirStore {
	b := blockstore.NewBlockstore(sync.MutexWrap(datastore.NewMapDatastore()))
	return theirStore{b, merkledag.NewDAGService(blockservice.New(b, offline.Exchange(b)))}
}

func (s theirStore) file(t *testing.T, content string) format.Node {
	t.Helper()
	params := helpers.DagBuilderParams{
		Maxlinks: profile.FileDAGWidth, RawLeaves: profile.RawLeaves, CidBuilder: profile.CidBuilder(), Dagserv: s,
	}
	b, err := params.New(chunk.NewSizeSplitter(strings.NewReader(content), profile.ChunkSize))
	if err != nil {
		t.Fatal(err)
	}
	n, err := balanced.Layout(b)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s theirStore) folder(t *testing.T, files tree) format.Node {
	t.Helper()
	d, err := uio.NewDirectory(s, uio.WithCidBuilder(profile.CidBuilder()))
	if err != nil {
		t.Fatal(err)
	}
	below := map[string]tree{}
	add := func(name string, n format.Node) {
		t.Helper()
		if err := d.AddChild(t.Context(), name, n); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if path == "" {
			continue // an empty folder has nothing in it
		}
		name, rest, nested := strings.Cut(path, "/")
		if !nested {
			add(name, s.file(t, files[path]))
			continue
		}
		if below[name] == nil {
			below[name] = tree{}
		}
		below[name][rest] = files[path]
	}
	for name, files := range below {
		add(name, s.folder(t, files))
	}
	n, err := d.GetNode()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return n
}

// archive writes what is below a root.
func (s theirStore) archive(t *testing.T, root gocid.Cid) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := storage.NewWritable(&b, []gocid.Cid{root}, carv2.WriteAsCarV1(true))
	if err != nil {
		t.Fatal(err)
	}
	seen := gocid.NewSet()
	err = merkledag.Walk(t.Context(), merkledag.GetLinksDirect(s), root, func(c gocid.Cid) bool {
		if !seen.Visit(c) {
			return false
		}
		block, err := s.blocks.Get(t.Context(), c)
		if err == nil {
			err = w.Put(t.Context(), c.KeyString(), block.RawData())
		}
		if err != nil {
			t.Error(err)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read takes an archive in, which checks every block, and returns its root.
func (s theirStore) read(t *testing.T, archive []byte) gocid.Cid {
	t.Helper()
	r, err := carv2.NewBlockReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for {
		var b blocks.Block
		if b, err = r.Next(); err != nil {
			break
		}
		if err := s.blocks.Put(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err != io.EOF || len(r.Roots) != 1 {
		t.Fatalf("%d roots, %v", len(r.Roots), err)
	}
	return r.Roots[0]
}

// unpack reads a node as files.
func unpack(t *testing.T, into tree, path string, n files.Node) {
	t.Helper()
	switch n := n.(type) {
	case files.File:
		b, err := io.ReadAll(n)
		if err != nil {
			t.Fatal(err)
		}
		into[path] = string(b)
	case files.Directory:
		entries, empty := n.Entries(), true
		for entries.Next() {
			empty = false
			unpack(t, into, strings.TrimPrefix(path+"/"+entries.Name(), "/"), entries.Node())
		}
		if err := entries.Err(); err != nil {
			t.Fatal(err)
		}
		if empty {
			into[path+"/"] = ""
		}
	}
}

// compare says which files differ, a few of them.
func compare(t *testing.T, got, want tree) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	different := 0
	for path, content := range want {
		if there, ok := got[path]; !ok || there != content {
			if different++; different < 5 {
				t.Errorf("%s differs, there: %v", path, ok)
			}
		}
	}
}

// Their archive becomes files here, and the archive that is made of those has the same
// root and is read by them.
func TestArchivesBothWays(t *testing.T) {
	t.Parallel()
	for name, files := range trees() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := filestoretest.Embedded(t)
			theirs := newStore()
			root := theirs.folder(t, files).Cid()
			done, err := carimport.New(w.Service, w.Folders, w.Store).Unpack(t.Context(), filestore.Owner(alice),
				carimport.Archive{Path: "/d", Body: bytes.NewReader(theirs.archive(t, root))})
			want := 0
			for path := range files {
				if !strings.HasSuffix(path, "/") {
					want++
				}
			}
			if err != nil || len(done.Files) != want {
				t.Fatalf("%d files, want %d, %v", len(done.Files), want, err)
			}
			for _, f := range done.Files {
				if f.CID != f.From {
					t.Errorf("%s is %s here and %s there", f.Path, f.CID, f.From)
				}
			}
			e, err := w.DAG.Export(t.Context(), filestore.Owner(alice), "/d")
			if err != nil {
				t.Fatal(err)
			}
			if e.Root().String() != root.String() {
				t.Errorf("the root is %s here and %s there", e.Root(), root)
			}
			var ours bytes.Buffer
			if err := e.Write(&ours); err != nil || int64(ours.Len()) != e.Size() {
				t.Fatalf("%d bytes, %v", ours.Len(), err)
			}
			reader := newStore()
			n, err := reader.Get(t.Context(), reader.read(t, ours.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			at, err := unixfile.NewUnixfsFile(t.Context(), reader, n)
			if err != nil {
				t.Fatal(err)
			}
			got := tree{}
			unpack(t, got, "", at)
			compare(t, got, files)
		})
	}
}

// Their gateway, which has nothing of its own, serves what ours has: by blocks, and by
// archives of parts.
func TestTheirGatewayReadsFromOurs(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	theirs := newStore()
	files := trees()["small"]
	maps.Copy(files, trees()["beyond"])
	root := theirs.folder(t, files).Cid()
	kept, err := carimport.New(w.Service, w.Folders, w.Store).Keep(t.Context(), filestore.Owner(alice),
		carimport.Archive{Path: "/d.car", Body: bytes.NewReader(theirs.archive(t, root))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetPublic(t.Context(), filestore.Owner(alice), filestore.Target{ID: kept.Files[0].ID}, true); err != nil {
		t.Fatal(err)
	}
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = server.Mount(ipfsgateway.Surface(w.Service, ipfsgateway.Deps{
		Blocks:       ourblocks.New(w.Service, w.Store),
		Authenticate: func(h httpserver.Handler) httpserver.Handler { return h },
	}))
	if err != nil {
		t.Fatal(err)
	}
	ours := httptest.NewServer(server)
	t.Cleanup(ours.Close)
	byBlocks, err := gateway.NewRemoteBlocksBackend([]string{ours.URL}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	byArchives, err := gateway.NewRemoteCarBackend([]string{ours.URL}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	for name, backend := range map[string]gateway.IPFSBackend{"blocks": byBlocks, "archives": byArchives} {
		theirs := httptest.NewServer(gateway.NewHandler(gateway.Config{DeserializedResponses: true}, backend))
		t.Cleanup(theirs.Close)
		for file, content := range files {
			if strings.HasSuffix(file, "/") || strings.HasPrefix(file, "many/") && !strings.Contains(file, "777") {
				continue
			}
			at := theirs.URL + "/ipfs/" + root.String() + "/" + (&url.URL{Path: file}).EscapedPath()
			if got := get(t, at, ""); got != content {
				t.Errorf("%s by %s: %d bytes, want %d", file, name, len(got), len(content))
			}
			if n := len(content); n > 10 {
				if got := get(t, at, fmt.Sprintf("bytes=%d-%d", n/2, n/2+5)); got != content[n/2:n/2+6] {
					t.Errorf("a part of %s by %s is %d other bytes", file, name, len(got))
				}
			}
		}
		immutable, err := path.NewImmutablePath(path.FromCid(root))
		if err != nil {
			t.Fatal(err)
		}
		_, all, err := backend.GetAll(t.Context(), immutable)
		if err != nil {
			t.Fatal(err)
		}
		got := tree{}
		unpack(t, got, "", all)
		compare(t, got, files)
		if name == "archives" {
			continue // for a listing it asks for index.html first, and takes 404, which the suite wants, for a broken gateway
		}
		if listing := get(t, theirs.URL+"/ipfs/"+root.String()+"/many/", ""); strings.Count(listing, "file-0") < 4854 {
			t.Errorf("the listing names %d files", strings.Count(listing, "file-0"))
		}
	}
}

func get(t *testing.T, target, part string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if part != "" {
		r.Header.Set("Range", part)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if want := map[bool]int{true: 206, false: 200}[part != ""]; err != nil || res.StatusCode != want {
		t.Errorf("%s: %d, %.200s %v", target, res.StatusCode, b, err)
	}
	return string(b)
}
