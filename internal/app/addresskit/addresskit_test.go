package addresskit_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/addresskit"
	"github.com/castalia-org/castalia/internal/app/autohttps"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func settings(t *testing.T, env ...string) config.Server {
	t.Helper()
	var s config.Settings
	if _, err := config.Load(&s, config.Input{Env: env}); err != nil {
		t.Fatal(err)
	}
	return s.Server
}

func TestTheDocument(t *testing.T) {
	t.Parallel()
	for _, a := range []addresskit.Address{
		{},
		{URL: "https://castalia.example/x"},
		{HTTPS: []string{"a.example.org"}},
		{URL: "http://10.0.0.7:3000", HTTPS: []string{"a.example.org", "b.example.org"}},
	} {
		got, err := addresskit.Parse([]byte(a.Text()), operatordoc.FromDatabase)
		if err != nil || got.URL != a.URL || !slices.Equal(got.HTTPS, a.HTTPS) {
			t.Errorf("%+v is read as %+v, %v", a, got, err)
		}
	}
	for text, why := range map[string]string{
		"https: [oracle.local]":                                  "nobody gives out certificates below .local",
		"https: [oracle.test]":                                   "below .test",
		"https: [10.0.0.7]":                                      "allowed are names such as oracle.example.org",
		"https: ['*.example.org']":                               "without *",
		"https: [Oracle.example.org]":                            "in lower case",
		"https: [a.example.org, a.example.org]":                  "twice",
		"https: [localhost]":                                     "allowed are names",
		"https: [https://a.example.org]":                         "allowed are names",
		"url: oracle.example.org":                                "allowed is an address such as",
		"url: ftp://a.example.org":                               "allowed is an address such as",
		"url: https://ada:pw@a.example.org/":                     "allowed is an address such as",
		"url: https://a.example.org/?a=b":                        "allowed is an address such as",
		"urls: https://a.example.org":                            "urls",
		"url: https://a.example.org/" + strings.Repeat("x", 500): "too long",
		"https: [" + strings.Repeat("a.example.org, ", 21) + "]": "too many",
	} {
		_, err := addresskit.Parse([]byte(text), operatordoc.FromDatabase)
		if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "hush-hush") {
			t.Errorf("%.60s: %v, want %q", text, err, why)
		}
	}
	if _, err := addresskit.Parse([]byte("https: [oracle.test]"), operatordoc.FromEnvironment); err != nil {
		t.Errorf("a name of an authority of their own, by a variable: %v", err)
	}
}

// world is a deployment's documents.
type world struct {
	db    *sqldb.DB
	shelf *operatordoc.Shelf
	desk  addresskit.Admin
}

// begin starts a node.
func begin(t *testing.T, db *sqldb.DB, env ...string) *world {
	t.Helper()
	s := settings(t, env...)
	w := &world{db: db, shelf: operatordoc.NewShelf(operatordocsql.New(db), operatordoc.Config{})}
	doc, err := operatordoc.Put(w.shelf, addresskit.Document(s))
	if err != nil {
		t.Fatal(err)
	}
	started, err := addresskit.AtStart(t.Context(), db, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.shelf.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.desk = addresskit.Admin{Now: doc, Started: started, Clock: time.Now}
	return w
}

var errTaken = errors.New("listen: permission denied")

// open opens the port, where it can be.
func (w *world) open(t *testing.T, problem error, env ...string) error {
	t.Helper()
	_, _, err := w.desk.Open(t.Context(), addresskit.Deps{
		Settings: settings(t, env...), Key: make([]byte, 32), DB: w.db, Leases: lease.NewKeeper(w.db, "one"),
		Secure: func(context.Context, string, *tls.Config, addresskit.Plain) error {
			return problem
		},
		Log: slog.New(slog.DiscardHandler),
	})
	return err
}

func (w *world) store(t *testing.T, text string) {
	t.Helper()
	now, err := w.shelf.Contents(t.Context(), addresskit.DocumentName)
	if err == nil {
		change := operatordoc.Change{Author: "ada", After: now.Newest}
		_, err = w.shelf.Store(t.Context(), addresskit.DocumentName, []byte(text), change)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) state(t *testing.T) addresskit.State {
	t.Helper()
	s, err := w.desk.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func each(t *testing.T, body func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		body(t, sqldbtest.Migrate(t, sqldbtest.Migrate(t, open(t), operatordocsql.Migrations()), autohttps.Migrations()))
	})
}

// TestWhatWaitsForARestartIsSaid follows a node from no address to one with HTTPS and back.
func TestWhatWaitsForARestartIsSaid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		w := begin(t, db)
		if s := w.state(t); s.NeedsRestart || s.URL != "" || s.Source != "built in" || s.Serving {
			t.Errorf("at the first start: %+v", s)
		}
		w.store(t, "https: [a.example.org]")
		s := w.state(t)
		if !s.NeedsRestart || !slices.Equal(s.Waits, []string{addresskit.OpenHTTPS, addresskit.Links}) ||
			s.URL != "https://a.example.org" || s.GivenURL != "" {
			t.Errorf("with a name: %+v", s)
		}
		for setting, want := range map[string]string{"HTTPS_DOMAINS": "a.example.org", "PUBLIC_URL": ""} {
			if got, ok := w.desk.Stored(setting); !ok || got != want {
				t.Errorf("%s: %q %t", setting, got, ok)
			}
		}
		w = begin(t, db, "HTTPS_PORT=8443")
		if err := w.open(t, nil, "HTTPS_PORT=8443"); err != nil {
			t.Fatal(err)
		}
		if s := w.state(t); s.NeedsRestart || !s.Serving || len(s.Names) != 1 || s.Names[0].Ready || s.URL != "https://a.example.org:8443" {
			t.Errorf("after a restart: %+v", s)
		}
		if got := w.desk.Secure(); got != "https://a.example.org:8443" {
			t.Errorf("the banner says %q", got)
		}
		w.store(t, "url: https://www.example.org/\nhttps: [a.example.org, b.example.org]")
		if s := w.state(t); !slices.Equal(s.Waits, []string{addresskit.Links}) || len(s.Names) != 2 || s.URL != "https://www.example.org" {
			t.Errorf("with a second name, which counts at once: %+v", s)
		}
		w.store(t, "https: []")
		if s := w.state(t); !slices.Equal(s.Waits, []string{addresskit.CloseHTTPS, addresskit.Links}) {
			t.Errorf("without names: %+v", s)
		}
	})
}

// TestAStoredNameKeepsNoProgramFromStarting: a setting does, since whoever set it is there.
func TestAStoredNameKeepsNoProgramFromStarting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		begin(t, db).store(t, "https: [a.example.org]")
		w := begin(t, db)
		if err := w.open(t, errTaken); err != nil {
			t.Fatalf("the program does not start: %v", err)
		}
		if s := w.state(t); s.Serving || s.Problem != errTaken.Error() || !s.NeedsRestart {
			t.Errorf("%+v", s)
		}
		w.store(t, "https: []")
		if s := w.state(t); s.NeedsRestart && slices.Contains(s.Waits, addresskit.OpenHTTPS) || s.Problem != "" {
			t.Errorf("after the name was taken back: %+v", s)
		}
		const env = "HTTPS_DOMAINS=b.example.org"
		w = begin(t, db, env)
		if err := w.open(t, errTaken, env); !errors.Is(err, errTaken) {
			t.Errorf("with a setting: %v", err)
		}
		if s := w.state(t); !s.ReadOnly || s.Where != "HTTPS_DOMAINS" || s.Source != "environment" || s.URL != "https://b.example.org" {
			t.Errorf("with a setting: %+v", s)
		}
		if _, ok := w.desk.Stored("HTTPS_DOMAINS"); ok {
			t.Error("a setting is taken for what operators stored")
		}
	})
}
