package oraclesocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/bustest"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
)

func event(t *testing.T, name oracle.EventName) oracle.Event {
	t.Helper()
	to := oracle.Address{SessionID: alices, RequestID: "r"}
	e, err := oracle.NewEvent(name, to, oracle.RenderComponentPayload{
		Address: to, ComponentName: "Widget", Args: json.RawMessage(`{"a":1}`), EventID: "e1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRoomsSpanNodes(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 3)
	pages := []*socketiotest.Client{nodes[0].connect(t), nodes[1].connect(t), nodes[1].connect(t)}
	elsewhere := socketiotest.Connect(t, nodes[1].url, "sessionId=bobs", nodes[1].auth(t, identitytest.Bob))
	elsewhere.ExpectEvent("connected", nil)
	for _, from := range nodes { // the third has no socket at all
		if err := from.Publish(t.Context(), event(t, oracle.EventRenderComponent)); err != nil {
			t.Fatal(err)
		}
		for _, c := range pages {
			expectHybrid(t, c, "render_component", map[string]any{
				"sessionId": alices, "requestId": "r", "componentName": "Widget", "args": map[string]any{"a": 1.0}, "eventId": "e1",
			})
		}
	}
	elsewhere.Emit("ping")
	elsewhere.ExpectEvent("pong", nil) // and nothing before it
	for _, c := range pages {
		c.Emit("ping")
		c.ExpectEvent("pong", nil) // each event came once
	}
}

func TestWireFormOfAnEvent(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	c := n.connect(t)
	if err := n.Publish(t.Context(), event(t, oracle.EventRenderComponent)); err != nil {
		t.Fatal(err)
	}
	const bare = `"sessionId":"$alice:1","requestId":"r","componentName":"Widget","args":{"a":1},"eventId":"e1"`
	c.Expect(`42["render_component",{` + bare + `,"eventName":"render_component","payload":{` + bare + `}}]`)
}

func TestCallsAreNotBroadcast(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	for _, name := range []oracle.EventName{oracle.EventBrowserToolCall, oracle.EventActionCall} {
		if err := n.Publish(t.Context(), event(t, name)); err == nil {
			t.Errorf("%s was published to a room", name)
		}
	}
}

// deafBus is a bus whose hints are all lost.
type deafBus struct{ bus.Bus }

func (deafBus) Publish(context.Context, string, []byte) error { return errors.New("away") }

func TestWithoutTheBusThisNodesSocketsStillHear(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2, func(d *oraclesocket.Deps, _ *oraclesocket.Config) { d.Bus = deafBus{d.Bus} })
	c := nodes[0].connect(t)
	if err := nodes[0].Publish(t.Context(), event(t, oracle.EventRenderComponent)); err == nil {
		t.Error("Publish hid that the bus is away")
	}
	c.ExpectEvent("render_component", nil)
	answered(t, c, nodes[0], "c1")
}

// call is a call that waits long enough for any test.
func call(id string, kind oracle.CallKind) oracle.Call {
	return oracle.Call{
		ID: id, Kind: kind, SessionID: alices, RequestID: "r", Owner: identitytest.Alice.DID,
		Name: "tool", Args: json.RawMessage(`{"x":1}`), Deadline: time.Now().Add(socketiotest.Patience),
	}
}

type dispatched struct {
	outcome oracle.Outcome
	err     error
}

func dispatch(ctx context.Context, n *node, c oracle.Call) chan dispatched {
	got := make(chan dispatched, 1)
	go func() {
		o, err := n.Dispatch(ctx, c)
		got <- dispatched{o, err}
	}()
	return got
}

func await(t *testing.T, got chan dispatched) dispatched {
	t.Helper()
	select {
	case d := <-got:
		return d
	case <-time.After(socketiotest.Patience):
		t.Fatal("the call does not return")
		panic("unreachable")
	}
}

// answered makes a call from a node and lets the page answer it.
func answered(t *testing.T, page *socketiotest.Client, from *node, id string) {
	t.Helper()
	got := dispatch(t.Context(), from, call(id, oracle.BrowserTool))
	page.Expect(`42["browser_tool_call",{"sessionId":"$alice:1","requestId":"r","toolCallId":"` + id + `","toolName":"tool","args":{"x":1}}]`)
	page.Emit("tool_result", map[string]any{"toolCallId": id, "sessionId": alices, "result": map[string]any{"ok": true}})
	if d := await(t, got); d.err != nil || string(d.outcome.Result) != `{"ok":true}` || d.outcome.Unknown ||
		d.outcome.Error != "" {
		t.Errorf("outcome: %+v %v", d.outcome, d.err)
	}
}

func TestACallGoesToOneSocketOnAnyNode(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 3)
	first, second := nodes[0].connect(t), nodes[1].connect(t)
	for i, from := range nodes {
		time.Sleep(2 * time.Millisecond) // activity is told apart by milliseconds
		second.Emit("ping")
		second.ExpectEvent("pong", nil)
		answered(t, second, from, "to-second-"+string(rune('a'+i)))
		time.Sleep(2 * time.Millisecond)
		first.Emit("ping")
		first.ExpectEvent("pong", nil)
		answered(t, first, from, "to-first-"+string(rune('a'+i)))
	}
	for _, page := range []*socketiotest.Client{first, second} {
		page.Emit("ping")
		page.ExpectEvent("pong", nil) // no page saw another's call
	}
}

func TestAnActionCall(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	c := n.connect(t)
	for id, test := range map[string]struct {
		result map[string]any
		want   oracle.Outcome
	}{
		"ok": {map[string]any{"result": "done"}, oracle.Outcome{Result: json.RawMessage(`"done"`)}},
		"error": {
			map[string]any{"result": map[string]any{"success": false, "error": "inner"}, "error": "outer"},
			oracle.Outcome{Error: "outer"},
		},
		"failed":  {map[string]any{"result": map[string]any{"success": false, "error": "inner"}}, oracle.Outcome{Error: "inner"}},
		"nothing": {map[string]any{}, oracle.Outcome{}},
		"object":  {map[string]any{"result": nil, "error": map[string]any{"issue": 1}}, oracle.Outcome{Error: `{"issue":1}`}},
	} {
		got := dispatch(t.Context(), n, call(id, oracle.Action))
		c.Expect(`42["action_call",{"sessionId":"$alice:1","requestId":"r","toolCallId":"` + id + `","toolName":"tool","args":{"x":1},"status":"isRunning"}]`)
		test.result["toolCallId"], test.result["sessionId"] = id, alices
		c.Emit("action_call_result", test.result)
		d := await(t, got)
		if d.err != nil || d.outcome.Error != test.want.Error || test.want.Result != nil &&
			string(d.outcome.Result) != string(test.want.Result) {
			t.Errorf("%s: %+v %v", id, d.outcome, d.err)
		}
	}
}

func TestOnlyTheAskedSocketsAnswerCounts(t *testing.T) {
	t.Parallel()
	n := fleet(t, 1)[0]
	other := n.connect(t)
	time.Sleep(2 * time.Millisecond)
	asked := n.connect(t)
	got := dispatch(t.Context(), n, call("c", oracle.BrowserTool))
	asked.Packet()
	ok := map[string]any{"toolCallId": "c", "result": 1}
	for name, refused := range map[string]string{
		"another socket":   other.EmitAck("tool_result", ok),
		"another kind":     asked.EmitAck("action_call_result", ok),
		"another session":  asked.EmitAck("tool_result", map[string]any{"toolCallId": "c", "sessionId": "bobs", "result": 1}),
		"another call":     asked.EmitAck("tool_result", map[string]any{"toolCallId": "d", "result": 1}),
		"no call":          asked.EmitAck("tool_result"),
		"something absurd": asked.EmitAck("tool_result", "text"),
	} {
		if refused != `[{"accepted":false}]` {
			t.Errorf("%s: %s", name, refused)
		}
	}
	if got := asked.EmitAck("tool_result", ok); got != `[{"accepted":true}]` {
		t.Errorf("the right answer: %s", got)
	}
	if got := asked.EmitAck("tool_result", ok); got != `[{"accepted":false}]` {
		t.Errorf("the same answer again: %s", got)
	}
	if d := await(t, got); string(d.outcome.Result) != "1" {
		t.Errorf("outcome: %+v", d)
	}
}

func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	for _, from := range []int{0, 1} { // from the page's node, and from another
		nodes := fleet(t, 2)
		n := nodes[from]

		page := nodes[0].connect(t)
		late := call("late", oracle.BrowserTool)
		late.Deadline = time.Now().Add(1500 * time.Millisecond)
		got := dispatch(t.Context(), n, late)
		page.Packet()
		if d := await(t, got); d.err != nil || !d.outcome.Unknown {
			t.Errorf("after the deadline: %+v", d)
		}
		if ack := page.EmitAck("tool_result", map[string]any{"toolCallId": "late", "result": 1}); ack != `[{"accepted":false}]` {
			t.Errorf("a late answer: %s", ack)
		}

		ctx, cancel := context.WithCancel(t.Context())
		got = dispatch(ctx, n, call("canceled", oracle.BrowserTool))
		page.Packet()
		cancel()
		if d := await(t, got); d.err != nil || !d.outcome.Unknown {
			t.Errorf("after the context ended: %+v", d)
		}

		got = dispatch(t.Context(), n, call("gone", oracle.BrowserTool))
		page.Packet()
		_ = page.Conn.Close()
		if d := await(t, got); d.err != nil || !d.outcome.Unknown {
			t.Errorf("after the page went: %+v", d)
		}
	}
}

func TestACallWhoseNodeDies(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2, func(d *oraclesocket.Deps, c *oraclesocket.Config) {
		if c.Node == "a" {
			d.Bus = mute{Bus: d.Bus, after: new(atomic.Bool)}
		}
	})
	page := nodes[0].connect(t)
	got := dispatch(t.Context(), nodes[1], call("c", oracle.BrowserTool))
	page.Packet()
	nodes[0].stop()
	if d := await(t, got); d.err != nil || !d.outcome.Unknown {
		t.Errorf("outcome: %+v", d)
	}
}

// mute loses every settlement, so that the other node has to ask.
type mute struct {
	bus.Bus
	after *atomic.Bool
}

func (m mute) Publish(ctx context.Context, subject string, data []byte) error {
	if strings.Contains(string(data), `"settled"`) {
		return nil
	}
	return m.Bus.Publish(ctx, subject, data)
}

func TestALostSettlementIsAskedFor(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2, func(d *oraclesocket.Deps, _ *oraclesocket.Config) { d.Bus = mute{Bus: d.Bus} })
	page := nodes[0].connect(t)
	answered(t, page, nodes[1], "c")
}

func TestADoubledOrderRunsOnce(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2, func(d *oraclesocket.Deps, _ *oraclesocket.Config) { d.Bus = bustest.Flaky(d.Bus, 3) })
	page := nodes[0].connect(t)
	for i := range 10 {
		c := call("c"+string(rune('a'+i)), oracle.BrowserTool)
		got := dispatch(t.Context(), nodes[0], c)
		name, arg := page.Event()
		if name != "browser_tool_call" || fields(t, arg)["toolCallId"] != c.ID {
			t.Fatalf("received %s %s", name, arg)
		}
		page.Emit("tool_result", map[string]any{"toolCallId": c.ID, "result": i})
		if d := await(t, got); d.err != nil || d.outcome.Unknown {
			t.Errorf("outcome: %+v %v", d.outcome, d.err)
		}
	}
}

func TestCallsThatAreNotSent(t *testing.T) {
	t.Parallel()
	n := fleet(t, 2, func(_ *oraclesocket.Deps, c *oraclesocket.Config) { c.MaxCalls = 1 })[0]
	if _, err := n.Dispatch(t.Context(), call("nobody", oracle.BrowserTool)); !errors.Is(err, oracle.ErrNoBrowser) {
		t.Errorf("without a page: %v", err)
	}
	page := n.connect(t)
	stranger := call("stranger", oracle.BrowserTool)
	stranger.Owner = identitytest.Bob.DID
	if _, err := n.Dispatch(t.Context(), stranger); !errors.Is(err, oracle.ErrNoBrowser) {
		t.Errorf("for another user: %v", err)
	}
	past := call("past", oracle.BrowserTool)
	past.Deadline = time.Now().Add(-time.Second)
	if _, err := n.Dispatch(t.Context(), past); !errors.Is(err, oracle.ErrNoBrowser) {
		t.Errorf("after its deadline: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := dispatch(ctx, n, call("open", oracle.BrowserTool))
	page.Packet()
	if _, err := n.Dispatch(t.Context(), call("second", oracle.BrowserTool)); !errors.Is(err, oracle.ErrTooManyCalls) {
		t.Errorf("one too many: %v", err)
	}
	cancel()
	await(t, got)
}

func TestPollingReachesItsNodeThroughAnyOther(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 3)
	p, _ := socketiotest.OpenPolling(t, nodes[0].url, "sessionId="+alices)
	at := func(i int) *socketiotest.Polling {
		other := *p
		other.Base = nodes[i].url
		return &other
	}
	if status, answer := at(1).Post("40" + socketiotest.JSON(t, nodes[0].auth(t, identitytest.Alice))); status != 200 ||
		answer != "ok" {
		t.Fatalf("a push to another node: %d %s", status, answer)
	}
	if _, body := at(2).Get(); !strings.HasPrefix(body, `40{"sid":"`) {
		t.Fatalf("a poll of another node: %s", body)
	}
	w := socketiotest.DialWire(t, nodes[1].url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	at(2).Get()
	w.Send("5")
	w.Send(`42["ping"]`)
	for got := w.Next(); !strings.HasPrefix(got, `42["pong"`); got = w.Next() {
		if !strings.HasPrefix(got, `42["connected"`) {
			t.Fatalf("received %s", got)
		}
	}

	if status, body := socketiotest.Do(t, http.MethodGet, nodes[1].url+"?EIO=4&transport=polling&sid=AAAAAAAAbbbbbbbbbbbbbbbbbbbb", ""); status != 400 || body != `{"code":1,"message":"Session ID unknown"}` {
		t.Errorf("a node that never was: %d %s", status, body)
	}
	gone, _ := socketiotest.OpenPolling(t, nodes[2].url, "sessionId="+alices)
	if status, _ := socketiotest.Do(t, http.MethodPost, nodes[1].url+"?"+gone.Query, "4x"); status != 400 &&
		status != 200 {
		t.Errorf("before it goes: %d", status)
	}
	nodes[2].stop()
	if status, body := socketiotest.Do(t, http.MethodGet, nodes[1].url+"?"+gone.Query, ""); status != 400 ||
		body != `{"code":1,"message":"Session ID unknown"}` {
		t.Errorf("a node that is gone: %d %s", status, body)
	}
}
