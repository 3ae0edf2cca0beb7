package app

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// faceRows are the routes that app keys open, by the scope that each needs. Those of
// appkey.Any take nothing else; the others take tokens too.
var faceRows = map[appkey.Scope][]row{
	// Each is sent several times, so that what changes something is asked for what it refuses.
	appkey.Files: {
		{route: "GET /dav/{path...}", target: "/dav{path}", owner: 200, other: 404},
		{route: "HEAD /dav/{path...}", target: "/dav{path}", owner: 200, other: 404},
		{route: "PUT /dav/{path...}", target: "/dav{path}", body: marker, owner: 204, other: 409},
		{route: "DELETE /dav/{path...}", target: "/dav/none", owner: 404, other: 404},
		{route: "PROPFIND /dav", header: []string{"Depth", "0"}, owner: 207, other: 207},
		{route: "PROPFIND /dav/{path...}", target: "/dav{path}", header: []string{"Depth", "1"}, owner: 207, other: 404},
		{route: "PROPPATCH /dav/{path...}", target: "/dav{path}", body: `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="u:"/></prop></set></propertyupdate>`, owner: 207, other: 404},
		{route: "MKCOL /dav/{path...}", target: "/dav{path}", owner: 405, other: 409},
		{route: "COPY /dav/{path...}", target: "/dav{path}", owner: 400, other: 404},
		{route: "MOVE /dav/{path...}", target: "/dav{path}", owner: 400, other: 404},
		{route: "LOCK /dav/{path...}", target: "/dav{path}", body: "no XML", owner: 400, other: 400},
		{route: "UNLOCK /dav/{path...}", target: "/dav{path}", owner: 400, other: 400},
	},
	appkey.Any: {{route: "GET /v1/key", owner: 200, other: 200}},
	appkey.Oracle: {
		{route: "GET /v1/models", owner: 200, other: 200},
		{route: "GET /v1/models/{model}", target: "/v1/models/oracle", owner: 200, other: 200},
		{route: "GET /v1/models/{model}", target: "/v1/models/{session}", owner: 404, other: 404},
		{route: "POST /v1/chat/completions", body: `{"model":"oracle","messages":[{"role":"user","content":"hello"}]}`, owner: 200, other: 200},
		{route: "POST /v1/chat/completions", body: `{"model":"oracle","stream":true,"messages":[{"role":"user","content":"hello"}]}`, owner: 200, other: 200},
		{route: "POST /v1/chat/completions", body: `{"model":"oracle","messages":[{"role":"user","content":"hello"}],"metadata":{"session_id":"{session}"}}`, owner: 200, other: 200},
		{route: "POST /v1/responses", body: `{"model":"oracle","input":"hello"}`, owner: 200, other: 200},
		{route: "POST /v1/responses", body: `{"model":"oracle","input":"hello","stream":true}`, owner: 200, other: 200},
		{route: "POST /v1/responses", body: `{"model":"oracle","input":"hello","previous_response_id":"resp_{runId}"}`, owner: 200, other: 400},
		{route: "POST /ai-sdk/chat", body: `{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hello"}]}]}`, owner: 200, other: 200},
		{route: "POST /ai-sdk/chat", body: `{"id":"{session}","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hello"}]}]}`, owner: 200, other: 200},
		{route: "GET /ai-sdk/chat/{id}/stream", target: "/ai-sdk/chat/{session}/stream", owner: 204, other: 204},
		{route: "DELETE /ai-sdk/chat/{id}/stream", target: "/ai-sdk/chat/{session}/stream", owner: 204, other: 204},
		{route: "POST /ag-ui", body: `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}`, owner: 200, other: 200},
		{route: "POST /ag-ui", body: `{"threadId":"{session}","runId":"r2","messages":[{"id":"m","role":"user","content":"hello"}]}`, owner: 200, other: 200},
	},
}

func rowsOfFaces() (all []row) {
	for _, rows := range faceRows {
		all = append(all, rows...)
	}
	return all
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// key makes an app key of the actor with the scopes.
func (w *world) key(t *testing.T, from identitytest.Actor, scopes ...appkey.Scope) (appkey.Key, string) {
	t.Helper()
	var options []identitytest.Option
	for _, s := range scopes {
		options = append(options, appkeytest.For(from, s))
	}
	return appkeytest.Make(t, w.keys, from, fmt.Sprint("face", w.made.Add(1)), options...)
}

// appKey is one of Alice's that opens every face.
func (w *world) appKey(t *testing.T) string {
	t.Helper()
	if w.tokens["app key"] == "" {
		_, w.tokens["app key"] = w.key(t, alice, appkey.Oracle, appkey.Files, appkey.Knowledge)
	}
	return w.tokens["app key"]
}

// An app key opens the faces of its scopes while it lasts.
func (w *world) testFaces(t *testing.T) {
	revoked, over := w.key(t, alice, appkey.Oracle, appkey.Files)
	if _, err := w.keys.Revoke(t.Context(), alice.DID, revoked.ID); err != nil {
		t.Fatal(err)
	}
	wrong := over[:len(over)-1] + string(rune('a'+(over[len(over)-1]-'a'+1)%26)) // another checksum
	request := appkeytest.Request(t, w.keys, alice, "poor", appkeytest.For(alice, appkey.Oracle))
	request.Budget.Tokens = 1
	poor, spent, err := w.keys.Make(t.Context(), identity.Principal{DID: alice.DID}, request)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.keys.Settle(t.Context(), poor.ID, appkey.Amount{}, appkey.Amount{Tokens: 1}); err != nil {
		t.Fatal(err)
	}
	_, bobs := w.key(t, bob, appkey.Oracle, appkey.Files, appkey.Knowledge)
	all := []appkey.Scope{appkey.Oracle, appkey.Files, appkey.Knowledge}
	for scope, rows := range faceRows {
		missing := appkeyhttp.TextMissing
		if scope == appkey.Any {
			missing = appkeyhttp.TextMissingKey
		}
		others := slices.DeleteFunc(slices.Clone(all), func(s appkey.Scope) bool { return s == scope })
		_, narrow := w.key(t, alice, others...)
		for _, row := range rows {
			r := w.request(t, row)
			for _, s := range []state{
				{"no credential", nil, missing},
				{"a name alone", []string{"X-Did", alice.DID}, missing},
				{"a wrong key", []string{"Authorization", "Bearer " + wrong}, appkey.ErrUnknown.Message},
				{"a wrong key as password", []string{"Authorization", basic("x", wrong)}, appkey.ErrUnknown.Message},
				{"another password", []string{"Authorization", basic("alice", "pw")}, appkey.ErrUnknown.Message},
				{"a key as name", []string{"Authorization", basic(w.appKey(t), "")}, appkey.ErrUnknown.Message},
				{"a key in capitals", []string{"Authorization", "Bearer " + identity.AppKeyPrefix + strings.ToUpper(over[4:])}, appkey.ErrUnknown.Message},
				{"a revoked key", []string{"Authorization", "Bearer " + over}, "The app key was revoked."},
			} {
				w.refuses(t, r, []state{s})
			}
			tokens := map[string]int{w.tokens["alice"]: row.owner, w.tokens["alice files"]: http.StatusUnauthorized}
			scoped := identitytest.Invocation(t, alice, w.DID(), identitytest.CIDs("*", identity.OracleResource, otherCID))
			content := identitytest.Files(t, alice, w.DID(), "",
				identitytest.CIDs("fs/read", alice.Home(""), otherCID), identitytest.TTL(time.Hour))
			switch scope {
			case appkey.Any:
				tokens[w.tokens["alice"]] = http.StatusUnauthorized
			case appkey.Files:
				tokens = map[string]int{w.tokens["alice"]: http.StatusForbidden, w.tokens["alice files"]: row.owner}
				scoped = identitytest.Files(t, alice, w.DID(), "", identitytest.CIDs("fs/*", alice.Home(""), otherCID))
			case appkey.Oracle, appkey.Knowledge:
			}
			if scope != appkey.Any {
				got := w.send(t, r.with("Authorization", "Bearer "+scoped))
				want(t, "a token for CIDs", r, got, http.StatusForbidden)
				got = w.send(t, r.with("Authorization", "Bearer "+content))
				want(t, "a token for files by their CIDs", r, got, http.StatusForbidden)
				got = w.send(t, r.with("Authorization", "Bearer "+narrow))
				want(t, "a key of other scopes", r, got, http.StatusForbidden)
			}
			w.foreign(t, row, "Bob's key", r.with("Authorization", "Bearer "+bobs), row.other)
			r.may = append(r.may, "see")
			for token, status := range tokens {
				want(t, "a token", r, w.send(t, r.with("Authorization", "Bearer "+token)), status)
			}
			status := row.owner
			if scope == appkey.Oracle || scope == appkey.Knowledge {
				status = http.StatusPaymentRequired
			}
			if scope == appkey.Any || poor.Has(scope) {
				want(t, "a key that is spent", r, w.send(t, r.with("Authorization", "Bearer "+spent)), status)
			}
			want(t, "Alice's key", r, w.send(t, r.with("Authorization", "Bearer "+w.appKey(t))), row.owner)
			want(t, "Alice's key as password", r, w.send(t, r.with("Authorization", basic("whoever", w.appKey(t)))), row.owner)
		}
	}
}

// At the address for agents a credential opens what it is for, and nothing beside.
func (w *world) testAgents(t *testing.T) {
	const (
		asking  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_oracle","arguments":{"question":"hello"}}}`
		gone    = "unknown tool"
		badKey  = identity.AppKeyPrefix + "wrong"
		replied = `"status":"done"`
	)
	revoked, over := w.key(t, alice, appkey.Oracle, appkey.Files)
	if _, err := w.keys.Revoke(t.Context(), alice.DID, revoked.ID); err != nil {
		t.Fatal(err)
	}
	order := appkeytest.Request(t, w.keys, alice, "poor-agent", appkeytest.For(alice, appkey.Oracle),
		appkeytest.For(alice, appkey.Files))
	order.Budget.Tokens = 1
	poor, spent, err := w.keys.Make(t.Context(), identity.Principal{DID: alice.DID}, order)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.keys.Settle(t.Context(), poor.ID, appkey.Amount{}, appkey.Amount{Tokens: 1}); err != nil {
		t.Fatal(err)
	}
	key := func(scopes ...appkey.Scope) string {
		_, text := w.key(t, alice, scopes...)
		return text
	}
	files := func(options ...identitytest.Option) string {
		return identitytest.Files(t, alice, w.DID(), "", options...)
	}
	read := w.request(t, row{route: "POST /mcp", header: rpc, body: readTool})
	read.may = append(read.may, "see")
	ask := w.request(t, row{route: "POST /mcp", header: rpc, body: asking})
	for name, c := range map[string]struct {
		secret    string
		status    int
		ask, read string
	}{
		"a wrong key":        {badKey, 401, "", ""},
		"a revoked key":      {over, 401, "", ""},
		"a spent key":        {spent, 200, gone, marker},
		"a key for talking":  {key(appkey.Oracle), 200, replied, gone},
		"a key for files":    {key(appkey.Files), 200, gone, marker},
		"a key for passages": {key(appkey.Knowledge), 200, gone, gone},
		"a key for all":      {w.appKey(t), 200, replied, marker},
		"a token to talk":    {w.tokens["alice"], 200, replied, gone},
		"a token for files":  {w.tokens["alice files"], 200, gone, marker},
		"a token for a CID": {files(identitytest.CIDs("fs/*", alice.Home(""), otherCID),
			identitytest.Can("*", identity.OracleResource)), 200, gone, gone},
		"talk about a CID": {files(identitytest.CIDs("*", identity.OracleResource, otherCID)), 403, "", ""},
	} {
		for _, one := range []struct {
			request
			says string
		}{{ask, c.ask}, {read, c.read}} {
			got := w.send(t, one.with("Authorization", "Bearer "+c.secret))
			want(t, name, one.request, got, c.status)
			if !strings.Contains(got.Body.String(), one.says) {
				t.Errorf("%s: want %s in\n%.400s", name, one.says, got.Body)
			}
		}
	}
	want(t, "a key as password", ask, w.send(t, ask.with("Authorization", basic("whoever", w.appKey(t)))), http.StatusOK)
}

// TestWrongAppKeysAreCounted: an address that guesses is told to wait, and whoever
// has a right key there is served.
func TestWrongAppKeysAreCounted(t *testing.T) {
	t.Parallel()
	w := open(t, "WRONG_SECRETS_PER_MINUTE", "5")
	r := request{method: http.MethodGet, target: "/v1/key", from: "198.51.100.7:4000"}
	last := 0
	for i := range 20 {
		secret := identity.AppKeyPrefix + strings.Repeat("a", 38) + fmt.Sprintf("%c%c", 'a'+i, 'b')
		last = w.send(t, r.with("Authorization", "Bearer "+secret)).Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the last of many guesses: %d", last)
	}
	want(t, "the right key", r, w.send(t, r.with("Authorization", "Bearer "+w.appKey(t))), http.StatusOK)
	elsewhere := r
	elsewhere.from = "198.51.100.8:4000"
	want(t, "a guess from elsewhere", r, w.send(t, elsewhere.with("Authorization", basic("x", "y"))), http.StatusUnauthorized)
}

// TestAKeyEndsWithItsMakersMembership: the door is asked for every request.
func TestAKeyEndsWithItsMakersMembership(t *testing.T) {
	t.Parallel()
	w := open(t, "ACCESS", "closed")
	if _, _, err := w.access.book.AddMember(t.Context(), bob.DID, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.access.book.AddMember(t.Context(), alice.DID, ""); err != nil {
		t.Fatal(err)
	}
	_, text := w.key(t, alice, appkey.Oracle)
	r := request{method: http.MethodGet, target: "/v1/key"}.with("Authorization", "Bearer "+text)
	want(t, "a member's", r, w.send(t, r), http.StatusOK)
	if err := w.access.book.RemoveMember(t.Context(), alice.DID); err != nil {
		t.Fatal(err)
	}
	w.access.door.Announce(t.Context())
	want(t, "one's who was a member", r, w.send(t, r), http.StatusForbidden)
	if _, err := w.keys.Authenticate(t.Context(), appkey.Any, text); fault.From(err).Code != "not_a_member" {
		t.Errorf("refused with %v", err)
	}
}

// onlyACID is the narrow token that is good for the oracle otherwise.
const onlyACID = "the oracle for a CID"

// narrow returns a good token of Alice's for each thing that is not the whole
// oracle, by what it is for.
func (w *world) narrow(t *testing.T) map[string]string {
	t.Helper()
	tokens := map[string]string{}
	for name, is := range map[string]identitytest.Option{
		"all files":      identitytest.Can("*", alice.Home("")),
		"a folder":       identitytest.Can("fs/list", alice.Home("/nothing")),
		"the filesystem": identitytest.Can("*", "ixo:filesystem"),
		"no CID":         identitytest.CIDs("fs/list", alice.Home("/nothing")),
		"a CID":          identitytest.CIDs("fs/read", alice.Home(""), otherCID),
		onlyACID:         identitytest.CIDs("*", identity.OracleResource, otherCID),
		"queries":        identitytest.Can(identity.QueryAbility, identity.QueryResource),
		"one tool":       identitytest.Can("mcp/call", "ixo:oracle:"+w.DID()+":mcp/db/query"),
		"a revocation":   identitytest.Can("ucan/revoke", alice.DID),
	} {
		tokens[name] = identitytest.Delegation(t, alice, w.DID(), is, identitytest.TTL(lasting))
	}
	return tokens
}

// alices sends a request of Alice, which must succeed, and reads the answer.
func (w *world) alices(t *testing.T, r request, into any) *httptest.ResponseRecorder {
	t.Helper()
	surface, token := identity.Oracle, "alice"
	if strings.HasPrefix(r.target, "/api/fs") || strings.HasPrefix(r.target, "/api/knowledge") {
		surface, token = identity.Files, "alice files"
	}
	r.may = []string{"see"}
	got := w.send(t, r.with(headers(surface, w.tokens[token])...))
	if got.Code >= http.StatusMultipleChoices {
		t.Fatalf("Alice's own %s %s: %d %s", r.method, r.target, got.Code, got.Body)
	}
	if into != nil {
		if err := json.NewDecoder(bytes.NewReader(got.Body.Bytes())).Decode(into); err != nil {
			t.Fatalf("%s %s: %v in %s", r.method, r.target, err, got.Body)
		}
	}
	return got
}
