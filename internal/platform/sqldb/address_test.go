package sqldb_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                          "sqlite:/data/castalia.db",
		"other.db":                  "sqlite:/data/other.db",
		"sqlite:other.db":           "sqlite:/data/other.db",
		"/elsewhere/x.db":           "sqlite:/elsewhere/x.db",
		"sqlite:/elsewhere/x.db":    "sqlite:/elsewhere/x.db",
		"postgres://u:p@host/db":    "postgres://u:p@host/db",
		"postgresql://u:p@host/db":  "postgresql://u:p@host/db",
		"mysql://host/db":           "",
		"sqlite:":                   "",
		"https://example.org/a.sql": "",
	} {
		got, err := sqldb.Address(in, "/data")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Address(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestRedactHidesThePassword(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://u:secret@host/db":              "postgres://u:xxxxx@host/db",
		"postgres://host/db?password=secret&x=1":   "postgres://host/db?password=xxxxx&x=1",
		"postgres://u:sec%ret@host:port/db":        "postgres://…",
		"sqlite:/data/castalia.db":                 "sqlite:/data/castalia.db",
		"postgres://u@host/db?sslmode=verify-full": "postgres://u@host/db?sslmode=verify-full",
	} {
		if got := sqldb.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}
