package system_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey/ussdkeyhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople/ussdpeoplehttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/system"
)

const newKeyToken = "the token of whoever approves keys"

// loser is somebody with files, conversations and a linked telephone, who loses keys.
type loser struct {
	t       *testing.T
	w       *system.World
	c       *caller
	account string
	turn    int
}

func (l *loser) client(n *system.Node, key did.Signer) *oracleclient.Client {
	l.t.Helper()
	c, err := oracleclient.New(l.t.Context(), oracleclient.Config{Server: n.URL, Signer: key})
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func (l *loser) ask(key did.Signer, method, path string, in, out any) {
	l.t.Helper()
	l.turn++
	if err := l.client(l.w.Node(l.turn), key).Do(l.t.Context(), method, path, in, out); err != nil {
		l.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// request asks for a new key through the telephone and returns the request's id.
func (l *loser) request(session string, key did.Signer) (id, code string) {
	l.t.Helper()
	var told struct{ Code string }
	l.ask(key, http.MethodPost, "/api/key-requests", ussdkeyhttp.NewKeyRequest{Account: l.account}, &told)
	l.c.dial(session)
	l.c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome", "1", "My account", "1", "Lost key", "3", "Enter your PIN",
		"99999", "Wrong PIN", "70382", "8 digits", "00000000", "Wrong code", told.Code, string(key.DID())[:12], "1", "Our staff will decide")
	var list ussdkeyhttp.KeyRequestList
	l.ask(key, http.MethodGet, "/api/key-requests", nil, &list)
	if len(list.Requests) != 1 || list.Requests[0].State != "waiting" || list.Requests[0].Key != string(key.DID()) {
		l.t.Fatalf("%+v", list)
	}
	return list.Requests[0].ID, told.Code
}

func (l *loser) run(args ...string) string {
	l.t.Helper()
	text, code := system.Run(l.t, nil, append(args, "--server", l.w.URL(), "--token", newKeyToken)...)
	if code != 0 {
		l.t.Fatalf("%v: %d %s", args, code, text)
	}
	return text
}

// isPerson reports on every node whether the key reads the person's file and conversation.
func (l *loser) isPerson(key did.Signer, session string) {
	l.t.Helper()
	for i, n := range l.w.Nodes {
		system.Eventually(l.t, "the key is the person", func() error {
			var got bytes.Buffer
			_, err := files(l.t, n, key).Get(l.t.Context(), "/notes.txt", 0, &got)
			if err == nil && got.String() != "what was mine" {
				l.t.Fatalf("node %d has %q", i, got.String())
			}
			return err
		})
		history, err := l.client(n, key).History(l.t.Context(), session)
		if err != nil || len(history) < 2 {
			l.t.Errorf("node %d: the conversation has %d messages: %v", i, len(history), err)
		}
		tools, err := agent(l.t, n, key).ListTools(l.t.Context(), nil)
		if err != nil || len(tools.Tools) == 0 {
			l.t.Errorf("node %d: at MCP: %v", i, err)
		}
		l.page(n, key, session).ExpectEvent("connected", nil)
	}
}

func (l *loser) token(key did.Signer) string {
	l.t.Helper()
	var document struct{ ID string }
	l.w.Node(0).Get(l.t, "/.well-known/did.json").JSON(l.t, &document)
	return identitytest.Invocation(l.t, identitytest.Actor{Name: "loser", DID: string(key.DID()), Signer: key}, document.ID)
}

func (l *loser) page(n *system.Node, key did.Signer, session string) *socketiotest.Client {
	l.t.Helper()
	return socketiotest.Connect(l.t, n.URL+"/socket.io/", "sessionId="+session, map[string]string{"invocation": l.token(key)})
}

// isNobody looks for the key at HTTP, sockets and MCP of every node.
func (l *loser) isNobody(key did.Signer, session string) {
	l.t.Helper()
	for i, n := range l.w.Nodes {
		system.Eventually(l.t, "the key is nobody", func() error {
			_, err := files(l.t, n, key).Stat(l.t.Context(), "/notes.txt")
			if err == nil {
				return errStillIn
			}
			if !filestoreclient.IsStatus(err, http.StatusUnauthorized) {
				l.t.Fatalf("node %d: files: %v", i, err)
			}
			return nil
		})
		for path, header := range map[string]http.Header{
			"/sessions":         {"Authorization": {"Bearer " + l.token(key)}, "X-Auth-Type": {"ucan"}},
			"/api/key-requests": {"Authorization": {"Bearer " + l.token(key)}, "X-Auth-Type": {"ucan"}},
		} {
			got := n.Do(l.t, system.Call{Method: http.MethodGet, Path: path, Header: header})
			if got.Status != http.StatusUnauthorized {
				l.t.Errorf("node %d: %s answers %d", i, path, got.Status)
			}
		}
		if got := n.Do(l.t, system.Call{
			Method: http.MethodPost, Path: "/mcp", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Header: http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Authorization": {"Bearer " + l.token(key)},
			},
		}); got.Status != http.StatusUnauthorized {
			l.t.Errorf("node %d: MCP answers %d %s", i, got.Status, got.Body)
		}
		if _, refusal := socketiotest.TryConnect(l.t, n.URL+"/socket.io/", "sessionId="+session,
			map[string]string{"invocation": l.token(key)}); !strings.Contains(refusal, "Invalid UCAN invocation") {
			l.t.Errorf("node %d: the socket answers %q", i, refusal)
		}
	}
}

// Whoever lost the key asks for a new one at the linked telephone, an operator approves it,
// and the new key is the person on every node from then on, whatever is killed; the lost
// one is nobody. A second loss works as the first, and a mistake is undone.
func TestALostKeyIsBoundAnewThroughTheTelephone(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		line := &telephone{world: w, retries: 3}
		l := &loser{t: t, w: w, c: &caller{t: t, line: line, phone: "+254700111777"}}
		old, fresh, third := somebody(t), somebody(t), somebody(t)

		if _, err := files(t, w.Node(0), old).Put(t.Context(), "/notes.txt", "text/plain", strings.NewReader("what was mine"), 13, cid.CID{}); err != nil {
			t.Fatal(err)
		}
		session, err := l.client(w.Node(0), old).CreateSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.client(w.Node(1), old).Ask(t.Context(), session, "When to water?", "UTC", func(oracle.Frame) {}); err != nil {
			t.Fatal(err)
		}
		l.c.dial("k1")
		made := l.c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is")
		_, made, _ = strings.Cut(made, "account ID is ")
		l.account = made[:9]
		var told struct{ Code string }
		l.ask(old, http.MethodPost, "/api/telephones", ussdpeoplehttp.NewLink{Account: l.account}, &told)
		l.c.dial("k2")
		l.c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome", "1", "My account", "1", "Link web", "1", "Enter your PIN", "70382", "8 digits",
			told.Code, "Link this account with did:key:", "1", "Your account is linked")

		// Whoever has the old key is stronger than the telephone.
		refused, first := l.request("k3", somebody(t))
		var done ussdkeyhttp.KeyRequest
		if l.ask(old, http.MethodPost, "/api/key-requests/"+refused+"/refuse", nil, &done); done.State != "refused" {
			t.Errorf("%+v", done)
		}
		id, second := l.request("k4", fresh)
		viewer := identitytest.NewActor("viewer of " + t.Name())
		l.give(viewer.DID)
		if got := l.decide(viewer, refused); got.Status != http.StatusForbidden {
			t.Errorf("a viewer approves: %d %s", got.Status, got.Body)
		}
		if text, code := system.Run(t, nil, "ussd", "approve-key", refused, "--server", w.URL(), "--token", newKeyToken); code == 0 {
			t.Errorf("what was refused is approved: %s", text)
		}
		l.isPerson(old, session)

		if text := l.run("ussd", "key-requests"); !strings.Contains(text, id) || !strings.Contains(text, l.account) ||
			strings.Contains(text, "700111777") {
			t.Errorf("key-requests: %s", text)
		}
		if text := l.run("ussd", "approve-key", id); !strings.Contains(text, "approved") || !strings.Contains(text, string(fresh.DID())) {
			t.Errorf("approve-key: %s", text)
		}
		for _, n := range w.Nodes {
			n.Kill()
		}
		for _, n := range w.Nodes {
			n.Start()
		}
		for _, n := range w.Nodes {
			n.WaitReady()
		}
		l.isPerson(fresh, session)
		l.isNobody(old, session)

		// The telephone is the person as before, and so is what it asks.
		l.c.dial("k5")
		l.c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome", "1", "My account", "1", "Lost key",
			"3", "Enter your PIN", "70382", "8 digits", second, "Wrong code")

		// The new key is lost too, and its socket is closed.
		again, _ := l.request("k6", third)
		page := l.page(w.Node(1), fresh, session)
		page.ExpectEvent("connected", nil)
		l.run("ussd", "approve-key", again)
		page.ExpectClose()
		l.isPerson(third, session)
		l.isNobody(fresh, session)
		if text, code := system.Run(t, nil, "ussd", "undo-key", id, "--server", w.URL(), "--token", newKeyToken); code == 0 {
			t.Errorf("one that is not the last is undone: %s", text)
		}
		l.run("ussd", "undo-key", again)
		l.isPerson(fresh, session)
		l.isNobody(third, session)

		if acts := l.run("ussd", "acts", l.account); strings.Count(acts, "new key asked for") != 3 || strings.Count(acts, "new key approved") != 2 ||
			!strings.Contains(acts, "new key undone") || !strings.Contains(acts, "new key refused") {
			t.Errorf("acts: %s", acts)
		}
		for _, node := range w.Nodes {
			for _, secret := range []string{first, second, "70382", "254700111777"} {
				if found := ussdtest.Leak(node.Log(), secret); found != "" {
					t.Errorf("%s is in a log: %s", secret, found)
				}
			}
		}
	}, append(telephoneModel(t, nil), "NEW_KEY_WAIT=0s", "OPERATOR_TOKEN="+newKeyToken)...)
}

var errStillIn = errors.New("the key is somebody still")

// give makes a DID a viewer.
func (l *loser) give(who string) {
	l.t.Helper()
	if got := l.w.Node(0).Do(l.t, system.Call{
		Method: http.MethodPut, Path: "/operator/operators/" + who, Body: `{"role":"viewer"}`,
		Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + newKeyToken}},
	}); got.Status != http.StatusOK {
		l.t.Fatalf("give a role: %d %s", got.Status, got.Body)
	}
}

// decide approves a request as somebody with a role.
func (l *loser) decide(who identitytest.Actor, id string) system.Reply {
	l.t.Helper()
	var document struct{ ID string }
	l.w.Node(0).Get(l.t, "/.well-known/did.json").JSON(l.t, &document)
	token := identitytest.Invocation(l.t, who, document.ID, identitytest.Can("operator/*", operators.OperatorResource))
	return l.w.Node(0).Do(l.t, system.Call{
		Method: http.MethodPost, Path: "/operator/ussd/key-requests/" + id + "/approve",
		Header: http.Header{"Authorization": {"Bearer " + token}, "X-Auth-Type": {"ucan"}},
	})
}
