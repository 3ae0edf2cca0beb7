package app

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// TestMatrixOfAClosedProgram holds every protected route against a stranger with
// a good token of their own: who is not a member gets the same answer everywhere.
func TestMatrixOfAClosedProgram(t *testing.T) {
	t.Parallel()
	w := open(t, "ACCESS", "closed", "ACCESS_DIDS", alice.DID, "QUERY_AUTH", "ucan")
	const text = "This oracle is closed to newcomers: ask its operator to add your DID."
	refused := func(name string, r request, header []string) {
		t.Helper()
		got := w.send(t, r.with(header...))
		want(t, name, r, got, http.StatusForbidden)
		if message(got) != text && r.method != http.MethodHead {
			t.Errorf("%s: %s %s says %q", name, r.method, r.target, message(got))
		}
	}
	rows := map[identity.Surface][]row{identity.Oracle: oracleRows, identity.Files: fileRows, identity.Query: {dynamicRow}}
	for surface, rows := range rows {
		token, alices := identitytest.Invocation(t, bob, w.DID()), w.tokens["alice"]
		if surface == identity.Files {
			token, alices = identitytest.Files(t, bob, w.DID(), "fs/*"), w.tokens["alice files"]
		}
		for _, row := range rows {
			r := w.request(t, row)
			refused("Bob", r, headers(surface, token))
			if surface == identity.Oracle {
				refused("Bob by delegation", r, []string{"X-Ucan-Delegation", identitytest.Delegation(t, bob, w.DID(), identitytest.Can("*", "ixo:oracle"))})
			}
			r.may = append(r.may, "see")
			want(t, "Alice", r, w.send(t, r.with(headers(surface, alices)...)), row.owner)
		}
	}
	for _, row := range publicRows {
		r := w.request(t, row)
		want(t, "anybody", r, w.send(t, r), row.owner)
	}
	link := w.link(t)
	read := identitytest.Files(t, mallory, w.DID(), "", identitytest.Can("fs/read", alice.Home("/"+marker)),
		identitytest.Proof(link))
	r := request{method: http.MethodGet, target: "/api/fs/content?path=" + w.file(t).Path, may: []string{"see", "text"}}
	if got := w.send(t, r.with(headers(identity.Files, read)...)); got.Code != http.StatusOK ||
		!strings.Contains(got.Body.String(), marker) {
		t.Errorf("a link of a member: %d %s", got.Code, got.Body)
	}
}

// startOn builds the program on a folder and returns who may come in.
func startOn(t *testing.T, folder string, set ...string) (*App, error) {
	t.Helper()
	flags := map[string]string{"PORT": "0", "HOST": "127.0.0.1", "CASTALIA_DATA": folder}
	for i := 0; i < len(set); i += 2 {
		flags[set[i]] = set[i+1]
	}
	var settings config.Settings
	if _, err := config.Load(&settings, config.Input{Flags: flags}); err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	program, err := New(t.Context(), Options{Settings: settings, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err == nil {
		t.Cleanup(func() {
			if err := program.Close(); err != nil {
				t.Error(err)
			}
		})
		program.opt.Version = log.String() // what it said while it started
	}
	return program, err
}

func TestProductionChoosesWhoMayComeIn(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"production", "Production", "staging"} {
		_, err := startOn(t, t.TempDir(), "CASTALIA_ENV", env)
		if err == nil {
			t.Fatalf("a new %s deployment started without a choice", env)
		}
		for _, choice := range []string{"ACCESS=open", "ACCESS=invite", "ACCESS=closed"} {
			if !strings.Contains(err.Error(), choice) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the refusal is not one line that names %s: %v", choice, err)
			}
		}
	}
	for _, mode := range []string{"open", "invite", "closed"} {
		program, err := startOn(t, t.TempDir(), "CASTALIA_ENV", "production", "ACCESS", mode)
		if err != nil || string(program.access.Mode()) != mode || strings.Contains(program.opt.Version, "may come in and use the model") {
			t.Errorf("ACCESS=%s: %v", mode, err)
		}
	}
}

func TestDevelopmentIsOpen(t *testing.T) {
	t.Parallel()
	for host, warned := range map[string]bool{"127.0.0.1": false, "0.0.0.0": true} {
		program, err := startOn(t, t.TempDir(), "HOST", host)
		if err != nil || program.access.Mode() != membership.Open {
			t.Fatal(err)
		}
		if got := strings.Contains(program.opt.Version, "others can reach this program"); got != warned {
			t.Errorf("HOST=%s: warned %t\n%s", host, got, program.opt.Version)
		}
		if got := program.allowances(); got != (allowances{}) {
			t.Errorf("limits in development: %+v", got)
		}
	}
}

// TestAnUpgradeWithUsersStartsOpen leaves a production deployment from before
// there was a choice as it was, and says so.
func TestAnUpgradeWithUsersStartsOpen(t *testing.T) {
	t.Parallel()
	for what, statement := range map[string]string{
		"a session":   `INSERT INTO oracle_sessions (id, owner, title, created_ms, updated_ms) VALUES ('s', 'did:key:zA', '', 1, 1)`,
		"files":       `INSERT INTO filestore_namespaces (ns, wrapped_key, master_id, index_key, keep_versions, created_ms) VALUES ('did:key:zA', x'00', 'm', x'00', 1, 1)`,
		"telephones":  `INSERT INTO ussd_accounts (id, phone, name, email, language, pin, created_ms, updated_ms) VALUES ('1', '+1', '', '', 'en', x'00', 1, 1)`,
		"delegations": `INSERT INTO identity_delegations (user_did, raw, cid, expires_ms, updated_ms) VALUES ('did:key:zA', 'r', 'c', 0, 1)`,
	} {
		folder := t.TempDir()
		before, err := startOn(t, folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := before.res.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		}); err != nil {
			t.Fatal(what, err)
		}
		if err := before.Close(); err != nil {
			t.Fatal(err)
		}
		after, err := startOn(t, folder, "CASTALIA_ENV", "production")
		if err != nil || after.access.Mode() != membership.Open || !strings.Contains(after.opt.Version, "set ACCESS to open, invite or closed") {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got := after.allowances(); got != (allowances{}) {
			t.Errorf("%s: an upgrade set limits: %+v", what, got)
		}
	}
}

// choose stores who may come in as an operator does in the console.
func choose(t *testing.T, program *App, mode membership.Mode) {
	t.Helper()
	now, err := program.documents.shelf.Contents(t.Context(), membership.DocumentName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.documents.shelf.Store(t.Context(), membership.DocumentName, []byte(mode.Text()),
		operatordoc.Change{Author: "Ada", After: now.Newest}); err != nil {
		t.Fatal(err)
	}
}

// TestWhoMayComeInIsChosenWhileItRuns: by the document, with the limits that belong to
// it, and until a setting says something else, which then holds when it is gone.
func TestWhoMayComeInIsChosenWhileItRuns(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	start := func(set ...string) *App {
		t.Helper()
		program, err := startOn(t, folder, set...)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	wants := func(program *App, what string, mode membership.Mode, from operatordoc.Source) {
		t.Helper()
		if got, s := program.access.Mode(), program.access.Document.State(); got != mode || s.Source != from ||
			program.access.door.Mode() != mode {
			t.Errorf("%s: %s from the %s, want %s from the %s", what, got, s.Source, mode, from)
		}
	}
	program := start()
	wants(program, "at first", membership.Open, operatordoc.FromDefault)
	choose(t, program, membership.Invite)
	wants(program, "chosen", membership.Invite, operatordoc.FromDatabase)
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	program = start("CASTALIA_ENV", "production") // which was chosen for
	wants(program, "in production", membership.Invite, operatordoc.FromDatabase)
	if got := program.usual(); got != (people.Limits{}) {
		t.Errorf("limits of members: %+v", got)
	}
	choose(t, program, membership.Open)
	wanted := people.Limits{Bytes: openBytes, Messages: openMessages, CostMicros: openMicros}
	if got := program.usual(); got != wanted {
		t.Errorf("limits of strangers: %+v, want %+v", got, wanted)
	}
	if user := program.measures().Of(alice.DID); user.Messages != openMessages {
		t.Errorf("a stranger may send %d messages", user.Messages)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	program = start("ACCESS", "closed")
	wants(program, "by the setting", membership.Closed, operatordoc.FromEnvironment)
	_, err := program.documents.shelf.Store(t.Context(), membership.DocumentName, []byte("access: open"),
		operatordoc.Change{Author: "Ada", After: 3})
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "ACCESS") {
		t.Errorf("stored under the setting: %v", err)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	program = start()
	wants(program, "without the setting", membership.Closed, operatordoc.FromDatabase)
	v, err := program.documents.shelf.StoredVersion(t.Context(), membership.DocumentName, 3)
	if err != nil || v.Author != "ACCESS" {
		t.Errorf("the history does not say who closed it: %+v, %v", v, err)
	}
}

// TestAChoiceHolds starts again without the setting: what was chosen once is not
// opened by a setting that got lost.
func TestAChoiceHolds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i, step := range []struct{ env, given, want string }{
		{"production", "invite", "invite"},
		{"production", "", "invite"},
		{"development", "", "invite"},
		{"production", "open", "open"},
		{"production", "", "open"},
		{"development", "closed", "closed"},
		{"production", "", "closed"},
	} {
		program, err := startOn(t, folder, "CASTALIA_ENV", step.env, "ACCESS", step.given)
		if err != nil || string(program.access.Mode()) != step.want {
			t.Fatalf("step %d, %+v: %v", i, step, err)
		}
		wanted := allowances{}
		if step.env == "production" {
			wanted.questions = openQuestions
		}
		if step.env == "production" && step.want == "open" {
			wanted = allowances{people.Limits{Bytes: openBytes, Messages: openMessages, CostMicros: openMicros}, openQuestions}
		}
		if got := program.allowances(); got != wanted {
			t.Errorf("step %d: limits %+v, want %+v", i, got, wanted)
		}
		if err := program.Close(); err != nil {
			t.Fatal(err)
		}
	}
	program, err := startOn(t, folder, "CASTALIA_ENV", "production", "ACCESS", "open", "FILES_QUOTA", "off",
		"MESSAGES_PER_DAY", "3", "MODEL_COST_PER_DAY", "0.25", "TELEPHONE_QUESTIONS_PER_DAY", "2")
	if err != nil {
		t.Fatal(err)
	}
	if got := program.allowances(); got != (allowances{people.Limits{Messages: 3, CostMicros: 250_000}, 2}) {
		t.Errorf("limits that were set: %+v", got)
	}
}
