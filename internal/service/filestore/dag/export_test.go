package dag_test

import (
	"context"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/dag"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// What is planned is held in memory: an export of too much is refused, and so is one
// more beside others that are not sent yet.
func TestPlansHoldSoMuch(t *testing.T) {
	t.Parallel()
	const ns = "did:key:zOwner"
	w := filestoretest.Embedded(t)
	owner := filestore.Owner(ns)
	fill := func(at string, folders int) {
		t.Helper()
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
				INSERT INTO filestore_folders (ns, path, hidden, id, created_ms) SELECT $2, $3 || (100000 + i), 0, $3 || i, 0 FROM n`, folders, ns, at)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("\u00e9", 950)
	fill("/large/"+long, 9000) // of 2 KiB each
	fill("/larger/a/"+long, 20_000)
	fill("/larger/b/"+long, 20_000)
	if _, err := w.DAG.Export(t.Context(), owner, "/larger"); !fault.Is(err, fault.TooLarge) || fault.From(err).Code != "export_too_large" {
		t.Fatalf("an export of 80 MB of paths: %v", err)
	}
	var open []*dag.Export
	for {
		e, err := w.DAG.Export(t.Context(), owner, "/large")
		if fault.Is(err, fault.RateLimited) {
			break
		}
		if err != nil || len(open) > 20 {
			t.Fatalf("beside %d others: %v", len(open), err)
		}
		open = append(open, e)
	}
	if len(open) < 2 {
		t.Errorf("%d exports side by side", len(open))
	}
	if _, err := w.DAG.Export(t.Context(), filestore.Owner("did:key:zOther"), "/"); err != nil {
		t.Errorf("of somebody else beside them: %v", err)
	}
	for _, e := range open {
		e.Close()
	}
	if _, err := w.DAG.Export(t.Context(), owner, "/large"); err != nil {
		t.Errorf("after the others: %v", err)
	}
}
