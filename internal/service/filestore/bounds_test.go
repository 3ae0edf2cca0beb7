package filestore_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
)

const asker = "did:key:zAsker"

// What reads content stops within a segment of it once the request has ended,
// also where the object store does not look.
func TestReadingEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		text := strings.Repeat(strings.Repeat("a", 99)+"\n", 40_000)
		w.MustPut(t, asker, "/f.txt", text+"b\n")
		w.MustPut(t, asker, "/f.txt", text+"cherry\n")
		owner := filestore.Owner(asker)
		for name, do := range map[string]func(context.Context) error{
			"grep": func(ctx context.Context) error {
				_, err := w.Find.Grep(ctx, owner, search.GrepQuery{Term: "b", Limit: 10})
				return err
			},
			"lines": func(ctx context.Context) error {
				_, err := w.Text.ReadPathLines(ctx, owner, "/f.txt", filetext.Window{})
				return err
			},
			"diff": func(ctx context.Context) error {
				_, _, err := w.Text.Diff(ctx, owner, "/f.txt", 0, 0)
				return err
			},
			"edit": func(ctx context.Context) error {
				_, err := w.Text.Edit(ctx, owner, filetext.Edit{Path: "/f.txt", Old: "zz", New: "y"})
				return err
			},
			"append": func(ctx context.Context) error {
				_, err := w.Text.Append(ctx, owner, filetext.Append{Path: "/f.txt", Text: "d"})
				return err
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			var reads atomic.Int64
			plan := blobtest.Healthy()
			const at = 5
			plan.Reading = func(context.Context) {
				if reads.Add(1) == at {
					cancel()
				}
			}
			w.Blobs.Set(plan)
			err := do(ctx)
			w.Blobs.Set(blobtest.Healthy())
			cancel()
			if n := reads.Load(); n > at+1 || n < at || err == nil {
				t.Errorf("%s: %d reads, %d after the end; %v", name, n, n-at, err)
			}
		}
	})
}

// An edit does not depend on whether what it changes can be shown; a difference does.
func TestTooDifferentToBeShown(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, asker, "/f.txt", strings.Repeat("a\n", 50_001))
		owner := filestore.Owner(asker)
		for _, dry := range []bool{true, false} {
			e, err := w.Text.Edit(t.Context(), owner, filetext.Edit{Path: "/f.txt", Old: "a", New: "b", All: true, DryRun: dry})
			if err != nil || e.Replacements != 50_001 || !strings.HasPrefix(e.Diff, "… (too different to show") {
				t.Errorf("dry %v: %v, %d, %.100q", dry, err, e.Replacements, e.Diff)
			}
		}
		if text, _, err := w.Text.Diff(t.Context(), owner, "/f.txt", 0, 0); !fault.Is(err, fault.TooLarge) || text != "" {
			t.Errorf("%v, %.100q", err, text)
		}
	})
}
