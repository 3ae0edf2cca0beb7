package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

// chatter is a user with a session.
type chatter struct {
	world   *World
	token   string
	session string
}

func newChatter(t *testing.T, w *World, who identitytest.Actor) *chatter {
	t.Helper()
	var document struct{ ID string }
	w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
	c := &chatter{world: w, token: identitytest.Invocation(t, who, document.ID)}
	var created struct{ SessionID string }
	c.do(t, w.Node(0), http.MethodPost, "/sessions", "{}").JSON(t, &created)
	if created.SessionID == "" {
		t.Fatal("no session was made")
	}
	c.session = created.SessionID
	return c
}

func (c *chatter) do(t *testing.T, n *Node, method, path, body string) Reply {
	t.Helper()
	return n.Do(t, Call{Method: method, Path: path, Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + c.token}, "X-Auth-Type": {"ucan"},
	}})
}

// open connects a page of the session to a node and reads its welcome.
func (c *chatter) open(t *testing.T, n *Node) *socketiotest.Client {
	t.Helper()
	page := socketiotest.Connect(t, n.URL+"/socket.io/", "sessionId="+c.session, map[string]string{"invocation": c.token})
	page.ExpectEvent("connected", nil)
	return page
}

// until reads events until one of that name, and returns its first argument.
// Others on the way must be among those allowed.
func until(t *testing.T, page *socketiotest.Client, name string, allowed ...string) map[string]any {
	t.Helper()
	for {
		got, arg := page.Event()
		if got == name {
			var m map[string]any
			if err := json.Unmarshal(arg, &m); err != nil {
				t.Fatalf("%s %s: %v", got, arg, err)
			}
			return m
		}
		ok := false
		for _, a := range allowed {
			ok = ok || a == got
		}
		if !ok {
			t.Fatalf("received %s %s while waiting for %s", got, arg, name)
		}
	}
}

func TestAPageFollowsItsSessionOnAnyNode(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		alice := newChatter(t, w, identitytest.Alice)
		first, second := alice.open(t, w.Node(1)), alice.open(t, w.Node(2))
		second.Emit("ping") // so that this page is the one touched last
		second.ExpectEvent("pong", nil)

		for _, kind := range []struct{ field, call, result string }{
			{"tools", "browser_tool_call", "tool_result"},
			{"agActions", "action_call", "action_call_result"},
		} {
			body := fmt.Sprintf(`{"message":"/tool double {\"n\":21}","%s":[{"name":"double","description":"Doubles a number","schema":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}}]}`, kind.field)
			answer := make(chan Reply, 1)
			go func() { answer <- alice.do(t, w.Node(0), http.MethodPost, "/messages/"+alice.session, body) }()

			asked := until(t, second, kind.call, "tool_call", "router_update", "message_cache_invalidation")
			if asked["eventName"] != nil || asked["payload"] != nil {
				t.Errorf("%s is not bare: %v", kind.call, asked)
			}
			if diff := cmp.Diff(map[string]any{"n": 21.0}, asked["args"]); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
			second.Emit(kind.result, map[string]any{"toolCallId": asked["toolCallId"], "sessionId": alice.session, "result": map[string]any{"doubled": 42}})
			if got := <-answer; got.Status != http.StatusOK || !strings.Contains(string(got.Body), "42") {
				t.Errorf("the answer to the message: %d %s", got.Status, got.Body)
			}
			for _, page := range []*socketiotest.Client{first, second} {
				changed := until(t, page, "message_cache_invalidation", "tool_call", "router_update")
				if changed["eventName"] != "message_cache_invalidation" || changed["sessionId"] != alice.session {
					t.Errorf("the history changed: %v", changed)
				}
			}
		}
	})
}

func TestSocketsAreRefused(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		alice, bob := newChatter(t, w, identitytest.Alice), newChatter(t, w, identitytest.Bob)
		for name, test := range map[string]struct {
			query string
			auth  any
			want  string
		}{
			"no session":      {"", map[string]string{"invocation": alice.token}, "Missing sessionId"},
			"no credential":   {"sessionId=" + alice.session, nil, "Missing UCAN authentication"},
			"bad credential":  {"sessionId=" + alice.session, map[string]string{"invocation": "x"}, "Invalid UCAN invocation"},
			"another's":       {"sessionId=" + bob.session, map[string]string{"invocation": alice.token}, `"statusCode":404`},
			"unknown session": {"sessionId=none", map[string]string{"invocation": alice.token}, `"statusCode":404`},
		} {
			page := socketiotest.Join(t, w.Node(1).URL+"/socket.io/", test.query, test.auth)
			if got := page.Packet(); !strings.HasPrefix(got, "44{") || !strings.Contains(got, test.want) {
				t.Errorf("%s: %s", name, got)
			}
			page.ExpectClose()
		}
	})
}

func TestPollingWorksThroughAnyNode(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		alice := newChatter(t, w, identitytest.Alice)
		p, _ := socketiotest.OpenPolling(t, w.Node(0).URL+"/socket.io/", "sessionId="+alice.session)
		at := func(i int) *socketiotest.Polling {
			other := *p
			other.Base = w.Node(i).URL + "/socket.io/"
			return &other
		}
		if status, answer := at(1).Post("40" + socketiotest.JSON(t, map[string]string{"invocation": alice.token})); status != http.StatusOK || answer != "ok" {
			t.Fatalf("push: %d %s", status, answer)
		}
		if _, body := at(2).Get(); !strings.HasPrefix(body, `40{"sid":"`) {
			t.Fatalf("poll: %s", body)
		}
		wire := socketiotest.DialWire(t, w.Node(2).URL+"/socket.io/", "sid="+p.SID())
		wire.Send("2probe")
		wire.Expect("3probe")
		at(1).Get()
		wire.Send("5")
		wire.Send(`42["ping"]`)
		for got := wire.Next(); !strings.HasPrefix(got, `42["pong"`); got = wire.Next() {
			if !strings.HasPrefix(got, `42["connected"`) {
				t.Fatalf("received %s", got)
			}
		}
		if w.Shape == Fleet {
			lost, _ := socketiotest.OpenPolling(t, w.Node(1).URL+"/socket.io/", "sessionId="+alice.session)
			w.Node(1).Kill()
			Eventually(t, "a dead node's session is unknown", func() error {
				if status, body := socketiotest.Do(t, http.MethodGet, w.Node(0).URL+"/socket.io/?"+lost.Query, ""); status != http.StatusBadRequest || !strings.Contains(body, `"code":1`) {
					return fmt.Errorf("%d %s", status, body)
				}
				return nil
			})
		}
	})
}

func TestStoppingANodeSendsItsPagesElsewhere(t *testing.T) {
	t.Parallel()
	w := Start(t, Fleet)
	alice := newChatter(t, w, identitytest.Alice)
	page := alice.open(t, w.Node(0))
	closed := make(chan int, 1)
	go func() { closed <- page.ExpectClose() }()
	w.Node(0).Stop()
	if code := <-closed; code == 1006 {
		t.Errorf("the page was cut, not told")
	}
	alice.open(t, w.Node(1)).Emit("ping")
}
