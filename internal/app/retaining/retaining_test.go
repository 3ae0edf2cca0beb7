package retaining_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/retaining"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// told keeps what was reported.
type told []string

func (o *told) Emit(_ context.Context, _ sqldb.Querier, owner, kind string, _ time.Time, _ any) error {
	*o = append(*o, owner+" "+kind)
	return nil
}

func settings(t *testing.T, env ...string) *config.Settings {
	t.Helper()
	var s config.Settings
	if _, err := config.Load(&s, config.Input{Env: env}); err != nil {
		t.Fatal(err)
	}
	return &s
}

// opened is retention of conversations, with settings.
func opened(t *testing.T, db *sqldb.DB, s *config.Settings, outbox oraclesql.Outbox,
	change ...func(*retaining.Deps),
) *retaining.Retaining {
	t.Helper()
	sqldbtest.Migrate(t, db, audit.Migrations(), operatordocsql.Migrations(), oraclesql.Migrations())
	quiet := operatordoc.Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	shelf := operatordoc.NewShelf(operatordocsql.New(db), quiet)
	rules, err := operatordoc.Put(shelf, retaining.Document(s.Retention))
	if err != nil {
		t.Fatal(err)
	}
	d := retaining.Deps{
		DB: db, Leases: lease.NewKeeper(db, "me"), Settings: s, Rules: rules, Trail: audit.New(db), Outbox: outbox,
		Serves: func(service string) bool { return service == "oracle" }, Log: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&d)
	}
	r, err := retaining.New(d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOwnersHearOfConversationsThatAreErased(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		var got told
		db, s := open(t), settings(t, "RETENTION_TRANSCRIPTS=2d")
		r := opened(t, db, s, &got)
		old := oracletest.NewSession(t, oraclesql.New(db))
		if _, err := db.WriteOne(t.Context(), `UPDATE oracle_sessions SET created_ms = 1, updated_ms = 1 WHERE id = $1`, old.ID); err != nil {
			t.Fatal(err)
		}
		l, _, err := r.Leases.Acquire(t.Context(), "sweep", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		n, err := r.Sweep(t.Context(), l, retention.Transcripts, r.Sources[retention.Transcripts][0])
		if want := []string{oracletest.Owner + " session.ended"}; err != nil || n != 1 || !slices.Equal(got, want) {
			t.Errorf("%d went and %q was told, want %q: %v", n, got, want, err)
		}
	})
}

// What the environment says rules over the document, and that something is kept for ever
// is said too.
func TestTheEnvironmentRulesOverTheDocument(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]struct {
		readOnly bool
		rules    string
	}{
		"RETENTION_TRANSCRIPTS=":    {false, "transcripts: 30d\n"},
		"RETENTION_TRANSCRIPTS=off": {true, ""},
		"RETENTION_TRANSCRIPTS=0s":  {true, ""},
		"RETENTION_RUNS=off":        {true, ""},
		"RETENTION_RUNS=48h":        {true, "runs: 2d\n"},
	} {
		db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), operatordocsql.Migrations())
		stored := operatordocsql.New(db)
		quiet := operatordoc.Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
		before := operatordoc.NewShelf(stored, quiet)
		if _, err := operatordoc.Put(before, retaining.Document(settings(t).Retention)); err != nil {
			t.Fatal(err)
		}
		if _, err := before.Store(t.Context(), "retention", []byte("transcripts: 30d"), operatordoc.Change{Author: "o"}); err != nil {
			t.Fatal(err)
		}
		shelf := operatordoc.NewShelf(stored, quiet)
		rules, err := operatordoc.Put(shelf, retaining.Document(settings(t, env).Retention))
		if err != nil {
			t.Fatal(err)
		}
		if err := shelf.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := rules.Value().Text(); got != want.rules || rules.State().ReadOnly() != want.readOnly {
			t.Errorf("%s: %q is in force, read only %t, want %q, %t", env, got, rules.State().ReadOnly(), want.rules, want.readOnly)
		}
	}
}
