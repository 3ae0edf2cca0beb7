package filestore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

// slow is a store whose first look for a receipt finds none, and in which the
// first request then comes to its end before the repeated one goes on.
type slow struct {
	filestore.Store
	meanwhile func()
}

func (s *slow) Replay(ctx context.Context, namespace string, once filestore.Once) (filestore.Receipt, bool, error) {
	if first := s.meanwhile; first != nil {
		s.meanwhile = nil
		first()
		return filestore.Receipt{}, false, nil
	}
	return s.Store.Replay(ctx, namespace, once)
}

// A client that did not wait for the answer asks again while its first request is
// still at work: both get the same receipt.
func TestARepeatedRequestMeetsTheFirst(t *testing.T) {
	t.Parallel()
	once := filestore.Once{Key: "k", Fingerprint: "f"}
	at := filestore.Target{Path: "/f", Once: once}
	for name, do := range map[string]func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error){
		"create": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			return s.Put(ctx, owner, filestore.Put{
				Path: "/new", Mode: filestore.CreateOnly, Body: strings.NewReader("x"), Once: once,
			})
		},
		"create large": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			return s.Put(ctx, owner,
				filestore.Put{
					Path: "/new", Mode: filestore.CreateOnly, Body: strings.NewReader(strings.Repeat("x", 100_000)), Once: once,
				})
		},
		"move": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			return s.Move(ctx, owner, at, "/g", false)
		},
		"trash": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			return s.Trash(ctx, owner, at)
		},
		"restore": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			return s.Restore(ctx, owner, filestore.Target{Path: "/gone", Once: once}, "")
		},
		"purge": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			return s.Purge(ctx, owner, filestore.Target{Path: "/gone", Once: once})
		},
		"edit": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			e, err := filetext.New(s).Edit(ctx, owner, filetext.Edit{Path: "/f", Old: "one", New: "two", Once: once})
			return e.Receipt, err
		},
		"append": func(ctx context.Context, s *filestore.Service) (filestore.Receipt, error) {
			return filetext.New(s).Append(ctx, owner, filetext.Append{Path: "/f", Text: "two", Once: once})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
				w.MustPut(t, ns, "/f", "one")
				w.MustPut(t, ns, "/gone", "gone")
				if _, err := w.Trash(t.Context(), owner, filestore.Target{Path: "/gone"}); err != nil {
					t.Fatal(err)
				}
				var first filestore.Receipt
				store := &slow{Store: w.Store}
				store.meanwhile = func() {
					var err error
					if first, err = do(t.Context(), w.Service); err != nil {
						t.Fatal(err)
					}
				}
				node := filestore.New(filestore.Deps{Store: store, Blobs: w.Blobs, Now: w.Clock.Now},
					filestore.Config{MasterKey: filestoretest.MasterKey})
				got, err := do(t.Context(), node)
				if err != nil || !got.Replayed || got.Seq != first.Seq || got.File.ID != first.File.ID ||
					got.File.Version != first.File.Version {
					t.Errorf("the repeated request got %+v, %v; the first %+v", got, err, first)
				}
			})
		})
	}
}
