package system_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/test/system"
)

// Killed at any point of an upload in parts, a path has its former content or the new
// one, and any node goes on from what it has until the file is there whole.
func TestKilledWhileUploadingInParts(t *testing.T) {
	t.Parallel()
	points := killPoints()
	system.Each(t, func(t *testing.T, w *system.World) {
		n := w.Node(0)
		who, err := did.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		last := randomBytes(1000, 99)
		if _, err := files(t, n, who).Put(t.Context(), "/f", "application/octet-stream", bytes.NewReader(last),
			int64(len(last)), cid.CID{}); err != nil {
			t.Fatal(err)
		}
		for i := range points {
			data := randomBytes(3<<20+i, byte(i))
			ctx, cancel := context.WithCancel(t.Context())
			at := rand.Int64N(int64(len(data)) + 200_000) // beyond the end: while it commits
			source := &killingAt{content: data, killing: killing{at: at, kill: func() { n.Kill(); cancel() }}}
			u := filestoreclient.Upload{
				Path: "/f", MimeType: "application/octet-stream", Size: int64(len(data)), Source: source, Want: cidOf(t, data),
			}
			u.Begun = func(location string) { u.Location = location }
			_, err := files(t, n, who).Upload(ctx, u)
			source.once(source.kill)
			n.Start()
			n.WaitReady()
			got := contentOf(t, w.Node(1), who, "/f")
			if !bytes.Equal(got, data) && (err == nil || !bytes.Equal(got, last)) {
				t.Fatalf("point %d of %d: the upload said %v, and there are %d bytes", at, len(data), err, len(got))
			}
			u.Source = bytes.NewReader(data)
			if _, err := files(t, w.Node(1), who).Upload(t.Context(), u); err != nil {
				t.Fatalf("point %d of %d: going on: %v", at, len(data), err)
			}
			if got := contentOf(t, w.Node(0), who, "/f"); !bytes.Equal(got, data) {
				t.Fatalf("point %d of %d: went on, and there are %d bytes", at, len(data), len(got))
			}
			last = data
		}
		wholeAfter(t, w)
	})
}

// Killed at any point of an import, each file of the archive is there whole or not at
// all, an acknowledged import is there, and importing it again completes it.
func TestKilledWhileImporting(t *testing.T) {
	t.Parallel()
	points := killPoints()
	system.Each(t, func(t *testing.T, w *system.World) {
		n := w.Node(0)
		who, err := did.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]byte{}
		for i := range 12 {
			name := fmt.Sprintf("%02d.bin", i)
			want[name] = randomBytes(200_000+i, byte(i))
			if _, err := files(t, n, who).Put(t.Context(), "/src/"+name, "application/octet-stream",
				bytes.NewReader(want[name]), int64(len(want[name])), cid.CID{}); err != nil {
				t.Fatal(err)
			}
		}
		var archive bytes.Buffer
		if err := files(t, n, who).Export(t.Context(), "/src", &archive); err != nil {
			t.Fatal(err)
		}
		size := int64(archive.Len())
		for i := range points {
			for _, asBlocks := range []bool{false, true} {
				target, all := fmt.Sprintf("/in/%02d", i), len(want)
				if asBlocks {
					target, all = fmt.Sprintf("/kept/%02d.car", i), 1
				}
				at := rand.Int64N(size + 200_000)
				body := &killing{r: bytes.NewReader(archive.Bytes()), at: at, kill: n.Kill}
				_, err := files(t, n, who).Import(t.Context(), target, body, size, asBlocks, false)
				body.once(n.Kill)
				n.Start()
				n.WaitReady()
				here := importedAt(t, w.Node(1), who, target, asBlocks, archive.Bytes(), want)
				if err == nil && here != all {
					t.Fatalf("point %d of %d: acknowledged, and %d are there (blocks: %t)", at, size, here, asBlocks)
				}
				if _, err := files(t, w.Node(1), who).Import(t.Context(), target, bytes.NewReader(archive.Bytes()), size,
					asBlocks, true); err != nil {
					t.Fatalf("point %d of %d: again: %v", at, size, err)
				}
				if again := importedAt(t, w.Node(0), who, target, asBlocks, archive.Bytes(), want); again != all {
					t.Fatalf("point %d of %d: imported again, and %d are there (blocks: %t)", at, size, again, asBlocks)
				}
			}
		}
		wholeAfter(t, w)
	})
}

// importedAt counts what is there of an archive, each of which must be whole.
func importedAt(t *testing.T, n *system.Node, who did.Signer, target string, asBlocks bool, archive []byte,
	want map[string][]byte,
) int {
	t.Helper()
	folder := target
	if asBlocks {
		folder = "/kept"
	}
	listed, err := files(t, n, who).Under(t.Context(), folder)
	if err != nil && !filestoreclient.IsStatus(err, 404) {
		t.Fatal(err)
	}
	count := 0
	for _, f := range listed {
		switch {
		case asBlocks && f.Path != target:
			continue
		case asBlocks && !bytes.Equal(contentOf(t, n, who, f.Path), archive),
			!asBlocks && !bytes.Equal(contentOf(t, n, who, f.Path), want[f.Name]):
			t.Fatalf("%s is there by half", f.Path)
		}
		count++
	}
	return count
}

func killPoints() int {
	if os.Getenv("CASTALIA_LONG") != "" {
		return 50
	}
	return 3
}

func contentOf(t *testing.T, n *system.Node, who did.Signer, path string) []byte {
	t.Helper()
	var got bytes.Buffer
	if _, err := files(t, n, who).Get(t.Context(), path, 0, &got); err != nil {
		t.Fatal(err)
	}
	return got.Bytes()
}

// wholeAfter ends every node and has all content checked.
func wholeAfter(t *testing.T, w *system.World) {
	t.Helper()
	for _, n := range w.Nodes {
		n.Stop()
	}
	if text, code := system.Run(t, w.Env, "doctor", "--deep"); code != 0 {
		t.Errorf("doctor: exit %d\n%s", code, text)
	}
}

// killingAt kills when so many bytes were read at any place.
type killingAt struct {
	killing
	content []byte
}

func (k *killingAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(k.content)) {
		return 0, io.EOF
	}
	n := copy(p, k.content[off:])
	if k.at -= int64(n); k.at <= 0 {
		k.once(k.kill)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
