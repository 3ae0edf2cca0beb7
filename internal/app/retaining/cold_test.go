package retaining_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/retaining"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// withArchive is retention with an archive in an object store, and conversations that are
// due.
func withArchive(t *testing.T, db *sqldb.DB, objects blob.Store, talks int, env ...string) *retaining.Retaining {
	t.Helper()
	s := settings(t, env...)
	s.Files.MasterKey = config.Key(bytes.Repeat([]byte{3}, 32))
	oracletest.Migrated(t, db)
	cold, err := retaining.NewCold(db, objects, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	// The tables of the program are not there.
	cold.Keys.InForce = func(context.Context) (seal.Key, error) { return cold.Keys.Current, nil }
	r := opened(t, db, s, nil, func(d *retaining.Deps) { d.Cold = cold })
	st := oraclesql.New(db)
	for range talks {
		s := oracletest.NewSession(t, st)
		oracletest.Answer(t, st, oracletest.Say(t, st, s.ID, "hi", oracle.Interrupt).Run, "ho")
	}
	for _, text := range []string{
		`UPDATE oracle_sessions SET created_ms = 1, updated_ms = 1, unread = 0, indexed_seq = next_seq`, `UPDATE oracle_runs SET pruned = 1, opening = ''`, `DELETE FROM oracle_frames`,
	} {
		if _, err := db.WriteOne(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// asked is what a route answers.
func asked(ctx context.Context, t *testing.T, r *retaining.Retaining, method string) (string, error) {
	t.Helper()
	for _, route := range r.Surface().Routes {
		if route.Method == method {
			w := httptest.NewRecorder()
			err := route.Handler(w, httptest.NewRequestWithContext(ctx, method, route.Pattern, http.NoBody))
			return w.Body.String(), err
		}
	}
	t.Fatalf("no route with %s", method)
	return "", nil
}

func TestOperatorsArchiveAtOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		r := withArchive(t, open(t), blobmem.New(), 3, "RETENTION_ARCHIVE=30d")
		said, err := asked(t.Context(), t, r, http.MethodGet)
		if err != nil || !strings.Contains(said, `"keep":"30d","moves":true,"due":[{"table":"oracle_sessions","rows":3}]`) || !strings.Contains(said, `"archived":{"conversations":0,`) {
			t.Errorf("before: %s, %v", said, err)
		}
		if said, err = asked(t.Context(), t, r, http.MethodPost); err != nil || !strings.Contains(said, `"moved":3,"more":false,"now":{"conversations":3,`) {
			t.Errorf("now: %s, %v", said, err)
		}
		said, err = asked(t.Context(), t, r, http.MethodGet)
		if err != nil || strings.Contains(said, `"rows":3`) || !strings.Contains(said, `"archived":{"conversations":3,`) {
			t.Errorf("after: %s, %v", said, err)
		}
	})
}

func TestNothingIsArchivedThatWasNotChosen(t *testing.T) {
	t.Parallel()
	r := withArchive(t, sqldbtest.SQLite(t), blobmem.New(), 1, "RETENTION_RUNS=off")
	if said, err := asked(t.Context(), t, r, http.MethodPost); !fault.Is(err, fault.Conflict) {
		t.Errorf("%s, %v", said, err)
	}
}

// leaving is an object store whose first Put ends the request of who asked.
type leaving struct {
	blob.Store
	puts  int
	leave context.CancelFunc
}

func (l *leaving) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	l.puts++
	l.leave()
	return l.Store.Put(ctx, key, body, opt)
}

func TestArchivingEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	objects := &leaving{Store: blobmem.New(), leave: leave}
	r := withArchive(t, sqldbtest.SQLite(t), objects, 5, "RETENTION_ARCHIVE=30d")
	if said, err := asked(ctx, t, r, http.MethodPost); err == nil {
		t.Errorf("who left was told %s", said)
	}
	if objects.puts != 1 {
		t.Errorf("%d conversations were stored for nobody", objects.puts)
	}
	said, err := asked(t.Context(), t, r, http.MethodPost)
	if err != nil || !strings.Contains(said, `"conversations":5,`) {
		t.Errorf("afterwards: %s, %v", said, err)
	}
}
