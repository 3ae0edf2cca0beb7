package system

import (
	"bytes"
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

// seen is one event that a page received.
type seen struct {
	page *socketiotest.Client
	name string
	arg  map[string]any
}

// watch reads a page's events until the test closes it.
func watch(page *socketiotest.Client, into chan<- seen) {
	for {
		_, packet, err := page.Conn.ReadMessage()
		if err != nil {
			return
		}
		var event []any
		if json.Unmarshal(bytes.TrimPrefix(packet, []byte("42")), &event) != nil || len(event) != 2 {
			continue // a heartbeat
		}
		name, _ := event[0].(string)
		arg, _ := event[1].(map[string]any)
		into <- seen{page, name, arg}
	}
}

func TestAPageFollowsItsSessionOnAnyNode(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		alice := newChatter(t, w, identitytest.Alice)
		first, second := alice.open(t, w.Node(1)), alice.open(t, w.Node(2))
		events := make(chan seen, 100)
		for _, page := range []*socketiotest.Client{first, second} {
			go watch(page, events)
		}
		for _, kind := range []struct{ field, call, result string }{
			{"tools", "browser_tool_call", "tool_result"},
			{"agActions", "action_call", "action_call_result"},
		} {
			body := fmt.Sprintf(`{"message":"/tool double {\"n\":21}","%s":[{"name":"double","description":"Doubles a number","schema":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}}]}`, kind.field)
			answer := make(chan Reply, 1)
			go func() { answer <- alice.do(t, w.Node(0), http.MethodPost, "/messages/"+alice.session, body) }()
			calls, stored, running, done := 0, map[*socketiotest.Client]bool{}, 0, 0
			for len(stored) < 2 || answer != nil {
				select {
				case got := <-answer:
					answer = nil
					if got.Status != http.StatusOK || !strings.Contains(string(got.Body), "42") {
						t.Errorf("the answer to the message: %d %s", got.Status, got.Body)
					}
				case e := <-events:
					switch {
					case e.name == kind.call:
						calls++
						if e.arg["eventName"] != nil || e.arg["payload"] != nil {
							t.Errorf("%s is not bare: %v", e.name, e.arg)
						}
						if diff := cmp.Diff(map[string]any{"n": 21.0}, e.arg["args"]); diff != "" {
							t.Errorf("args (-want +got):\n%s", diff)
						}
						e.page.Emit(kind.result, map[string]any{
							"toolCallId": e.arg["toolCallId"], "sessionId": alice.session, "result": map[string]any{"doubled": 42},
						})
					case e.name == "message_cache_invalidation" && e.arg["title"] != nil:
						if e.arg["eventName"] != nil || e.arg["sessionId"] != alice.session {
							t.Errorf("a title is not told bare: %v", e.arg)
						}
					case e.name == "run_started":
						if e.arg["eventName"] != nil || e.arg["sessionId"] != alice.session || e.arg["runId"] == nil {
							t.Errorf("that a turn began is not told bare: %v", e.arg)
						}
					case e.arg["eventName"] != e.name || e.arg["sessionId"] != alice.session:
						t.Errorf("%s is not in the hybrid form: %v", e.name, e.arg)
					case e.name == "message_cache_invalidation":
						stored[e.page] = true
					case e.name == "tool_call" && e.arg["status"] == "isRunning":
						running++
					case e.name == "tool_call":
						done++
					}
				}
			}
			if calls != 1 {
				t.Errorf("%d %s events for one call", calls, kind.call)
			}
			if kind.field == "tools" && (running != 2 || done != 2) {
				t.Errorf("two pages saw %d tool_call events running and %d done", running, done)
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
		if status, answer := at(1).Post("40" +
			socketiotest.JSON(t, map[string]string{"invocation": alice.token})); status != http.StatusOK || answer != "ok" {
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
				if status, body := socketiotest.Do(t, http.MethodGet, w.Node(0).URL+"/socket.io/?"+lost.Query,
					""); status != http.StatusBadRequest || !strings.Contains(body, `"code":1`) {
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
