package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// The matrix: every route against every state of a credential. matrixrows_test.go
// writes down who may call each route and what it answers, or TestMatrix fails.

var (
	alice   = identitytest.Alice
	bob     = identitytest.Bob
	mallory = identitytest.Mallory
)

// marker is in everything that Alice keeps, and in nothing that others may see.
const marker = "wisteria-and-rye"

// world is the program on an empty data folder, with what Alice keeps in it.
type world struct {
	*App
	seen   atomic.Uint32 // requests so far
	made   atomic.Uint32 // things so far
	tokens map[string]string
}

// The secrets of plugins' routes that have a credential of their own.
const (
	grantSecret = "the treasurer's own token"
	cronSecret  = "the scheduler's own token"
)

// open starts the program with every service, and with every plugin that
// has routes switched on, so that none is left out.
func open(t *testing.T, set ...string) *world {
	t.Helper()
	return build(t, nil, set...).run(t)
}

// build is open without the workers: what happens, a request does.
func build(t *testing.T, change func(*Options), set ...string) *world {
	t.Helper()
	plugins := ShippedPlugins()
	var features []string
	for _, p := range plugins {
		if _, ok := p.(pluginhttp.RouteProvider); ok {
			features = append(features, p.Describe().Name+"=true")
		}
	}
	flags := map[string]string{
		"PORT": "0", "HOST": "127.0.0.1", "CASTALIA_DATA": t.TempDir(), "PRINCIPAL_RATE_LIMIT_PER_MINUTE": "0",
		"FEATURES": strings.Join(features, ","), "CREDITS_WELCOME": "1000000", "CREDITS_SECRET": grantSecret, "PROFILING_ENABLED": "true", "CRON_SECRET": cronSecret,
		"SLACK_SIGNING_SECRET": "the chat's", "SLACK_BOT_TOKEN": "the bot's", "TEAMCHAT_SECRET": cronSecret, "SLACK_API_URL": "http://127.0.0.1:1",
		"CALLS_PER_USER": "1000", "CALLS_PER_NODE": "1000", "WEBHOOKS_ALLOW_PRIVATE": "true",
	}
	for i := 0; i < len(set); i += 2 {
		flags[set[i]] = set[i+1]
	}
	var settings config.Settings
	if _, err := config.Load(&settings, config.Input{Flags: flags}, pluginconf.Parts(plugins)...); err != nil {
		t.Fatal(err)
	}
	options := Options{Settings: settings, Plugins: plugins, Log: slog.New(slog.DiscardHandler), Version: "1.2.3"}
	if change != nil {
		change(&options)
	}
	program, err := New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() }) // Run has done so already
	w := &world{App: program}
	w.tokens = map[string]string{
		"alice":       identitytest.Invocation(t, alice, w.DID(), identitytest.TTL(lasting)),
		"alice files": identitytest.Files(t, alice, w.DID(), "fs/*", identitytest.TTL(lasting)),
	}
	return w
}

// lasting is a lifetime, within the limit of them, that no test outlasts on a busy machine.
const lasting = 14 * time.Minute

func (w *world) awaitReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for w.send(t, request{method: http.MethodGet, target: "/ready", may: []string{"503"}}).Code != http.StatusOK {
		select {
		case <-ctx.Done():
			t.Fatal("the program does not become ready")
		case <-look.C:
		}
	}
}

// request is one request as some caller makes it.
type request struct {
	method, target, body string
	header               []string // name, value, …
	from                 string   // peer; a new one each time unless set, so that no limit is met
	host                 string
	// "503": a failure of the server; "text": an error that is not JSON; "see": Alice's things
	may []string
}

func (r request) with(header ...string) request {
	r.header = append(slices.Clip(header), r.header...)
	return r
}

func (r request) allows(what string) bool {
	return slices.Contains(r.may, what)
}

// foreignHost is what requests say that we are called. No answer repeats it: a
// link that leads there would lead to whoever wrote it.
const foreignHost = "somewhere-else.example"

// send makes a request and holds the answer against what every answer promises.
func (w *world) send(t *testing.T, r request) *httptest.ResponseRecorder {
	t.Helper()
	q := httptest.NewRequestWithContext(t.Context(), r.method, r.target, strings.NewReader(r.body))
	n := w.seen.Add(1)
	q.RemoteAddr = fmt.Sprintf("203.%d.%d.%d:4000", n>>16&255, n>>8&255, n&255)
	if r.from != "" {
		q.RemoteAddr = r.from
	}
	q.Host = foreignHost
	if r.host != "" {
		q.Host = r.host
	}
	if r.body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(r.header); i += 2 {
		q.Header.Set(r.header[i], r.header[i+1])
	}
	got := httptest.NewRecorder()
	w.server.ServeHTTP(got, q)

	about := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s %s: %s\n%d %.400s", r.method, r.target, fmt.Sprintf(format, args...), got.Code, got.Body)
	}
	if got.Header().Get("X-Request-Id") == "" {
		about("no X-Request-Id")
	}
	if got.Header().Get("X-Content-Type-Options") != "nosniff" {
		about("no nosniff")
	}
	if got.Code >= http.StatusInternalServerError && !r.allows("503") {
		about("the server failed")
	}
	if got.Code >= http.StatusBadRequest && r.method != http.MethodHead && !r.allows("text") {
		var body map[string]any
		if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil ||
			!strings.HasPrefix(got.Header().Get("Content-Type"), "application/json") {
			about("an error as %q, want JSON", got.Header().Get("Content-Type"))
		}
	}
	if text := fmt.Sprint(got.Header()) + got.Body.String(); strings.Contains(text, foreignHost) {
		about("repeats the Host that it was sent: %v", got.Header())
	}
	if !r.allows("see") && strings.Contains(got.Body.String(), marker) {
		about("shows what is Alice's")
	}
	return got
}

// want reports an answer with another status.
func want(t *testing.T, state string, r request, got *httptest.ResponseRecorder, status int) {
	t.Helper()
	if got.Code != status {
		t.Errorf("%s: %s %s: %d, want %d\n%.400s", state, r.method, r.target, got.Code, status, got.Body)
	}
}

// message is the text of an error.
func message(got *httptest.ResponseRecorder) string {
	var body struct{ Message, Error any }
	_ = json.Unmarshal(got.Body.Bytes(), &body)       // send has looked at the form
	if inner, ok := body.Error.(map[string]any); ok { // the form of OpenAI
		body.Message = inner["message"]
	}
	text, _ := body.Message.(string)
	return text
}

// headers carry a token as clients of the surface do.
func headers(surface identity.Surface, token string) []string {
	if surface == identity.Oracle || surface == identity.Entrance {
		return []string{"Authorization", "Bearer " + token, "X-Auth-Type", "ucan"}
	}
	return []string{"Authorization", "Bearer " + token}
}

// state is a credential that proves nothing.
type state struct {
	name   string
	header []string
	text   string // what a protected route says to it
}

// worthless returns every credential that must count as none.
func (w *world) worthless(t *testing.T, surface identity.Surface) []state {
	t.Helper()
	mint := func(from identitytest.Actor, audience string, options ...identitytest.Option) string {
		if surface != identity.Files && surface != identity.MCP {
			return identitytest.Invocation(t, from, audience, options...)
		}
		return identitytest.Files(t, from, audience, "fs/*", options...)
	}
	says := func(reason ucan.Reason) string {
		if surface == identity.Oracle || surface == identity.Entrance {
			return identity.TextInvalid
		}
		return "Invalid UCAN: " + string(reason)
	}
	missing := identity.TextMissingBearer
	if surface == identity.Oracle {
		missing = identity.TextMissing
	}
	if surface == identity.Entrance {
		missing = identity.TextMissingInvocation
	}
	appKey := w.appKey(t)
	nonce := identitytest.Nonce(fmt.Sprint(w.made.Add(1)))
	good := mint(alice, w.DID(), nonce)
	w.revoke(t, surface, good, good)
	grant := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("*", alice.Home("")),
		identitytest.Can("*", identity.OracleResource), nonce)
	proved := mint(bob, w.DID(), identitytest.Can("fs/*", alice.Home("")), identitytest.Can("*", identity.OracleResource),
		identitytest.Proof(grant))
	w.revoke(t, surface, proved, grant)
	states := []state{
		{"no credential", nil, missing},
		{"a name alone", []string{"X-Did", alice.DID}, missing},
		{"another scheme", []string{"Authorization", "Basic YWxpY2U6cHc=", "X-Auth-Type", "ucan"}, missing},
		{"garbage", headers(surface, "garbage"), says(ucan.Malformed)},
		{"expired", headers(surface, mint(alice, w.DID(), identitytest.TTL(-time.Minute))), says(ucan.Expired)},
		{
			"not yet valid", headers(surface, mint(alice, w.DID(),
				identitytest.NotBefore(time.Now().Add(lasting-time.Minute)), identitytest.TTL(lasting))),
			says(ucan.NotYetValid),
		},
		{"for another audience", headers(surface, mint(alice, mallory.DID)), says(ucan.WrongAudience)},
		{"signed by another key", headers(surface, mint(mallory.As(alice.DID), w.DID())), says(ucan.InvalidSignature)},
		{"revoked", headers(surface, good), says(ucan.Revoked)},
		{"proof revoked", headers(surface, proved), says(ucan.Revoked)},
		{"expired delegation alone", []string{"X-Ucan-Delegation", identitytest.UserToOracle(t, alice, w.DID(), identitytest.TTL(-time.Minute))}, missing},
		{"delegation to another alone", []string{"X-Ucan-Delegation", identitytest.UserToOracle(t, alice, mallory.DID)}, missing},
	}
	if surface == identity.MCP { // it takes app keys: see testAgents
		return states
	}
	return append(states,
		state{"an app key", headers(surface, appKey), identity.TextAppKey},
		state{"an app key without X-Auth-Type", []string{"Authorization", "Bearer " + appKey}, identity.TextAppKey},
		state{"an app key as password", []string{"Authorization", basic("alice", appKey)}, identity.TextAppKey},
	)
}

// revoke withdraws a token that the program has believed before, so that what
// it remembers is tested too.
func (w *world) revoke(t *testing.T, surface identity.Surface, used, withdrawn string) {
	t.Helper()
	if _, err := w.identity.Authenticate(t.Context(), surface,
		identity.Credentials{Bearer: used, AuthType: "ucan"}); err != nil {
		t.Fatalf("before it was revoked: %v", err)
	}
	token, err := ucan.Parse(withdrawn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.identity.RevokeByOperator(t.Context(), identity.RevokedToken, token.CID()); err != nil {
		t.Fatal(err)
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	w := open(t)
	t.Run("complete", w.testComplete)
	t.Run("public", w.testPublic)
	t.Run("oracle", w.testOracle)
	t.Run("entrance", w.testEntrance)
	t.Run("files", w.testFiles)
	t.Run("optional", w.testOptional)
	t.Run("operator", w.testOperator)
	t.Run("faces", w.testFaces)
	t.Run("agents", w.testAgents)
}

func (w *world) testComplete(t *testing.T) {
	served, written := map[string]string{}, map[string]string{}
	var unaudited []string
	for _, r := range w.Routes() {
		served[r.Method+" "+r.Pattern] = r.Auth.String()
		if r.Asks {
			unaudited = append(unaudited, r.Pattern)
		}
	}
	if slices.Sort(unaudited); !slices.Equal(unaudited, []string{"/operator/ussd/menu/draft", "/operator/ussd/menu/try"}) {
		t.Errorf("operators' routes with a body that are in no trail: %v (ADR 0247)", unaudited)
	}
	for auth, rows := range map[httpserver.Auth][]row{
		httpserver.Public: publicRows, httpserver.Optional: optionalRows, httpserver.Operator: operatorRows,
		httpserver.Principal: slices.Concat(oracleRows, entranceRows, fileRows, rowsOfFaces()),
	} {
		for _, r := range rows {
			written[r.route] = auth.String()
		}
	}
	if diff := cmp.Diff(written, served); diff != "" {
		t.Errorf("who may call which route (- written in the matrix, + served):\n%s", diff)
	}
}

// Public routes ignore credentials, good or bad.
func (w *world) testPublic(t *testing.T) {
	states := append(w.worthless(t, identity.Oracle),
		state{name: "Alice", header: headers(identity.Oracle, w.tokens["alice"])},
		state{name: "Alice's files", header: headers(identity.Files, w.tokens["alice files"])})
	for _, row := range append([]row{dynamicRow}, publicRows...) {
		r := w.request(t, row)
		for _, s := range states {
			want(t, s.name, r, w.send(t, r.with(s.header...)), row.owner)
		}
	}
}

// Routes that take a caller when there is one show everybody what is public, and
// refuse credentials that are not good.
func (w *world) testOptional(t *testing.T) {
	for _, row := range optionalRows {
		r := w.request(t, row)
		want(t, "nobody", r, w.send(t, r), row.other)
		want(t, "Bob", r, w.send(t, r.with(headers(identity.Files, identitytest.Files(t, bob, w.DID(), "fs/*"))...)),
			row.other)
		want(t, "nonsense", r, w.send(t, r.with(headers(identity.Files, "nonsense")...)), http.StatusUnauthorized)
		r.may = append(r.may, "see", "text")
		want(t, "Alice", r, w.send(t, r.with(headers(identity.Files, w.tokens["alice files"])...)), row.owner)
	}
}

// What an oracle route shows is the caller's alone.
func (w *world) testOracle(t *testing.T) {
	states := w.worthless(t, identity.Oracle)
	for name, token := range map[string]string{
		"a token for files":           identitytest.Files(t, alice, w.DID(), "fs/*"),
		"a lifetime beyond the limit": identitytest.Invocation(t, alice, w.DID(), identitytest.TTL(time.Hour)),
	} {
		states = append(states, state{name, headers(identity.Oracle, token), identity.TextInvalid})
	}
	for name, token := range w.narrow(t) {
		states = append(states, state{name + " as delegation alone", []string{"X-Ucan-Delegation", token}, identity.TextMissing})
		if name != onlyACID {
			states = append(states, state{name + " as bearer", headers(identity.Oracle, token), identity.TextInvalid})
		}
	}
	ofACID := headers(identity.Oracle, w.narrow(t)[onlyACID])
	for _, row := range oracleRows {
		r := w.request(t, row)
		w.refuses(t, r, states)
		// it names who calls, and is no key to all that they have
		want(t, onlyACID, r, w.send(t, r.with(ofACID...)), http.StatusForbidden)
		theirs := headers(identity.Oracle, identitytest.Invocation(t, bob, w.DID()))
		w.foreign(t, row, "Bob", r.with(theirs...), row.other)
		w.testGrant(t, row, r)
		r.may = append(r.may, "see")
		want(t, "Alice", r, w.send(t, r.with(headers(identity.Oracle, w.tokens["alice"])...)), row.owner)
	}
}

// The entrance takes who has proved who they are, member or not.
func (w *world) testEntrance(t *testing.T) {
	states := append(w.worthless(t, identity.Entrance),
		state{"a good delegation alone", []string{"X-Ucan-Delegation", identitytest.Delegation(t, alice, w.DID())}, identity.TextMissingInvocation})
	for _, row := range entranceRows {
		r := w.request(t, row)
		w.refuses(t, r, states)
		for name, who := range map[string]identitytest.Actor{"Alice": alice, "Bob": bob} {
			want(t, name, r, w.send(t, r.with(headers(identity.Entrance, identitytest.Invocation(t, who, w.DID()))...)),
				row.owner)
		}
	}
}

// refuses holds a route against everything that must count as no credential.
func (w *world) refuses(t *testing.T, r request, states []state) {
	t.Helper()
	for _, s := range states {
		got := w.send(t, r.with(s.header...))
		want(t, s.name, r, got, http.StatusUnauthorized)
		if text := message(got); text != s.text && r.method != http.MethodHead {
			t.Errorf("%s: %s %s says %q, want %q", s.name, r.method, r.target, text, s.text)
		}
		if got.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %s %s: no WWW-Authenticate", s.name, r.method, r.target)
		}
	}
}

// foreign sends a good token that does not reach what the row is about.
func (w *world) foreign(t *testing.T, row row, name string, r request, status int) {
	t.Helper()
	got := w.send(t, r)
	want(t, name, r, got, status)
	if !strings.Contains(got.Body.String(), row.refusal) {
		t.Errorf("%s: %s %s: want %s in\n%.400s", name, r.method, r.target, row.refusal, got.Body)
	}
}

// A token for files opens what it names, and nothing beside.
func (w *world) testFiles(t *testing.T) {
	states := map[identity.Surface][]state{
		identity.Files: w.worthless(t, identity.Files), identity.MCP: w.worthless(t, identity.MCP),
	}
	files := func(from identitytest.Actor, can, home string) []string {
		return headers(identity.Files, identitytest.Files(t, from, w.DID(), "", identitytest.Can(can, home)))
	}
	narrow := w.narrow(t)
	ended := w.endedLink(t)
	for _, row := range fileRows {
		r := w.request(t, row)
		mcp := strings.HasSuffix(row.route, " /mcp")
		surface := identity.Files
		if mcp {
			surface = identity.MCP
		}
		w.refuses(t, r, states[surface])
		talks := http.StatusForbidden
		if mcp { // where it opens the oracle
			talks = row.owner
		}
		want(t, "a token for the oracle", r, w.send(t, r.with(headers(surface, w.tokens["alice"])...)), talks)
		for name, header := range map[string][]string{
			"Bob on Alice's without proof": files(bob, "fs/*", alice.Home("")),
			"another ability":              files(alice, "mcp/call", alice.Home("")),
			"queries":                      headers(surface, narrow["queries"]),
			"one tool":                     headers(surface, narrow["one tool"]),
			"a revocation":                 headers(surface, narrow["a revocation"]),
			"the oracle for a CID":         headers(surface, narrow["the oracle for a CID"]),
		} {
			want(t, name, r, w.send(t, r.with(header...)), http.StatusForbidden)
		}
		for name, token := range narrow {
			r := r.with("X-Ucan-Delegation", token)
			want(t, name+" as delegation alone", r, w.send(t, r), http.StatusUnauthorized)
		}
		login := r.with("X-Ucan-Delegation", identitytest.UserToOracle(t, alice, w.DID()))
		want(t, "a delegation to the oracle alone", login, w.send(t, login), http.StatusUnauthorized)
		for _, can := range []string{"fs/list", "fs/read", "fs/write", "fs/delete"} {
			if !ucan.AbilityCovers(can, row.needs) {
				want(t, can+" alone", r, w.send(t, r.with(files(alice, can, alice.Home(""))...)), http.StatusForbidden)
			}
		}
		for name, token := range ended {
			want(t, name, r, w.send(t, r.with(headers(surface, token)...)), http.StatusForbidden)
		}
		w.foreign(t, row, "Bob", r.with(files(bob, "fs/*", bob.Home(""))...), row.other)
		w.foreign(t, row, "Alice elsewhere", r.with(files(alice, "fs/*", alice.Home("/elsewhere"))...), row.elsewhere)
		for name, cids := range map[string][]string{"no CID": nil, "another CID": {otherCID}} {
			scoped := identitytest.Files(t, alice, w.DID(), "", identitytest.CIDs("fs/*", alice.Home(""), cids...))
			status := http.StatusForbidden
			if row.cid != 0 {
				status = row.cid
			}
			want(t, name, r, w.send(t, r.with(headers(surface, scoped)...)), status)
		}
		r.may = append(r.may, "see")
		if strings.Contains(row.target, "{cid}") {
			scoped := identitytest.Files(t, alice, w.DID(), "", identitytest.CIDs("fs/read", alice.Home(""), path.Base(r.target)))
			want(t, "that CID", r, w.send(t, r.with(headers(surface, scoped)...)), row.owner)
		}
		want(t, "Alice", r, w.send(t, r.with(headers(surface, w.tokens["alice files"])...)), row.owner)
	}
}

// Without a token of their own, operators are whoever sits at the machine.
func (w *world) testOperator(t *testing.T) {
	const here, name = "127.0.0.1:4000", "localhost:3000"
	states := append(w.worthless(t, identity.Oracle),
		state{name: "Alice", header: headers(identity.Oracle, w.tokens["alice"])})
	for _, row := range operatorRows {
		r := w.request(t, row)
		nothing := "Cannot " + r.method + " " + strings.Split(r.target, "?")[0]
		refused := func(why string, r request, status int) {
			t.Helper()
			got := w.send(t, r)
			want(t, why, r, got, status)
			if status == http.StatusNotFound && message(got) != nothing {
				t.Errorf("%s: %s %s says %q, want %q", why, r.method, r.target, message(got), nothing)
			}
		}
		for _, s := range states {
			refused(s.name, r.with(s.header...), http.StatusNotFound)
		}
		r.from, r.host = here, name
		for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"} {
			refused("behind a proxy: "+header, r.with(header, "127.0.0.1"), http.StatusNotFound)
		}
		refused("a page of another site", r.with("Origin", "https://evil.example"), http.StatusForbidden)
		refused("a page of another site", r.with("Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
		rebound := r
		rebound.host = "evil.example"
		refused("a name that was rebound", rebound, http.StatusNotFound)
		want(t, "operator", r, w.send(t, r), row.owner)
	}
}

// With a token, nobody else is an operator, wherever they sit. The query
// gateway has a gate in the same program.
func TestMatrixOfALockedProgram(t *testing.T) {
	t.Parallel()
	const secret = "the operator's own token"
	w := open(t, "OPERATOR_TOKEN", secret, "QUERY_AUTH", "ucan", "WRONG_SECRETS_PER_MINUTE", "1000")
	states := append(w.worthless(t, identity.Oracle),
		state{name: "Alice", header: headers(identity.Oracle, w.tokens["alice"])},
		state{name: "nearly", header: []string{"Authorization", "Bearer " + secret + "."}})
	for _, row := range operatorRows {
		r := w.request(t, row)
		r.host = "localhost"
		for _, s := range states {
			got := w.send(t, r.with(s.header...))
			want(t, s.name, r, got, http.StatusUnauthorized)
			if got.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %s %s: no WWW-Authenticate", s.name, r.method, r.target)
			}
		}
		at := r
		at.from = "127.0.0.1:4000"
		want(t, "at the machine", at, w.send(t, at), http.StatusUnauthorized)
		r = r.with("Authorization", "Bearer "+secret)
		want(t, "operator", r, w.send(t, r), row.owner)
		want(t, "a page of another site", r, w.send(t, r.with("Origin", "https://evil.example")), http.StatusForbidden)
	}

	r := w.request(t, dynamicRow)
	w.refuses(t, r, w.worthless(t, identity.Query))
	for name, c := range map[string]struct {
		token  string
		status int
	}{
		"Alice": {w.tokens["alice"], dynamicRow.owner},
		"Bob":   {identitytest.Invocation(t, bob, w.DID()), dynamicRow.owner},
		"queries alone": {identitytest.Invocation(t, bob, w.DID(),
			identitytest.Can(identity.QueryAbility, identity.QueryResource)), dynamicRow.owner},
		"a token for files":  {w.tokens["alice files"], http.StatusForbidden},
		"the operator's own": {secret, http.StatusUnauthorized},
		"one tool":           {w.narrow(t)["one tool"], http.StatusForbidden},
		"a revocation":       {w.narrow(t)["a revocation"], http.StatusForbidden},
		"a CID":              {w.narrow(t)["a CID"], http.StatusForbidden},
	} {
		want(t, name, r, w.send(t, r.with(headers(identity.Query, c.token)...)), c.status)
	}
}

// request makes what a row needs, new for each row, and the request about it.
func (w *world) request(t *testing.T, row row) request {
	t.Helper()
	method, pattern, _ := strings.Cut(row.route, " ")
	r := request{method: method, target: row.target, body: row.body, header: row.header, may: row.may}
	if r.target == "" {
		r.target = pattern
	}
	for name, create := range things {
		if strings.Contains(r.target+r.body, name) {
			value := create(t, w)
			r.target, r.body = strings.ReplaceAll(r.target, name, value), strings.ReplaceAll(r.body, name, value)
		}
	}
	if strings.ContainsAny(r.target, "{}") {
		t.Fatalf("%s: the matrix does not say what to put into %s", row.route, r.target)
	}
	return r
}
