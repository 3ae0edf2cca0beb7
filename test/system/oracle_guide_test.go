package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// page is what the console declares with each message: a tool and an action of its own.
const page = `"tabId":"tab-1",
	"tools":[{"name":"set_theme","description":"Sets the colour theme of the user's page: light, dark or auto.","schema":{"type":"object",
		"properties":{"theme":{"type":"string","enum":["auto","light","dark"]}},"required":["theme"],"additionalProperties":false}}],
	"agActions":[{"name":"show_chart","description":"Shows numbers to the user as a bar chart, a line or a table.","schema":{"type":"object",
		"properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},"values":{"type":"array","items":{"type":"number"}}},
		"required":["labels","values"]},"hasRender":true}]`

// suggest sends the text of a suggestion as the first message of a session, as the
// console does.
func (c *chatter) suggest(t *testing.T, n *Node, text string) *stream {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return c.stream(t, n, http.MethodPost, "/messages/"+c.session, fmt.Sprintf(`{"message":%s,"stream":true,%s}`, quoted, page))
}

// TestSuggestionsOfTheFirstScreen holds the built-in guide to what the console
// suggests to newcomers: each works at the first click, the third also after Allow.
func TestSuggestionsOfTheFirstScreen(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../web/console/languages/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var shown struct{ Chat map[string]string }
	if err := json.Unmarshal(raw, &shown); err != nil {
		t.Fatal(err)
	}
	const castalia, chart, files, theme = "What is Castalia?", "/tool show_chart ", "list my files", "set the theme to dark"
	for name, text := range map[string]string{"whatIs": castalia, "listFilesAsk": files, "setDarkAsk": theme} {
		if shown.Chat[name] != text {
			t.Errorf("the console suggests %q, not %q", shown.Chat[name], text)
		}
	}
	Each(t, func(t *testing.T, w *World) {
		actor := func(name string) *chatter { return newChatter(t, w, identitytest.NewActor(name+string(w.Shape))) }
		if said := textOf(t, actor("asks").suggest(t, w.Node(0), castalia).rest(t)); !strings.Contains(said, "From Castalia's documentation") {
			t.Errorf("%s: %s", castalia, said)
		}
		for text, want := range map[string]string{
			chart + `{"title":"Litres","labels":["Mon","Tue"],"values":[420,388]}`: "The chart is on the page",
			theme: "dark",
		} {
			c := actor("page" + want)
			into := make(chan seen, 64)
			go watch(c.open(t, w.Node(1)), into)
			answer := make(chan []frame, 1)
			go func() { answer <- c.suggest(t, w.Node(0), text).rest(t) }()
			for called := false; !called; {
				e := <-into
				switch e.name {
				case "action_call":
					e.page.Emit("action_call_result", map[string]any{"toolCallId": e.arg["toolCallId"], "sessionId": c.session, "result": "The chart is on the page, with 2 values."})
				case "browser_tool_call":
					e.page.Emit("tool_result", map[string]any{
						"toolCallId": e.arg["toolCallId"], "sessionId": c.session,
						"result": map[string]string{"before": "auto", "now": "dark"},
					})
				default:
					continue
				}
				called = true
			}
			if said := textOf(t, <-answer); !strings.Contains(said, want) {
				t.Errorf("%s: %s", text, said)
			}
		}
		for name, test := range map[string]func(*testing.T, *World){
			"Allow": allowed, "Not now": declined,
			"without a page": unasked, "the delegation is there first": overtaken,
		} {
			t.Run(name, func(t *testing.T) { test(t, w) })
		}
	})
}

// delegate is what the console's Allow sends.
func (c *chatter) delegate(t *testing.T, n *Node, who identitytest.Actor) {
	t.Helper()
	grant, err := json.Marshal(map[string]string{"raw": identitytest.Delegation(t, who, serviceDID(t, n),
		identitytest.Can("fs/read", who.Home("")))})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.do(t, n, http.MethodPost, "/delegation", string(grant)); r.Status != http.StatusOK {
		t.Fatalf("delegation: %d %s", r.Status, r.Body)
	}
}

// asked reads a turn until it waits for a delegation.
func asked(t *testing.T, s *stream) []frame {
	t.Helper()
	frames := s.until(t, func(f frame) bool { return f.Event == "approval_required" })
	if last := frames[len(frames)-1]; !strings.Contains(last.Data, `"reason":"delegation"`) {
		t.Fatalf("it waits for %s", last.Data)
	}
	if !slices.Contains(events(frames), "delegation_required") {
		t.Errorf("the page was not asked: %v", events(frames))
	}
	return frames
}

// The turn that asked for permission goes on by itself when it is given, on another
// node than the one that asked.
func allowed(t *testing.T, w *World) {
	who := identitytest.NewActor("allows" + string(w.Shape))
	c, did := newChatter(t, w, who), serviceDID(t, w.Node(0))
	put := w.Node(1).Do(t, Call{Method: http.MethodPut, Path: "/api/fs/content?path=/heron.txt", Body: "a heron", Header: http.Header{
		"Authorization": {"Bearer " + identitytest.Files(t, who, did, "fs/*")}, "Content-Type": {"text/plain"},
	}})
	if put.Status != http.StatusCreated {
		t.Fatalf("put: %d %s", put.Status, put.Body)
	}
	s := c.suggest(t, w.Node(0), "list my files")
	frames := asked(t, s)
	c.delegate(t, w.Node(1), who)
	frames = append(frames, s.rest(t)...)
	if said := textOf(t, frames); !strings.HasPrefix(said, "Your files:") || !strings.Contains(said, "heron.txt") {
		t.Errorf("after Allow: %q", said)
	}
	var list transcript
	c.do(t, w.Node(2), http.MethodGet, "/messages/"+c.session, "").JSON(t, &list)
	people := 0
	for _, m := range list.Messages {
		if m.Type == "human" {
			people++
		}
	}
	if people != 1 {
		t.Errorf("the question was asked %d times", people)
	}
	// What is granted is not asked for again.
	again := newChatter(t, w, who).suggest(t, w.Node(2), "list my files").rest(t)
	if said := textOf(t, again); !strings.Contains(said, "heron.txt") || slices.Contains(events(again), "approval_required") {
		t.Errorf("the next time: %q %v", said, events(again))
	}
}

// Whoever says no is told how to say yes later.
func declined(t *testing.T, w *World) {
	c := newChatter(t, w, identitytest.NewActor("declines"+string(w.Shape)))
	s := c.suggest(t, w.Node(0), "list my files")
	asked(t, s)
	var list struct{ Approvals []struct{ ID, Reason string } }
	c.do(t, w.Node(1), http.MethodGet, "/approvals?sessionId="+c.session, "").JSON(t, &list)
	if len(list.Approvals) != 1 || list.Approvals[0].Reason != "delegation" {
		t.Fatalf("waits: %+v", list)
	}
	if r := c.do(t, w.Node(1), http.MethodPost, "/approvals/"+list.Approvals[0].ID, `{"decision":"deny"}`); r.Status != http.StatusOK {
		t.Fatalf("deny: %d %s", r.Status, r.Body)
	}
	if said := textOf(t, s.rest(t)); !strings.Contains(said, "I may not use your files yet") {
		t.Errorf("after Not now: %q", said)
	}
}

// A program without a page cannot be asked, and does not wait.
func unasked(t *testing.T, w *World) {
	c := newChatter(t, w, identitytest.NewActor("program"+string(w.Shape)))
	if said := textOf(t, c.say(t, w.Node(0), "list my files").rest(t)); !strings.Contains(said, "I may not use your files yet") {
		t.Errorf("without a page: %q", said)
	}
}

// A delegation that comes when the turn has begun, and before anybody can see that it
// waits, is not overlooked: pages that mint without asking send it with the first frame.
func overtaken(t *testing.T, w *World) {
	who := identitytest.NewActor("hurries" + string(w.Shape))
	c := newChatter(t, w, who)
	s := c.suggest(t, w.Node(0), "list my files")
	c.delegate(t, w.Node(1), who)
	if said := textOf(t, s.rest(t)); !strings.HasPrefix(said, "Your files:") {
		t.Errorf("the delegation came first: %q", said)
	}
}
