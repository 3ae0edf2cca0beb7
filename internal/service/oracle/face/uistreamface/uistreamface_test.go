package uistreamface_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

const path = "/ai-sdk/chat"

type object = map[string]any

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func says(id, role string, parts ...any) object {
	return object{"id": id, "role": role, "parts": parts}
}

func text(text string) object { return object{"type": "text", "text": text} }

func chat(messages ...any) object { return object{"id": "c", "messages": messages} }

// chunks are the elements of a stream, without [DONE].
func chunks(t *testing.T, body string) []object {
	t.Helper()
	var out []object
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var one object
		must(t, json.Unmarshal([]byte(data), &one))
		out = append(out, one)
	}
	return out
}

func types(list []object) []string {
	var out []string
	for _, c := range list {
		out = append(out, c["type"].(string))
	}
	return out
}

// Thoughts, texts and the oracle's own calls are parts of one message, in their order.
func TestParts(t *testing.T) {
	t.Parallel()
	thinks := scripted.Reply{Chunks: []plugin.Chunk{{Reasoning: "hm"}, {Text: "Let me see."}}, Calls: []plugin.ModelToolCall{
		{ID: "c1", Name: "load_capability", Args: json.RawMessage(`{"name":"none"}`)},
	}}
	alice := oracletest.Start(t, scripted.Sequence(thinks, scripted.Text("Hello"))).As(t, identitytest.Alice)
	r := alice.Do("POST", path, chat(says("m", "user", text("hi"))))
	if r.Status != http.StatusOK || r.Header.Get("X-Vercel-Ai-Ui-Message-Stream") != "v1" || !strings.HasSuffix(string(r.Body), "data: [DONE]\n\n") {
		t.Fatalf("%d %v %s", r.Status, r.Header, r.Body)
	}
	got := chunks(t, string(r.Body))
	want := []string{
		"start", "start-step", "reasoning-start", "reasoning-delta", "reasoning-end", "text-start", "text-delta", "text-end",
		"tool-input-available", "tool-output-error", "text-start", "text-delta", "text-end", "finish-step", "finish",
	}
	if d := cmp.Diff(want, types(got)); d != "" {
		t.Errorf("%s %s", d, r.Body)
	}
	if got[0]["messageId"] != r.Header.Get("X-Run-Id") {
		t.Errorf("the message is %v", got[0])
	}
	if again := alice.Do("GET", path+"/c/stream", nil); again.Status != http.StatusNoContent {
		t.Errorf("what has arrived comes again: %d %s", again.Status, again.Body)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	hi := says("m", "user", text("hi"))
	approved := says("a", "assistant", object{"type": "tool-x", "state": "approval-responded", "toolCallId": "t", "approval": object{"id": "none", "approved": false}})
	for name, c := range map[string]struct {
		body   any
		status int
	}{
		"no JSON":       {`{`, 400},
		"no chat":       {object{"messages": []any{hi}}, 400},
		"a long chat":   {object{"id": strings.Repeat("x", 201), "messages": []any{hi}}, 400},
		"no messages":   {chat(), 400},
		"no text":       {chat(says("m", "user")), 400},
		"a role":        {chat(says("m", "king", text("hi"))), 400},
		"a tool's name": {object{"id": "c", "messages": []any{hi}, "tools": []any{object{"name": "load_capability"}}}, 400},
		"a lost result": {chat(hi, says("a", "assistant", object{"type": "tool-x", "state": "output-available", "output": 1})), 400},
		"no question":   {chat(hi, approved), 404},
		"a crowd":       {`{"messages":[` + strings.Repeat(`{},`, 200_000) + `{}]}`, 400},
		"too long":      {chat(says("m", "user", text(strings.Repeat("x", 1<<20+1)))), 400},
	} {
		r := alice.Do("POST", path, c.body)
		var got struct{ Message, Code string }
		r.JSON(t, &got)
		if r.Status != c.status || got.Message == "" || got.Code == "" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
}

// A page that leaves comes back to its turn, which nobody else can read or stop.
func TestATurnGoesOnWithoutItsPage(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	held := scripted.Text("slow", " but", " sure")
	held.Wait = wait
	n := oracletest.Start(t, scripted.Sequence(held))
	alice, bob := n.As(t, identitytest.Alice), n.As(t, identitytest.Bob)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := alice.Open(ctx, "POST", path, chat(says("m", "user", text("hi"))))
	must(t, err)
	runID := resp.Header.Get("X-Run-Id")
	cancel()
	_ = resp.Body.Close()
	for method := range map[string]bool{"GET": true, "DELETE": true} {
		if r := bob.Do(method, path+"/c/stream", nil); r.Status != http.StatusNoContent {
			t.Errorf("Bob: %d %s", r.Status, r.Body)
		}
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp, err = alice.Open(patience, "GET", path+"/c/stream", nil)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Run-Id") != runID {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	said, all := "", ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); all += lines.Text() + "\n" {
		for _, c := range chunks(t, lines.Text()) {
			if c["type"] != "text-delta" {
				continue
			}
			// What was said before it came back is shown at once; then the model goes on.
			if said += c["delta"].(string); said == "slow but sure" {
				close(wait)
			}
		}
	}
	if said != "slow but sure" || !strings.Contains(all, "[DONE]") {
		t.Errorf("%q in %s", said, all)
	}
}

// What an answer points to are sources of its message, behind its text.
func TestSources(t *testing.T) {
	t.Parallel()
	model, with := oracletest.Citing()
	alice := oracletest.Start(t, model, with).As(t, identitytest.Alice)
	got := chunks(t, string(alice.Do("POST", path, chat(says("m", "user", text("when?")))).Body))
	var sources []object
	for _, c := range got {
		if c["type"] == "source-document" {
			sources = append(sources, c)
		}
	}
	if len(sources) != 2 {
		t.Fatalf("%v", types(got))
	}
	cited := object{"number": 1.0, "collection": "c", "document": "mill", "passage": "c/mill/0", "title": "Mill", "name": "mill.pdf", "page": 3.0, "text": "The mill grinds on Fridays."}
	want := object{
		"type": "source-document", "sourceId": "c/mill/0", "mediaType": "text/plain", "title": "Mill", "filename": "mill.pdf",
		"providerMetadata": object{"castalia": cited},
	}
	if d := cmp.Diff(want, sources[0]); d != "" {
		t.Error(d)
	}
	if sources[1]["title"] != "clinic.txt" {
		t.Errorf("a document without a title: %v", sources[1])
	}
	kinds := types(got)
	if tail := kinds[len(kinds)-5:]; !cmp.Equal(tail, []string{"text-end", "source-document", "source-document", "finish-step", "finish"}) {
		t.Errorf("ends with %v", tail)
	}
}

// A turn that is refused in its course ends with an error, and nobody said so.
func TestWhatIsRefusedIsAnError(t *testing.T) {
	t.Parallel()
	till := &oracletest.Till{}
	alice := oracletest.Start(t, nil, till.With).As(t, identitytest.Alice)
	list := chunks(t, string(alice.Do("POST", path, chat(says("m", "user", text("hi")))).Body))
	if last := list[len(list)-1]; last["type"] != "error" || last["errorText"] != oracletest.SpentText {
		t.Errorf("%v", list)
	}
	for _, kind := range types(list) {
		if kind == "text-delta" || kind == "finish" {
			t.Errorf("%v", list)
		}
	}
}
