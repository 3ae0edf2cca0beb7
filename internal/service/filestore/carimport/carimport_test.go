package carimport_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/unixfs"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/blockstore"
	"github.com/castalia-org/castalia/internal/service/filestore/carimport"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

const alice = "did:key:zAlice"

func importer(w *filestoretest.World) *carimport.Service {
	return carimport.New(w.Service, w.Folders, w.Store)
}

func export(t *testing.T, w *filestoretest.World, path string) []byte {
	t.Helper()
	e, err := w.DAG.Export(t.Context(), filestore.Owner(alice), path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := e.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return string(b)
}

func archive(path string, b []byte) carimport.Archive {
	return carimport.Archive{Path: path, Body: bytes.NewReader(b), Size: int64(len(b))}
}

// What is exported comes back with the same CIDs, and a second time changes nothing.
func TestAnExportComesBack(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		owner := filestore.Owner(alice)
		want := map[string]string{}
		for path, text := range map[string]string{
			"/a.txt": "small", "/deep/er/b.bin": random(2*cid.LeafSize + 5), "/deep/c": "", "/deep/ü #1.txt": random(cid.LeafSize),
		} {
			want["/copy"+path] = w.MustPut(t, alice, "/d"+path, text).CID
		}
		b := export(t, w, "/d")
		for _, unchanged := range []bool{false, true} {
			done, err := importer(w).Unpack(t.Context(), owner, archive("/copy", b))
			if err != nil || len(done.Files) != len(want) {
				t.Fatalf("%d files, %v", len(done.Files), err)
			}
			for _, f := range done.Files {
				if want[f.Path] != f.CID || f.From != f.CID || f.Unchanged != unchanged {
					t.Errorf("%s is %s from %s, unchanged: %v", f.Path, f.CID, f.From, f.Unchanged)
				}
			}
		}
		if again := export(t, w, "/copy"); !bytes.Equal(again, b) {
			t.Error("the copy's export is another one")
		}
		one := export(t, w, "/d/deep/er/b.bin")
		if done, err := importer(w).Unpack(t.Context(), owner, archive("/one.bin", one)); err != nil ||
			done.Files[0].Path != "/one.bin" {
			t.Errorf("%+v, %v", done, err)
		}
		w.MustPut(t, alice, "/copy/a.txt", "changed")
		if _, err := importer(w).Unpack(t.Context(), owner, archive("/copy", b)); !fault.Is(err, fault.Conflict) {
			t.Errorf("over another file: %v", err)
		}
		over := archive("/copy", b)
		over.Overwrite = true
		if _, err := importer(w).Unpack(t.Context(), owner, over); err != nil {
			t.Error(err)
		}
	})
}

// Empty folders are in an export, as importers make them of a tree on a disk, and come
// back from it. Which folders were made is otherwise nothing that a root tells.
func TestEmptyFoldersComeBack(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		// The CID that ipfs-unixfs-importer 17.1.1 and boxo give a folder without entries.
		const nothing = "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354"
		owner := filestore.Owner(alice)
		mkdir := func(paths ...string) {
			for _, path := range paths {
				if _, _, err := w.Folders.Make(t.Context(), owner, path); err != nil {
					t.Fatal(err)
				}
			}
		}
		root := func(path string) string {
			e, err := w.DAG.Export(t.Context(), owner, path)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			var b bytes.Buffer
			if err := e.Write(&b); err != nil || int64(b.Len()) != e.Size() {
				t.Fatalf("%s: %d bytes of %d, %v", path, b.Len(), e.Size(), err)
			}
			return e.Root().String()
		}
		if got := root("/"); got != nothing {
			t.Errorf("an empty namespace is %s", got)
		}
		mkdir("/d/none", "/d/full", "/d/full/er", "/d/deep/er/none", "/d/.dot", "/d/none.txt")
		for _, path := range []string{"/d/a", "/d/full/file", "/d/full/er/file", "/d/none-", "/d/deep/c"} {
			w.MustPut(t, alice, path, path)
		}
		for _, path := range []string{"/d/none", "/d/deep/er/none", "/d/none.txt"} {
			if got := root(path); got != nothing {
				t.Errorf("%s is %s", path, got)
			}
		}
		leaf := func(name, text string) cid.Link {
			c, n, err := cid.Sum(strings.NewReader(text), cid.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return cid.Link{Name: name, CID: c, Bytes: uint64(n), Cumulative: uint64(n)}
		}
		in := func(name string, entries ...cid.Link) cid.Link {
			link := cid.Folder(entries, func(cid.Block) {})
			link.Name = name
			return link
		}
		want := in("", leaf("a", "/d/a"), in("none"), in("none.txt"), in(".dot"), leaf("none-", "/d/none-"),
			in("full", leaf("file", "/d/full/file"), in("er", leaf("file", "/d/full/er/file"))),
			in("deep", leaf("c", "/d/deep/c"), in("er", in("none")))).CID.String()
		if got := root("/d"); got != want {
			t.Errorf("the tree is %s, want %s", got, want)
		}
		b := export(t, w, "/d")
		for range 2 {
			if done, err := importer(w).Unpack(t.Context(), owner, archive("/copy", b)); err != nil || done.Root != want {
				t.Fatalf("%s, %v", done.Root, err)
			}
		}
		if again := export(t, w, "/copy"); !bytes.Equal(again, b) {
			t.Error("the copy's export is another one")
		}
		made, err := w.Folders.Made(t.Context(), owner, "/copy", "", 10)
		if err != nil || len(made) != 4 {
			t.Errorf("made are %+v, %v", made, err)
		}
		// Whoever does not see dot-folders exports the others; what reaches one folder, that alone.
		guest := func(at string) filestore.Access {
			return filestore.Access{Namespace: alice, Grants: []filestore.Grant{
				{Abilities: filestore.Read | filestore.List, Area: vfspath.Area{Root: vfspath.Root(at)}},
			}}
		}
		if _, err := w.DAG.Export(t.Context(), guest("/"), "/d/.dot"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a dot-folder: %v", err)
		}
		if _, err := w.DAG.Export(t.Context(), guest("/d/full"), "/d/none"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a folder of others: %v", err)
		}
		e, err := w.DAG.Export(t.Context(), guest("/d/deep"), "/d")
		if err != nil || e.Root() != in("", in("deep", leaf("c", "/d/deep/c"), in("er", in("none")))).CID {
			t.Errorf("what reaches one folder: %v", err)
		}
	})
}

// Folders count among those of an export whether files are in them or not.
func TestAnExportHasSoManyFolders(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
				INSERT INTO filestore_folders (ns, path, hidden, id, created_ms)
				SELECT '`+alice+`', '/many/' || substr('' || (1000000 + i), 2) || '/in', 0, 'folder-' || i, 0 FROM n`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.DAG.Export(t.Context(), filestore.Owner(alice), "/many"); !fault.Is(err, fault.TooLarge) {
			t.Errorf("50,001 folders in as many others: %v", err)
		}
		if _, err := w.DAG.Export(t.Context(), filestore.Owner(alice), "/many/000001"); err != nil {
			t.Error(err)
		}
	})
}

// A large folder is exported as shards, comes back from them, and has its shards served
// where the archive is kept as it is.
func TestShardedFoldersComeBack(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		owner := filestore.Owner(alice)
		const files = 960
		long := strings.Repeat("n", 240)
		for i := range files {
			w.MustPut(t, alice, fmt.Sprintf("/d/large/%s-%04d", long, i), strconv.Itoa(i))
		}
		w.MustPut(t, alice, "/d/small.txt", "small")
		b := export(t, w, "/d")
		read, err := car.Read(string(b), 10_000)
		if err != nil || len(read.Blocks) < files+100 {
			t.Fatalf("%d blocks, %v", len(read.Blocks), err)
		}
		done, err := importer(w).Unpack(t.Context(), owner, archive("/copy", b))
		if err != nil || len(done.Files) != files+1 {
			t.Fatalf("%d files, %v", len(done.Files), err)
		}
		if again := export(t, w, "/copy"); !bytes.Equal(again, b) {
			t.Error("the copy's export is another one")
		}
		if _, err := importer(w).Keep(t.Context(), owner, archive("/d.car", b)); err != nil {
			t.Fatal(err)
		}
		blocks, err := blockstore.New(w.Service, w.Store).For(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		at, err := unixfs.Resolve(blocks.Block, read.Roots[0], []string{"large", long + "-0777"})
		if err != nil || len(at.Blocks) < 3 {
			t.Fatalf("%d blocks lead there, %v", len(at.Blocks), err)
		}
		if got, err := blocks.Block(at.Last()); err != nil || string(got) != "777" {
			t.Errorf("%q, %v", got, err)
		}
		if at, err = unixfs.Resolve(blocks.Block, read.Roots[0], []string{"large"}); err != nil {
			t.Fatal(err)
		}
		shards := 0
		walk := unixfs.Walk{Get: blocks.Block, Visit: func(string, []byte) error { shards++; return nil }}
		if err := walk.Run(at, unixfs.ScopeEntity, unixfs.Whole()); err != nil || shards != len(read.Blocks)-files-1 {
			t.Errorf("the folder as an entity has %d blocks of %d, %v", shards, len(read.Blocks), err)
		}
	})
}

// What is damaged, cut or not whole is refused, and leaves nothing.
func TestDamagedArchivesLeaveNothing(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, alice, "/d/a.txt", "first")
		w.MustPut(t, alice, "/d/b.bin", random(2*cid.LeafSize))
		good := export(t, w, "/d")
		flipped := bytes.Clone(good)
		flipped[len(flipped)-10] ^= 1
		read, err := car.Read(string(good), 100)
		if err != nil {
			t.Fatal(err)
		}
		lacking := car.Append(nil, car.Archive{Roots: read.Roots, Blocks: read.Blocks[:len(read.Blocks)-1]})
		cbor := string(ipld.AppendCBOR(nil, ipld.TextNode("no file")))
		foreign := car.Append(nil,
			car.Archive{Roots: []string{ipld.SumDagCBOR(cbor)}, Blocks: []car.Block{{CID: ipld.SumDagCBOR(cbor), Data: cbor}}})
		leaf := cid.New(cid.Raw, sha256.Sum256([]byte("x")))
		var folder cid.Block
		cid.Folder([]cid.Link{{CID: leaf, Name: "..", Bytes: 1, Cumulative: 1}}, func(b cid.Block) { folder = b })
		root := string(folder.CID.Bytes())
		climbing := car.Append(nil,
			car.Archive{
				Roots:  []string{root},
				Blocks: []car.Block{{CID: root, Data: string(folder.Data)}, {CID: string(leaf.Bytes()), Data: "x"}},
			})
		for name, b := range map[string][]byte{
			"flipped": flipped, "cut": good[:len(good)-5], "lacking": lacking, "foreign": foreign, "climbing": climbing,
			"empty": nil, "nonsense": []byte("nonsense"), "version 2": []byte("\x0a\xa1gversion\x02"), "endless": []byte(strings.Repeat("\xff", 100)),
		} {
			if _, err := importer(w).Unpack(t.Context(), filestore.Owner(alice), archive("/copy", b)); !fault.Is(err,
				fault.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
			if name == "lacking" || name == "foreign" || name == "climbing" {
				continue
			}
			if _, err := importer(w).Keep(t.Context(), filestore.Owner(alice), archive("/copy/a.car", b)); !fault.Is(err,
				fault.Invalid) {
				t.Errorf("%s kept: %v", name, err)
			}
		}
		files, err := w.List(t.Context(), filestore.Owner(alice), "/copy", filestore.Page{Limit: 10})
		if err != nil || len(files) != 0 {
			t.Errorf("%v is left, %v", files, err)
		}
	})
}

// An archive that is kept serves its blocks, whatever they are, as long as it is there.
func TestKeptBlocks(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		owner := filestore.Owner(alice)
		cbor := string(ipld.AppendCBOR(nil, ipld.TextNode("no file")))
		id := ipld.SumDagCBOR(cbor)
		b := car.Append(nil, car.Archive{Roots: []string{id}, Blocks: []car.Block{{CID: id, Data: cbor}}})
		done, err := importer(w).Keep(t.Context(), owner, archive("/graph.car", b))
		if err != nil || done.Root != ipld.CIDText(id) {
			t.Fatalf("%+v, %v", done, err)
		}
		block := func(a filestore.Access) (string, error) {
			r, err := blockstore.New(w.Service, w.Store).For(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Block(id)
			return string(got), err
		}
		if got, err := block(owner); err != nil || got != cbor {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := block(filestore.Owner("did:key:zBob")); !fault.Is(err, fault.NotFound) {
			t.Errorf("for Bob: %v", err)
		}
		if _, err := w.Trash(t.Context(), owner, filestore.Target{ID: done.Files[0].ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := block(owner); !fault.Is(err, fault.NotFound) {
			t.Errorf("in the trash: %v", err)
		}
	})
}

// shard is a folder that is spread over blocks, two of which lead to the same place.
func shard(below string) string {
	links := ""
	if below != "" {
		links = pbBytes(2, pbBytes(1, below)+pbBytes(2, "00")) + pbBytes(2, pbBytes(1, below)+pbBytes(2, "01"))
	}
	return links + pbBytes(1, "\x08\x05\x28\x22\x30\x80\x02")
}

func pbBytes(number int, text string) string {
	return string(append(binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(text))), text...))
}

func dagPB(block string) car.Block {
	sum := sha256.Sum256([]byte(block))
	return car.Block{CID: string(cid.New(cid.DagPB, sum).Bytes()), Data: block}
}

// Archives of some kilobytes that say more than anybody could write are refused, soon.
func TestArchivesThatMultiply(t *testing.T) {
	t.Parallel()
	doubling := func(first string, next func(below string) string) []byte {
		blocks := []car.Block{dagPB(first)}
		for range 60 {
			blocks = append(blocks, dagPB(next(blocks[len(blocks)-1].CID)))
		}
		return car.Append(nil, car.Archive{Roots: []string{blocks[60].CID}, Blocks: blocks})
	}
	linked := func(names ...string) func(string) string {
		return func(below string) string {
			block := ""
			for _, name := range names {
				block += pbBytes(2, pbBytes(1, below)+pbBytes(2, name))
			}
			return block + pbBytes(1, "\x08\x01")
		}
	}
	leaf := random(1 << 20)
	named := cid.New(cid.Raw, sha256.Sum256([]byte(leaf)))
	vast := dagPB(strings.Repeat(pbBytes(2, pbBytes(1, string(named.Bytes()))+pbBytes(2, "")), 6000) +
		pbBytes(1, "\x08\x02"+"\x18"+string(binary.AppendUvarint(nil, 6000<<20))+
			strings.Repeat("\x20"+string(binary.AppendUvarint(nil, 1<<20)), 6000)))
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		for name, b := range map[string][]byte{
			"folders": doubling(pbBytes(1, "\x08\x01"), linked("a", "b")),
			"shards":  doubling(shard(""), shard),
			"vast": car.Append(nil,
				car.Archive{Roots: []string{vast.CID}, Blocks: []car.Block{vast, {CID: string(named.Bytes()), Data: leaf}}}),
		} {
			_, err := importer(w).Unpack(t.Context(), filestore.Owner(alice), archive("/copy", b))
			if !fault.Is(err, fault.TooLarge) && !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := w.Folders.At(t.Context(), filestore.Owner(alice), "/copy"); !fault.Is(err, fault.NotFound) {
			t.Errorf("something is left: %v", err)
		}
	})
}

// An import ends with its request, also while it only looks.
func TestAnImportEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, alice, "/d/a.txt", "first")
		b := export(t, w, "/d")
		ctx, cancel := context.WithCancel(t.Context())
		body := io.MultiReader(bytes.NewReader(b), endOf(func() { cancel() }))
		_, err := importer(w).Unpack(ctx, filestore.Owner(alice), carimport.Archive{Path: "/copy", Body: body})
		if err == nil {
			t.Error("it went on")
		}
	})
}

// endOf is an empty body that says when it was read.
type endOf func()

func (f endOf) Read([]byte) (int, error) { f(); return 0, io.EOF }
