package archiving_test

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/archiving"
	"github.com/castalia-org/castalia/internal/app/shipping"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func settings(t *testing.T, env ...string) *config.Settings {
	t.Helper()
	var s config.Settings
	data := "CASTALIA_DATA=" + t.TempDir()
	if _, err := config.Load(&s, config.Input{Env: append([]string{data}, env...)}); err != nil {
		t.Fatal(err)
	}
	s.Identity.OracleKey = make(config.Key, 32)
	return &s
}

func opened(t *testing.T, db *sqldb.DB, objects blob.Store, s *config.Settings) (*archiving.Archiving, error) {
	t.Helper()
	sqldbtest.Migrate(t, db, audit.Migrations(), operatordocsql.Migrations())
	quiet := operatordoc.Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	shelf := operatordoc.NewShelf(operatordocsql.New(db), quiet)
	plan, err := operatordoc.Put(shelf, archiving.Document(s.Backups))
	if err != nil {
		return nil, err
	}
	return archiving.New(archiving.Deps{
		DB: db, Blobs: objects, Leases: lease.NewKeeper(db, "me"), Settings: s, Schedule: plan, Trail: audit.New(db),
		Migrations: []sqldb.Migrations{audit.Migrations(), operatordocsql.Migrations()},
		Metrics:    telemetry.NewMetrics(), Version: "test", Log: slog.New(slog.DiscardHandler),
	})
}

func key(t *testing.T) (identity, recipient string) {
	t.Helper()
	identity, recipient, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return identity, recipient
}

func TestWhatASchedulerMakesCanBeRestored(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		identity, recipient := key(t)
		s := settings(t, "BACKUP_URL=file://"+t.TempDir(), "BACKUP_RECIPIENTS="+recipient)
		objects := blobmem.New()
		if _, err := objects.Put(t.Context(), "files/ab/abcd", strings.NewReader("an object"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		db := open(t)
		a, err := opened(t, db, objects, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Trail.Begin(t.Context(), audit.Act{Actor: "somebody", Act: "GET /x"}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(a.Plan(t.Context()), a.Work(t.Context())); err != nil {
			t.Fatal(err)
		}
		list, err := a.Place.List(t.Context())
		if err != nil || len(list.Backups) != 1 || list.Backups[0].Objects != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		_, body, err := a.Place.Content(t.Context(), list.Backups[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = body.Close() }()
		plain, err := archive.Decrypt(body, func(archive.Locked) (archive.Keys, error) { return archive.KeysFrom(identity) })
		if err != nil {
			t.Fatal(err)
		}
		there, target := blobmem.New(), open(t)
		author := archive.Author{}
		if err := shipping.Expect(s, &author); err != nil || author.Signer == "" {
			t.Fatal(author.Signer, err)
		}
		did, err := archive.Read(t.Context(), plain, author, archive.Place{
			DB: target, Blobs: there, Migrations: []sqldb.Migrations{audit.Migrations(), operatordocsql.Migrations()},
		})
		if err != nil || did.Objects != 1 {
			t.Fatalf("%+v, %v", did, err)
		}
		acts, err := audit.New(target).List(t.Context(), audit.Filter{Actor: "somebody", Limit: 2})
		if err != nil || len(acts) != 1 {
			t.Errorf("%d acts came over: %v", len(acts), err)
		}
	})
}

func TestSettingsThatWouldNotDoAreRefused(t *testing.T) {
	t.Parallel()
	_, recipient := key(t)
	for name, env := range map[string][]string{
		"BACKUP_RECIPIENTS":  {"BACKUP_URL=s3://bucket/x"},
		"read recipient":     {"BACKUP_URL=s3://bucket/x", "BACKUP_RECIPIENTS=me"},
		"allowed are file":   {"BACKUP_URL=ftp://host/x", "BACKUP_RECIPIENTS=" + recipient},
		"every: given":       {"BACKUP_EVERY=5m"},
		`keep: given "many"`: {"BACKUP_KEEP=many"},
	} {
		_, err := opened(t, sqldbtest.SQLite(t), blobmem.New(), settings(t, env...))
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v, want something of %s", env, err, name)
		}
	}
}

// A folder that is not there may be that of a disk that is not mounted: the server starts,
// and says so when a backup is due.
func TestAFolderThatIsMissingIsNotMade(t *testing.T) {
	t.Parallel()
	_, recipient := key(t)
	missing := filepath.Join(t.TempDir(), "mount")
	s := settings(t, "BACKUP_URL=file://"+missing, "BACKUP_RECIPIENTS="+recipient)
	a, err := opened(t, sqldbtest.SQLite(t), blobmem.New(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Plan(t.Context()), a.Work(t.Context())); err != nil {
		t.Fatal(err)
	}
	if said := a.Trouble(); len(said) != 1 || !strings.Contains(said[0].Error(), missing) {
		t.Errorf("health says %q", said)
	}
}

// Several deployments may share a folder: what another is writing stays, and what one that
// was killed left goes by its age.
func TestABackupLeavesThatOfAnotherDeploymentAlone(t *testing.T) {
	t.Parallel()
	_, recipient := key(t)
	folder := t.TempDir()
	s := settings(t, "BACKUP_URL=file://"+folder, "BACKUP_RECIPIENTS="+recipient)
	a, err := opened(t, sqldbtest.SQLite(t), blobmem.New(), s)
	if err != nil {
		t.Fatal(err)
	}
	running, left := filepath.Join(folder, ".tmp", "put-1"), filepath.Join(folder, ".tmp", "put-2")
	old := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.Mkdir(filepath.Dir(running), 0o700), os.WriteFile(running, nil, 0o600),
		os.WriteFile(left, nil, 0o600), os.Chtimes(left, old, old)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Plan(t.Context()), a.Work(t.Context())); err != nil {
		t.Fatal(err)
	}
	if list, err := a.Place.List(t.Context()); err != nil || len(list.Backups) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := os.Stat(running); err != nil {
		t.Errorf("what another deployment is writing is gone: %v", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left long ago is still there: %v", err)
	}
}

func TestTheEnvironmentRulesOverTheDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env      []string
		readOnly bool
		want     string
	}{
		{nil, false, "every: off\nkeep: off\n"},
		{[]string{"BACKUP_URL=s3://bucket"}, false, "every: 1d\nkeep: 14\n"},
		{[]string{"BACKUP_URL=s3://bucket", "BACKUP_EVERY=off"}, true, "every: off\nkeep: 14\n"},
		{[]string{"BACKUP_URL=s3://bucket", "BACKUP_EVERY=12h"}, true, "every: 12h0m0s\nkeep: 14\n"},
		{[]string{"BACKUP_URL=s3://bucket", "BACKUP_KEEP=3"}, true, "every: 1d\nkeep: 3\n"},
		{[]string{"BACKUP_URL=s3://bucket", "BACKUP_KEEP=off"}, true, "every: 1d\nkeep: off\n"},
		{[]string{"BACKUP_KEEP=3"}, true, "every: off\nkeep: 3\n"},
		{[]string{"BACKUP_EVERY=12h", "BACKUP_KEEP=3"}, true, "every: 12h0m0s\nkeep: 3\n"},
	} {
		db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), operatordocsql.Migrations())
		quiet := operatordoc.Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
		shelf := operatordoc.NewShelf(operatordocsql.New(db), quiet)
		plan, err := operatordoc.Put(shelf, archiving.Document(settings(t, c.env...).Backups))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Value().Text(); got != c.want || plan.State().ReadOnly() != c.readOnly {
			t.Errorf("%v: %q, read only %t", c.env, got, plan.State().ReadOnly())
		}
	}
}

// gone is a reader that hangs up after the first bytes.
type gone struct {
	*httptest.ResponseRecorder
	writes int
}

func (g *gone) Write([]byte) (int, error) {
	g.writes++
	return 0, io.ErrClosedPipe
}

func TestADownloadEndsWithItsReader(t *testing.T) {
	t.Parallel()
	_, recipient := key(t)
	s := settings(t, "BACKUP_URL=file://"+t.TempDir(), "BACKUP_RECIPIENTS="+recipient)
	objects := blobmem.New()
	large := strings.NewReader(strings.Repeat("x", 1<<20))
	if _, err := objects.Put(t.Context(), "files/ab/abcd", large, blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	a, err := opened(t, sqldbtest.SQLite(t), objects, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Plan(t.Context()), a.Work(t.Context())); err != nil {
		t.Fatal(err)
	}
	list, err := a.Place.List(t.Context())
	if err != nil || len(list.Backups) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, route := range a.Surface().Routes {
		if route.Method != http.MethodGet || !strings.HasSuffix(route.Pattern, "/archive") {
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.SetPathValue("name", list.Backups[0].Name)
		w := &gone{ResponseRecorder: httptest.NewRecorder()}
		if err := route.Handler(w, r); !errors.Is(err, io.ErrClosedPipe) || w.writes != 1 {
			t.Errorf("%d writes after the reader had gone: %v", w.writes, err)
		}
		return
	}
	t.Error("there is no such route")
}
