package concat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/concat"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

var owner = filestore.Owner("did:key:zAlice")

// begun makes a complete piece.
func begun(t *testing.T, w *filestoretest.World, content string) string {
	t.Helper()
	u, err := w.CreateUpload(t.Context(), owner, filestore.NewUpload{Length: int64(len(content)), Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	release, _, err := w.LockUpload(t.Context(), u.ID, "writer")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := w.WriteUpload(t.Context(), owner, u.ID, "writer", 0, strings.NewReader(content), nil); err != nil {
		t.Fatal(err)
	}
	return u.ID
}

var errDied = errors.New("the node died")

// dying is a node that goes away at one of its steps.
type dying struct {
	*filestore.Service
	put, keep, abort bool
}

func (d dying) Put(ctx context.Context, a filestore.Access, p filestore.Put) (filestore.Receipt, error) {
	if d.put {
		return filestore.Receipt{}, errDied
	}
	return d.Service.Put(ctx, a, p)
}

func (d dying) KeepJoined(ctx context.Context, u filestore.Upload) (filestore.Upload, error) {
	if d.keep {
		return filestore.Upload{}, errDied
	}
	return d.Service.KeepJoined(ctx, u)
}

func (d dying) AbortUpload(ctx context.Context, a filestore.Access, id string) error {
	if d.abort {
		return errDied
	}
	return d.Service.AbortUpload(ctx, a, id)
}

// Wherever a node dies, the next one that is asked makes the same file of the
// same pieces, once.
func TestJoiningOutlivesANode(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		content := string(blobtest.Bytes(2<<20 + 99))
		for name, node := range map[string]dying{
			"before the file is stored":           {w.Service, true, false, false},
			"before the upload is remembered":     {w.Service, false, true, false},
			"before the pieces are let go":        {w.Service, false, false, true},
			"not at all, and the answer was lost": {w.Service, false, false, false},
		} {
			f := concat.Final{
				Path: "/" + name, MimeType: "text/plain",
				Parts: []string{begun(t, w, content[:1<<20+5]), begun(t, w, content[1<<20+5:])},
			}
			if _, _, err := concat.Join(t.Context(), node, owner, f); (err != nil) != (node.put || node.keep) {
				t.Fatalf("%s: %v", name, err)
			}
			first, r, err := concat.Join(t.Context(), w.Node(), owner, f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, r2, err := concat.Join(t.Context(), w.Node(), owner, f)
			if err != nil || again.ID != first.ID || r2.File.ID != r.File.ID || r.File.Version != 1 || r2.File.Version != 1 {
				t.Errorf("%s: %+v, %+v, %v", name, r.File, r2.File, err)
			}
			if r.File.Size != int64(len(content)) {
				t.Errorf("%s: %d bytes", name, r.File.Size)
			}
			u, err := w.Usage(t.Context(), owner)
			if err != nil {
				t.Fatal(err)
			}
			if u.Versions != u.Files {
				t.Errorf("%s: %d versions of %d files", name, u.Versions, u.Files)
			}
		}
	})
}

// A damaged piece is the store's fault, not its sender's, and nothing shows.
func TestADamagedPieceIsTold(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	good, bad := begun(t, w, strings.Repeat("a", 100_000)), begun(t, w, strings.Repeat("b", 100_000))
	u, err := w.Upload(t.Context(), owner, bad)
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Store.Blob(t.Context(), u.Blob)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Blobs.Delete(t.Context(), b.Extents[0].Object); err != nil {
		t.Fatal(err)
	}
	f := concat.Final{Path: "/f", Parts: []string{good, bad}}
	if _, _, err := concat.Join(t.Context(), w.Service, owner, f); fault.From(err).Code != "corrupt" {
		t.Errorf("joined over damage: %v", err)
	}
	if _, err := w.Stat(t.Context(), owner, "/f"); !fault.Is(err, fault.NotFound) {
		t.Errorf("half a file shows: %v", err)
	}
}
