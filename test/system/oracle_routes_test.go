package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// runRoutes follows a turn that waits, from every side, and stops it.
func runRoutes(t *testing.T, w *World, model *speaker) {
	alice, bob := newChatter(t, w, identitytest.NewActor("runs")), newChatter(t, w, identitytest.NewActor("other runs"))
	held := model.hold("wait in " + alice.session)
	s := alice.say(t, w.Node(0), "wait in "+alice.session)
	run := s.Header.Get("X-Run-Id")
	s.until(t, func(f frame) bool { return f.Event == "message" })
	<-held.asked
	var state struct{ Run map[string]any }
	reply := alice.do(t, w.Node(1), http.MethodGet, "/sessions/"+alice.session+"/run", "")
	reply.JSON(t, &state)
	has(t, "a run", state.Run, "runId", "sessionId", "requestId", "status", "attempt", "lastSeq", "createdAt")
	if state.Run["runId"] != run || state.Run["status"] != "running" || state.Run["attempt"] != 1.0 {
		t.Errorf("the run: %s", reply.Body)
	}
	path := "/runs/" + run
	refused(t, "another's run", bob.do(t, w.Node(1), http.MethodGet, path, ""), http.StatusNotFound, "Run not found")
	refused(t, "no run", alice.do(t, w.Node(1), http.MethodGet, "/runs/none", ""), http.StatusNotFound, "Run not found")
	refused(t, "after nothing", alice.do(t, w.Node(1), http.MethodGet, path+"?after=x", ""), http.StatusBadRequest, "after")
	// Another's abort stops nothing; a rejected message leaves the run alone.
	bob.do(t, w.Node(1), http.MethodPost, "/messages/abort", fmt.Sprintf(`{"sessionId":%q}`, alice.session))
	refused(t, "reject", alice.do(t, w.Node(2), http.MethodPost, "/messages/"+alice.session, `{"message":"now","multitask":"reject"}`), http.StatusConflict, "")
	reply = alice.do(t, w.Node(2), http.MethodPost, "/messages/abort", fmt.Sprintf(`{"sessionId":%q}`, alice.session))
	if reply.Status != http.StatusOK || strings.TrimSpace(string(reply.Body)) != `{"success":true}` {
		t.Errorf("abort: %d %s", reply.Status, reply.Body)
	}
	frames := s.rest(t)
	<-held.cut // the model was told, too
	done := frames[len(frames)-1]
	if done.field(t, "aborted") != true || done.field(t, "status") != "aborted" || done.field(t, "partialText") != held.begun {
		t.Errorf("done: %s; want the text %q", done.Data, held.begun)
	}
	list := alice.transcript(t, w.Node(1)).Messages
	if len(list) != 2 || list[1].Content != held.begun {
		t.Errorf("transcript after the abort: %v", list)
	}
	reply = alice.do(t, w.Node(1), http.MethodGet, "/sessions/"+alice.session+"/run", "")
	if strings.TrimSpace(string(reply.Body)) != `{"run":null}` {
		t.Errorf("after the end: %s", reply.Body)
	}
	if reply := alice.do(t, w.Node(1), http.MethodPost, "/messages/abort",
		fmt.Sprintf(`{"sessionId":%q}`, alice.session)); !strings.Contains(string(reply.Body), `"success":false`) {
		t.Errorf("aborted twice: %s", reply.Body)
	}
}

func historyRoute(t *testing.T, w *World, _ *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("history"))
	for i := range 3 {
		alice.do(t, w.Node(i), http.MethodPost, "/messages/"+alice.session, fmt.Sprintf(`{"message":"question %d"}`, i))
	}
	type page struct {
		Messages               []struct{ ID, Type, Content string }
		PrevCursor, NextCursor *string
		HasOlder, HasNewer     bool
	}
	read := func(query string) (p page) {
		reply := alice.do(t, w.Node(1), http.MethodGet, "/sessions/"+alice.session+"/messages"+query, "")
		reply.JSON(t, &p)
		if reply.Status != http.StatusOK || len(p.Messages) == 0 || p.PrevCursor == nil || p.NextCursor == nil {
			t.Fatalf("page %s: %d %s", query, reply.Status, reply.Body)
		}
		return p
	}
	newest := read("?limit=1")
	if len(newest.Messages) != 2 || newest.Messages[0].Content != "question 2" || !newest.HasOlder || newest.HasNewer {
		t.Errorf("newest: %+v", newest)
	}
	older := read("?limit=1&before=" + *newest.PrevCursor)
	if older.Messages[0].Content != "question 1" || !older.HasOlder || !older.HasNewer {
		t.Errorf("older: %+v", older)
	}
	if newer := read("?limit=5&after=" + *older.NextCursor); cmp.Diff(newest.Messages, newer.Messages) != "" || newer.HasNewer {
		t.Errorf("newer: %+v", newer)
	}
	if all := read(""); len(all.Messages) != 6 || all.HasOlder || all.HasNewer {
		t.Errorf("all: %+v", all)
	}
	for _, query := range []string{"?before=a&after=b", "?limit=x", "?before=nobody"} {
		refused(t, query, alice.do(t, w.Node(0), http.MethodGet, "/sessions/"+alice.session+"/messages"+query, ""),
			http.StatusBadRequest, "")
	}
}

func delegationRoutes(t *testing.T, w *World, _ *speaker) {
	who := identitytest.NewActor("delegation")
	alice := newChatter(t, w, who)
	var document struct{ ID string }
	w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
	status := func(want bool) map[string]any {
		t.Helper()
		var got map[string]any
		for i := range w.Nodes {
			got = nil
			reply := alice.do(t, w.Node(i), http.MethodGet, "/delegation", "")
			reply.JSON(t, &got)
			if reply.Status != http.StatusOK || got["authorized"] != want {
				t.Errorf("status on node %d: %d %s", i, reply.Status, reply.Body)
			}
		}
		return got
	}
	deposit := func(raw, more string) Reply {
		return alice.do(t, w.Node(0), http.MethodPost, "/delegation", fmt.Sprintf(`{"raw":%q%s}`, raw, more))
	}
	status(false)
	for i := range w.Nodes {
		for name, can := range map[string]identitytest.Option{
			"files":   identitytest.Can("*", who.Home("")),
			"no CID":  identitytest.CIDs("fs/list", who.Home("/nothing")),
			"queries": identitytest.Can("query/read", "ixo:query"),
		} {
			narrow := identitytest.Delegation(t, who, document.ID, can)
			refused(t, "a token for "+name+" as a login", w.Node(i).Do(t, Call{
				Method: http.MethodGet, Path: "/sessions", Header: http.Header{"X-Ucan-Delegation": {narrow}},
			}), http.StatusUnauthorized, "Missing UCAN authentication")
		}
	}
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	good := identitytest.Delegation(t, who, document.ID, identitytest.Expires(expires))
	tampered := good[:len(good)/2] + strings.Map(func(r rune) rune {
		if r == 'A' {
			return 'B'
		}
		return r
	}, good[len(good)/2:])
	for name, c := range map[string]struct{ raw, more, says string }{
		"empty":                {"", "", "raw should not be empty"},
		"garbage":              {"AAAA", "", "Invalid delegation"},
		"another's":            {identitytest.Delegation(t, identitytest.Bob, document.ID), "", "issuer is not the authenticated user"},
		"for somebody else":    {identitytest.Delegation(t, who, identitytest.Bob.DID), "", "Invalid delegation"},
		"expired":              {identitytest.Delegation(t, who, document.ID, identitytest.TTL(-time.Minute)), "", "Invalid delegation"},
		"tampered":             {tampered, "", "Invalid delegation"},
		"false issuer":         {good, fmt.Sprintf(`,"issuer":%q`, identitytest.Bob.DID), "issuer contradicts"},
		"false audience":       {good, fmt.Sprintf(`,"audience":%q`, identitytest.Bob.DID), "audience contradicts"},
		"false expiration":     {good, `,"expiration":1`, "expiration contradicts"},
		"with another's field": {good, `,"bogus":1`, "bogus"},
	} {
		refused(t, name, deposit(c.raw, c.more), http.StatusBadRequest, c.says)
	}
	status(false)
	var stored map[string]any
	reply := deposit(good, fmt.Sprintf(`,"issuer":%q,"audience":%q,"expiration":%d`, who.DID, document.ID, expires.Unix()))
	reply.JSON(t, &stored)
	if diff := cmp.Diff(map[string]any{"ok": true, "expiration": float64(expires.Unix())}, stored); diff != "" ||
		reply.Status != http.StatusOK {
		t.Errorf("store: %d %s", reply.Status, reply.Body)
	}
	if got := status(true); got["expiration"] != float64(expires.Unix()) {
		t.Errorf("status: %v", got)
	}
	if reply := alice.do(t, w.Node(1), http.MethodPost, "/messages/"+alice.session, `{"message":"hi"}`); reply.Header.Get("X-Delegation-Required") != "" {
		t.Error("asked for a delegation that is there")
	}
	for range 2 {
		var revoked map[string]any
		reply := alice.do(t, w.Node(2), http.MethodDelete, "/delegation", "")
		reply.JSON(t, &revoked)
		if diff := cmp.Diff(map[string]any{"ok": true}, revoked); diff != "" || reply.Status != http.StatusOK {
			t.Errorf("revoke: %d %s", reply.Status, reply.Body)
		}
	}
	status(false)
}

// publicRoutes asks without credentials and with bad ones: what is public does
// not look at them, what is not refuses both by name.
func publicRoutes(t *testing.T, w *World, _ *speaker) {
	credentials := map[string]http.Header{
		"Missing UCAN authentication": {},
		"Invalid UCAN invocation":     {"Authorization": {"Bearer bad"}, "X-Auth-Type": {"ucan"}},
	}
	for says, header := range credentials {
		var models struct {
			Models  []map[string]any
			Default string
		}
		reply := w.Node(1).Do(t, Call{Method: http.MethodGet, Path: "/models", Header: header})
		reply.JSON(t, &models)
		if reply.Status != http.StatusOK || models.Default != "speaker" || len(models.Models) != 1 ||
			models.Models[0]["id"] != "speaker" || models.Models[0]["isDefault"] != true {
			t.Errorf("models: %d %s", reply.Status, reply.Body)
		}
		for _, c := range []struct{ method, path string }{
			{http.MethodPost, "/sessions"},
			{http.MethodGet, "/sessions"},
			{http.MethodDelete, "/sessions/x"},
			{http.MethodGet, "/sessions/x/messages"},
			{http.MethodGet, "/sessions/x/run"},
			{http.MethodPost, "/messages/x"},
			{http.MethodGet, "/messages/x"},
			{http.MethodPost, "/messages/abort"},
			{http.MethodGet, "/runs/x"},
			{http.MethodPost, "/delegation"},
			{http.MethodGet, "/delegation"},
			{http.MethodDelete, "/delegation"},
		} {
			refused(t, c.method+" "+c.path, w.Node(2).Do(t, Call{Method: c.method, Path: c.path, Header: header}),
				http.StatusUnauthorized, says)
		}
		// AUTH_EXCLUDED_ROUTES names this one method of the path.
		preferences := Call{Method: http.MethodGet, Path: "/user-preferences", Header: header}
		if reply := w.Node(0).Do(t, preferences); reply.Status != http.StatusOK ||
			strings.TrimSpace(string(reply.Body)) != "null" {
			t.Errorf("an excluded route looks at credentials: %d %s", reply.Status, reply.Body)
		}
		preferences.Method = http.MethodDelete
		refused(t, "the other methods", w.Node(0).Do(t, preferences), http.StatusUnauthorized, says)
	}
	var api struct {
		Paths map[string]map[string]json.RawMessage
	}
	w.Node(0).Get(t, "/docs-json").JSON(t, &api)
	for _, path := range []string{"/sessions", "/messages/{sessionId}", "/messages/abort", "/runs/{runId}", "/delegation", "/models"} {
		if len(api.Paths[path]) == 0 {
			t.Errorf("%s is not documented", path)
		}
	}
}

// socketQuestions asks a socket all that it answers by itself; every answer has
// the hybrid form.
func socketQuestions(t *testing.T, w *World, _ *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("events"))
	page := alice.open(t, w.Node(1))
	for _, c := range []struct {
		ask, answer string
		want        map[string]any
	}{
		{"ping", "pong", map[string]any{}},
		{"subscribe", "subscribed", map[string]any{}},
		{"status", "status", map[string]any{"connected": true, "activeSessions": 1.0, "totalConnections": 1.0}},
		{"list-events", "available-events", map[string]any{
			"clientEvents": []any{
				"ping", "status", "subscribe", "list-events", "tool_result", "action_call_result",
				"call_offer", "call_ice", "call_end", "call_renew", "approval_answer",
			},
			"serverEvents": []any{
				"connected", "pong", "status", "subscribed", "available-events", "render_component", "tool_call", "action_call",
				"browser_tool_call", "router_update", "message_cache_invalidation",
				"call_ice", "call_end", "call_moved", "call_state", "run_started", "approval_required", "approval_answered", "citations",
			},
		}},
	} {
		page.Emit(c.ask)
		var got map[string]any
		page.ExpectEvent(c.answer, &got)
		bare, _ := got["payload"].(map[string]any)
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(bare["timestamp"])); err != nil {
			t.Errorf("%s: %v", c.answer, err)
		}
		c.want["sessionId"], c.want["timestamp"] = alice.session, bare["timestamp"]
		if diff := cmp.Diff(c.want, bare); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.answer, diff)
		}
		c.want["eventName"], c.want["payload"] = c.answer, bare
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s is not in the hybrid form (-want +got):\n%s", c.answer, diff)
		}
	}
}
