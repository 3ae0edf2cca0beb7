package oraclesocket_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// A call goes to the page that its turn's message named, on whichever node that
// page is, although another one was used later; and to the one used last when
// the named one is not there.
func TestACallGoesToThePageThatAsked(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2)
	asking := socketiotest.Connect(t, nodes[1].url, "sessionId="+alices+"&tabId=tab-1", nodes[1].auth(t, identitytest.Alice))
	asking.ExpectEvent("connected", nil)
	later := nodes[0].connect(t)
	later.Send(`427["ping",{}]`) // the page that is used last
	for !strings.HasPrefix(later.Packet(), "437[") {
		continue
	}
	send := func(page *socketiotest.Client, id, tab string) {
		t.Helper()
		c := call(id, oracle.BrowserTool)
		c.Tab = tab
		got := dispatch(t.Context(), nodes[0], c)
		if packet := page.Packet(); !strings.Contains(packet, id) {
			t.Fatalf("the page got %s", packet)
		}
		page.Send(`42["tool_result",{"toolCallId":"` + id + `","result":{"ok":true}}]`)
		if d := await(t, got); d.err != nil || d.outcome.Unknown {
			t.Errorf("%s: %+v %v", id, d.outcome, d.err)
		}
	}
	send(asking, "c-1", "tab-1")
	later.Send(`428["ping",{}]`)
	for !strings.HasPrefix(later.Packet(), "438[") {
		continue
	}
	send(later, "c-2", "tab-of-yesterday")
	send(later, "c-3", "")
}

// A page that came by a delegation alone gets no call while one is there whose user
// signed, whatever name it gives itself and however much it is used.
func TestADelegatedPageTakesNoCallFromASignedOne(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2)
	own := socketiotest.Connect(t, nodes[0].url, "sessionId="+alices+"&tabId=tab-1", nodes[0].auth(t, identitytest.Alice))
	own.ExpectEvent("connected", nil)
	for i, n := range nodes {
		other := socketiotest.Connect(t, n.url, "sessionId="+alices+"&tabId=tab-1", map[string]any{
			"ucanDelegation": identitytest.UserToOracle(t, identitytest.Alice, n.identity.DID()),
		})
		other.ExpectEvent("connected", nil)
		other.Send(`427["ping",{}]`)
		for !strings.HasPrefix(other.Packet(), "437[") {
			continue
		}
		for _, tab := range []string{"tab-1", ""} {
			id := "c-" + string(rune('a'+i)) + tab
			c := call(id, oracle.BrowserTool)
			c.Tab = tab
			got := dispatch(t.Context(), nodes[i], c)
			if packet := own.Packet(); !strings.Contains(packet, id) {
				t.Fatalf("the page got %s", packet)
			}
			own.Send(`42["tool_result",{"toolCallId":"` + id + `","result":{"ok":true}}]`)
			if d := await(t, got); d.err != nil || d.outcome.Unknown {
				t.Errorf("%s: %+v %v", id, d.outcome, d.err)
			}
		}
	}
}

// A name of a tab is nobody's but its user's: whoever else gives it to a page, in a
// session of their own, on any node, is not called, also when nobody else is there.
func TestATabOfAnotherUserTakesNoCall(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 2)
	for _, n := range nodes {
		other := socketiotest.Connect(t, n.url, "sessionId=bobs&tabId=tab-1", n.auth(t, identitytest.Bob))
		other.ExpectEvent("connected", nil)
	}
	c := call("c-1", oracle.BrowserTool)
	c.Tab = "tab-1"
	if d := await(t, dispatch(t.Context(), nodes[0], c)); !errors.Is(d.err, oracle.ErrNoBrowser) {
		t.Errorf("%+v, %v", d.outcome, d.err)
	}
}
