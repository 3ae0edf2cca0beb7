package inspect_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/inspect"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

const token = "the operator's own token"

// node is a server with the routes, and one more by which operators change something.
type node struct {
	server  *httpserver.Server
	changed int
}

func newNode(t *testing.T, db *sqldb.DB, role httpserver.Role) *node {
	t.Helper()
	var settings config.Settings
	given, err := config.Load(&settings, config.Input{Env: []string{"OPERATOR_TOKEN=" + token, "PORT=4000", "DATABASE_URL=postgres://ada:s3cret@db/x"}})
	if err != nil {
		t.Fatal(err)
	}
	recent := &telemetry.Recent{}
	d := inspect.Deps{
		Node: "node-1", Settings: given, Recent: recent, Trail: audit.New(db), Log: slog.New(slog.DiscardHandler),
		Documents: func() []operatordoc.State {
			return []operatordoc.State{{
				Name: "models", Source: operatordoc.FromEnvironment, Where: "MODELS", Variable: "LOG_FORMAT, PUBLIC_URL",
			}}
		},
		Stored: func(setting string) (string, bool) { return "https://a.example.org", setting == "PUBLIC_URL" },
	}
	n := &node{}
	n.server, err = httpserver.New(httpserver.Config{
		OperatorToken: token, Audit: d.Record,
		Logger: telemetry.NewLogger(io.Discard, telemetry.Config{Format: "json", Recent: recent}),
		SignedOperator: func(*http.Request) (httpserver.OperatorIdentity, error) {
			return httpserver.OperatorIdentity{Name: "did:key:zAda", Role: role}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	change := httpserver.Surface{Name: "change", Routes: []httpserver.Route{{
		Method: http.MethodPost, Pattern: "/operator/things/{name}", Auth: httpserver.Operator,
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			n.changed++
			if r.PathValue("name") == "bad" {
				return fault.New(fault.Conflict, "no")
			}
			w.WriteHeader(http.StatusNoContent)
			return nil
		},
	}}}
	for _, s := range []httpserver.Surface{inspect.Surface(d), change} {
		if err := n.server.Mount(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func (n *node) send(t *testing.T, method, target, bearer string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+bearer)
	w := httptest.NewRecorder()
	n.server.ServeHTTP(w, r)
	return w
}

func (n *node) read(t *testing.T, target string, into any) {
	t.Helper()
	got := n.send(t, http.MethodGet, target, token)
	if err := json.Unmarshal(got.Body.Bytes(), into); err != nil || got.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", target, got.Code, got.Body)
	}
}

func each(t *testing.T, body func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		body(t, sqldbtest.Migrate(t, open(t), audit.Migrations()))
	})
}

func TestChangesAreInTheTrail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		n := newNode(t, db, httpserver.Changer)
		n.send(t, http.MethodPost, "/operator/things/good", token)
		n.send(t, http.MethodPost, "/operator/things/bad", "signed")
		n.send(t, http.MethodPost, "/operator/things/+254700000001", token)
		var said inspect.Acts
		n.read(t, "/operator/audit", &said)
		if len(said.Acts) != 3 || n.changed != 3 {
			t.Fatalf("%d changes, %+v", n.changed, said.Acts)
		}
		for i, want := range []audit.Act{
			{Actor: "operator", Role: "owner", Status: 204},
			{Actor: "did:key:zAda", Role: "operator", Status: 409},
			{Actor: "operator", Role: "owner", Status: 204},
		} {
			if got := said.Acts[i]; got.Actor != want.Actor || got.Role != want.Role || got.Status != want.Status ||
				got.Act != "POST /operator/things/{name}" {
				t.Errorf("act %d: %+v", i, got)
			}
			if strings.Contains(said.Acts[i].Target, "700000001") {
				t.Errorf("a telephone number is in the trail: %s", said.Acts[i].Target)
			}
		}
		n.read(t, "/operator/audit?actor=did:key:zAda&since=2020-01-01T00:00:00Z", &said)
		if len(said.Acts) != 1 || said.Next != "" {
			t.Errorf("Ada's: %+v", said)
		}
		n.read(t, "/operator/audit?limit=2", &said)
		n.read(t, "/operator/audit?limit=2&before="+said.Next, &said)
		if len(said.Acts) != 1 {
			t.Errorf("the second page: %+v", said)
		}
		rows, err := csv.NewReader(n.send(t, http.MethodGet, "/operator/audit/export?actor=operator", token).Body).ReadAll()
		if err != nil || len(rows) != 3 || rows[0][2] != "actor" {
			t.Errorf("export: %q %v", rows, err)
		}
		for _, bad := range []string{"audit?since=yesterday", "audit?limit=501", "audit?actor=a&act=b", "audit/export?until=x", "logs?level=loud", "logs?limit=0", "logs?contains=" + strings.Repeat("x", 201)} {
			if got := n.send(t, http.MethodGet, "/operator/"+bad, token); got.Code != http.StatusBadRequest {
				t.Errorf("%.60s: %d", bad, got.Code)
			}
		}
	})
}

// TestNumbersAreNotInTheTrail: however an operator types them.
func TestNumbersAreNotInTheTrail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		n := newNode(t, db, httpserver.Changer)
		for _, typed := range []string{"+254700000001", "%2B254700000001", "254700000001", "0700000001", "00254700000001", "700000001"} {
			n.send(t, http.MethodPost, "/operator/things/"+typed, token)
		}
		n.send(t, http.MethodPost, "/operator/things/1234567", token)
		var said inspect.Acts
		n.read(t, "/operator/audit", &said)
		if len(said.Acts) != 7 || said.Acts[0].Target != "/operator/things/1234567" {
			t.Errorf("%+v", said.Acts)
		}
		for _, act := range said.Acts {
			if strings.Contains(act.Target, "00000001") {
				t.Errorf("a telephone number is in the trail: %s", act.Target)
			}
		}
	})
}

// TestTheTrailIsWhatIsSeen: who may little must not hide from who reads it in a terminal.
func TestTheTrailIsWhatIsSeen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		n := newNode(t, db, httpserver.Changer)
		for typed, want := range map[string]string{
			"%1b%5b1A%1b%5b2K":      "%1B[1A%1B[2K", // up, and erase the line
			"a%0a2026-11-17%09ada":  "a%0A2026-11-17%09ada",
			"%e2%80%aegnp.exe":      "%E2%80%AEgnp.exe", // the rest from right to left
			"a%00b":                 "a%00b",
			"%ff":                   "%FF",
			"%c2%9b31m":             "%C2%9B31m",
			"caf%c3%a9%20au%20lait": "café au lait",
		} {
			n.send(t, http.MethodPost, "/operator/things/"+typed, token)
			var said inspect.Acts
			n.read(t, "/operator/audit?limit=1", &said)
			if len(said.Acts) != 1 || said.Acts[0].Target != "/operator/things/"+want {
				t.Errorf("%s: %+v", typed, said.Acts)
			}
		}
	})
}

// TestNothingIsChangedUnseen: what cannot be written down is not done.
func TestNothingIsChangedUnseen(t *testing.T) {
	t.Parallel()
	broken := errors.New("away")
	server, err := httpserver.New(httpserver.Config{
		OperatorToken: token,
		Audit: func(_ context.Context, _ httpserver.OperatorIdentity, _, _ string) (func(int), error) {
			return nil, broken
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := false
	if err := server.Mount(httpserver.Surface{Name: "x", Routes: []httpserver.Route{{
		Method: http.MethodPut, Pattern: "/operator/x", Auth: httpserver.Operator,
		Handler: func(http.ResponseWriter, *http.Request) error { done = true; return nil },
	}}}); err != nil {
		t.Fatal(err)
	}
	n := &node{server: server}
	if got := n.send(t, http.MethodPut, "/operator/x", token); got.Code != http.StatusInternalServerError || done {
		t.Errorf("%d, done %v", got.Code, done)
	}
}

func TestSettingsAndLogsAreForOperatorsAndMasked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		n := newNode(t, db, httpserver.Viewer)
		got := n.send(t, http.MethodGet, "/operator/settings", "signed")
		var said inspect.Settings
		if err := json.Unmarshal(got.Body.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		if text := got.Body.String(); strings.Contains(text, token) || strings.Contains(text, "s3cret") {
			t.Error("a secret is shown")
		}
		from := map[string]string{}
		for _, s := range said.Settings {
			from[s.Name] = s.Source + " " + s.Value
			if ruled := s.Name == "PUBLIC_URL" || s.Name == "LOG_FORMAT"; ruled != (s.Document == "models") {
				t.Errorf("%s is ruled by %q", s.Name, s.Document)
			}
		}
		if from["PUBLIC_URL"] != "database https://a.example.org" {
			t.Errorf("what operators stored: %q", from["PUBLIC_URL"])
		}
		if from["PORT"] != "environment 4000" || from["LOG_LEVEL"] != "default info" || said.Node != "node-1" {
			t.Errorf("%q", from)
		}
		if len(said.Documents) != 1 || !said.Documents[0].Restart || said.Documents[0].Where != "MODELS" {
			t.Errorf("%+v", said.Documents)
		}
		if got := n.send(t, http.MethodGet, "/operator/logs", "signed"); got.Code != http.StatusForbidden {
			t.Errorf("a viewer reads logs: %d", got.Code)
		}
		var logs inspect.Logs
		n.read(t, "/operator/logs?contains=/operator/settings", &logs)
		if len(logs.Lines) != 1 || !strings.Contains(string(logs.Lines[0]), `"msg":"request"`) {
			t.Errorf("%s", logs.Lines)
		}
	})
}
