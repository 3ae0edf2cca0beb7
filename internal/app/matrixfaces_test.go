package app

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

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
	if err := w.keys.Charge(t.Context(), poor.ID, appkey.Amount{Tokens: 1}); err != nil {
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
