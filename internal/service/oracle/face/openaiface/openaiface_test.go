package openaiface_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/face/openaiface"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

const chatPath = "/v1/chat/completions"

type object = map[string]any

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func says(role, text string) object { return object{"role": role, "content": text} }

// ask sends a request and reads its whole answer.
func ask(t *testing.T, c *oracletest.Client, body any) openaiface.Completion {
	t.Helper()
	r := c.Do("POST", chatPath, body)
	if r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var got openaiface.Completion
	r.JSON(t, &got)
	if got.Object != "chat.completion" || len(got.Choices) != 1 {
		t.Fatalf("%s", r.Body)
	}
	return got
}

func textOf(c openaiface.Completion) string {
	if c.Choices[0].Message.Content == nil {
		return ""
	}
	return *c.Choices[0].Message.Content
}

// told is what a model was told, one line for each message, without notes.
func told(req plugin.ModelRequest) []string {
	var out []string
	for _, m := range req.Messages {
		line := string(m.Role) + ": " + m.Text
		for _, c := range m.ToolCalls {
			line += " " + c.Name + string(c.Args)
		}
		out = append(out, line)
	}
	return out
}

// turns are the requests for turns.
func turns(p *scripted.Provider) []plugin.ModelRequest {
	var out []plugin.ModelRequest
	for _, r := range p.Requests() {
		if r.Purpose == "turn" {
			out = append(out, r)
		}
	}
	return out
}

func sessions(t *testing.T, c *oracletest.Client) int {
	t.Helper()
	var list struct{ Total int }
	c.Do("GET", "/sessions", nil).JSON(t, &list)
	return list.Total
}

func TestModels(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	var list openaiface.ModelList
	alice.Do("GET", "/v1/models", nil).JSON(t, &list)
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
		if m.Object != "model" || m.Created == 0 || m.OwnedBy == "" {
			t.Errorf("%+v", m)
		}
	}
	if d := cmp.Diff([]string{"oracle", "oracle-small"}, names); d != "" || list.Object != "list" {
		t.Error(d)
	}
	if r := alice.Do("GET", "/v1/models/oracle", nil); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := alice.Do("GET", "/v1/models/gpt-9", nil); r.Status != 404 || !strings.Contains(string(r.Body), `"code":"model_not_found"`) {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// A whole history runs in a session that nobody sees, and is what the model is told.
func TestAHistoryIsAnsweredUnseen(t *testing.T) {
	t.Parallel()
	model := scripted.Sequence(scripted.Text("It ", "flies."))
	n := oracletest.Start(t, model)
	alice := n.As(t, identitytest.Alice)
	got := ask(t, alice, object{"model": "oracle", "temperature": 0.3, "user": "u", "stop": nil, "unheard_of": object{}, "messages": []any{
		says("system", "Speak like a farmer."), says("user", "What is a bee?"), says("assistant", "An insect."),
		object{"role": "user", "content": []any{object{"type": "text", "text": "What does it do?"}, object{"type": "video", "video": 1}}},
	}})
	if textOf(got) != "It flies." || got.Choices[0].FinishReason != "stop" || got.Model != "oracle" ||
		got.Usage.TotalTokens != 3 {
		t.Errorf("%+v", got)
	}
	req := turns(model)[0]
	want := []string{"user: What is a bee?", "assistant: An insect.", "user: What does it do?\n[something that cannot be read here: video]"}
	if d := cmp.Diff(want, told(req)); d != "" {
		t.Error(d)
	}
	if !strings.Contains(req.System, "Speak like a farmer.") || !strings.Contains(req.System, "You are Testa") {
		t.Errorf("system: %s", req.System)
	}
	if sessions(t, alice) != 0 {
		t.Error("the session is listed")
	}
	if purposes := len(model.Requests()) - len(turns(model)); purposes != 0 {
		t.Errorf("%d more requests: a hidden session needs no title", purposes)
	}
}

// The name of a conversation makes a session, which has the history.
func TestAConversationIsASession(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]func(c *oracletest.Client, body object){
		"header":     func(c *oracletest.Client, _ object) { c.Header.Set("X-Conversation-Id", "chat 7") },
		"Open WebUI": func(c *oracletest.Client, _ object) { c.Header.Set("X-OpenWebUI-Chat-Id", "7b0f") },
		"metadata":   func(_ *oracletest.Client, body object) { body["metadata"] = object{"session_id": "m"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := scripted.Sequence(scripted.Text("One."), scripted.Text("Two."))
			alice := oracletest.Start(t, model).As(t, identitytest.Alice)
			first := object{"model": "oracle", "messages": []any{says("user", "first")}}
			named(alice, first)
			ask(t, alice, first)
			second := object{"model": "oracle", "messages": []any{says("user", "not what was said"), says("assistant", "nor this"), says("user", "second")}}
			named(alice, second)
			if got := ask(t, alice, second); textOf(got) != "Two." {
				t.Errorf("%+v", got)
			}
			if d := cmp.Diff([]string{"user: first", "assistant: One.", "user: second"}, told(turns(model)[1])); d != "" {
				t.Error(d)
			}
			if n := sessions(t, alice); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
	t.Run("a session of one's own", func(t *testing.T) {
		t.Parallel()
		model := scripted.Sequence(scripted.Text("Yes."))
		n := oracletest.Start(t, model)
		alice, bob := n.As(t, identitytest.Alice), n.As(t, identitytest.Bob)
		id := alice.Session()
		alice.Say(id, "hello")
		for _, who := range []*oracletest.Client{alice, bob} {
			who.Header.Set("X-Conversation-Id", id)
			ask(t, who, object{"model": "oracle", "messages": []any{says("user", "again")}})
		}
		if d := cmp.Diff([]string{"user: hello", "assistant: Yes.", "user: again"}, told(turns(model)[1])); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"user: again"}, told(turns(model)[2])); d != "" {
			t.Errorf("Bob's own: %s", d)
		}
	})
}

var weather = []any{object{"type": "function", "function": object{
	"name": "get_weather", "description": "The weather of a place.", "parameters": object{"type": "object", "properties": object{"place": object{"type": "string"}}},
}}}

func wantsWeather() scripted.Reply {
	return scripted.Calls(plugin.ModelToolCall{ID: "call_w", Name: "get_weather", Args: json.RawMessage(`{"place":"Riga"}`)})
}

// Tools of the caller come back as calls; their results come with the next request.
func TestToolsOfTheCaller(t *testing.T) {
	t.Parallel()
	for name, conversation := range map[string]string{"whole history": "", "session": "c1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := scripted.Sequence(wantsWeather(), scripted.Text("It is warm."), scripted.Text("You are welcome."))
			alice := oracletest.Start(t, model).As(t, identitytest.Alice)
			if conversation != "" {
				alice.Header.Set("X-Conversation-Id", conversation)
			}
			history := []any{says("user", "How is the weather in Riga?")}
			got := ask(t, alice, object{"model": "oracle", "tools": weather, "messages": history})
			m := got.Choices[0].Message
			if got.Choices[0].FinishReason != "tool_calls" || m.Content != nil || len(m.ToolCalls) != 1 {
				t.Fatalf("%+v", got)
			}
			call := m.ToolCalls[0]
			want := openaiface.ToolCall{
				ID: "call_w", Type: "function",
				Function: openaiface.FunctionCall{Name: "get_weather", Arguments: `{"place":"Riga"}`},
			}
			if d := cmp.Diff(want, call); d != "" {
				t.Error(d)
			}
			history = append(history, object{"role": "assistant", "content": nil, "tool_calls": []any{call}},
				object{"role": "tool", "tool_call_id": call.ID, "content": "21 degrees"})
			if got = ask(t, alice,
				object{"model": "oracle", "tools": weather, "messages": history}); textOf(got) != "It is warm." ||
				got.Choices[0].FinishReason != "stop" {
				t.Errorf("%+v", got)
			}
			soFar := []string{"user: How is the weather in Riga?", `assistant:  get_weather{"place":"Riga"}`, "tool: 21 degrees"}
			if d := cmp.Diff(soFar, told(turns(model)[1])); d != "" {
				t.Error(d)
			}
			history = append(history, says("assistant", "It is warm."), says("user", "Thanks"))
			ask(t, alice, object{"model": "oracle", "tools": weather, "messages": history})
			if d := cmp.Diff(append(soFar, "assistant: It is warm.", "user: Thanks"), told(turns(model)[2])); d != "" {
				t.Error(d)
			}
			if conversation == "" {
				return
			}
			var list struct {
				Sessions []struct{ SessionID string }
			}
			alice.Do("GET", "/sessions", nil).JSON(t, &list)
			var shown struct {
				Messages []struct{ Type, Content string }
			}
			alice.Do("GET", "/messages/"+list.Sessions[0].SessionID, nil).JSON(t, &shown)
			if len(shown.Messages) != 6 || shown.Messages[2].Content != "Result of get_weather:\n21 degrees" {
				t.Errorf("people read %+v", shown.Messages)
			}
		})
	}
}

// A caller who does not answer a call goes on all the same.
func TestACallThatWasNotAnswered(t *testing.T) {
	t.Parallel()
	model := scripted.Sequence(wantsWeather(), scripted.Text("Fine."))
	alice := oracletest.Start(t, model).As(t, identitytest.Alice)
	alice.Header.Set("X-Conversation-Id", "c")
	ask(t, alice, object{"model": "oracle", "tools": weather, "messages": []any{says("user", "weather?")}})
	ask(t, alice, object{"model": "oracle", "messages": []any{says("user", "never mind")}})
	want := []string{"user: weather?", `assistant:  get_weather{"place":"Riga"}`, "tool: No result was sent for this call.", "user: never mind"}
	if d := cmp.Diff(want, told(turns(model)[1])); d != "" {
		t.Error(d)
	}
}

// chunks reads the data of a stream.
func chunks(t *testing.T, body io.Reader) []string {
	t.Helper()
	var out []string
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

func TestStream(t *testing.T) {
	t.Parallel()
	thinks := scripted.Reply{
		Chunks: []plugin.Chunk{{Reasoning: "hm"}, {Text: "Hello"}, {Text: " <you>"}},
		Usage:  plugin.Usage{InputTokens: 5, OutputTokens: 2, CachedTokens: 4, ReasoningTokens: 1},
	}
	cut := scripted.Reply{Chunks: []plugin.Chunk{{Text: "Too"}}, Finish: "length"}
	n := oracletest.Start(t, scripted.Sequence(thinks, wantsWeather(), cut))
	alice := n.As(t, identitytest.Alice)
	stream := func(body object) (string, []string) {
		body["stream"], body["model"] = true, "oracle"
		r := alice.Do("POST", chatPath, body)
		if r.Status != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		list := chunks(t, strings.NewReader(string(r.Body)))
		var deltas []string
		for _, data := range list[:len(list)-1] {
			var c struct {
				ID, Object, Model string
				Created           int64
				Choices           []struct {
					Index        *int
					Delta        json.RawMessage
					FinishReason *string `json:"finish_reason"`
				}
				Usage json.RawMessage
			}
			must(t, json.Unmarshal([]byte(data), &c))
			if c.Object != "chat.completion.chunk" || c.Model != "oracle" || !strings.HasPrefix(c.ID, "chatcmpl-") || c.Created == 0 {
				t.Errorf("%s", data)
			}
			switch {
			case len(c.Choices) == 0:
				deltas = append(deltas, "usage "+string(c.Usage))
			case c.Choices[0].FinishReason != nil:
				deltas = append(deltas, "finish "+*c.Choices[0].FinishReason)
			default:
				deltas = append(deltas, string(c.Choices[0].Delta))
			}
		}
		return list[len(list)-1], deltas
	}
	last, got := stream(object{"stream_options": object{"include_usage": true}, "messages": []any{says("user", "hi")}})
	want := []string{
		`{"role":"assistant","content":""}`, `{"reasoning_content":"hm"}`, `{"content":"Hello"}`, `{"content":" \u003cyou\u003e"}`, "finish stop",
		`usage {"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`,
	}
	if d := cmp.Diff(want, got); d != "" || last != "[DONE]" {
		t.Errorf("%s %s", last, d)
	}
	_, got = stream(object{"tools": weather, "messages": []any{says("user", "weather?")}})
	want = []string{
		`{"role":"assistant","content":""}`,
		`{"tool_calls":[{"index":0,"id":"call_w","type":"function","function":{"name":"get_weather","arguments":"{\"place\":\"Riga\"}"}}]}`, "finish tool_calls",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, got = stream(object{"messages": []any{says("user", "long")}}); got[len(got)-1] != "finish length" {
		t.Errorf("%q", got)
	}
}

// Small tasks have a model of their own, no tools, and no session.
func TestSmallTasks(t *testing.T) {
	t.Parallel()
	model := scripted.Sequence(scripted.Text(`{"title":"Bees"}`))
	alice := oracletest.Start(t, model).As(t, identitytest.Alice)
	alice.Header.Set("X-OpenWebUI-Chat-Id", "7b0f")
	got := ask(t, alice, object{"model": "oracle-small", "tools": weather, "messages": []any{says("user", "### Task:\nName this chat.")}})
	if textOf(got) != `{"title":"Bees"}` || got.Model != "oracle-small" {
		t.Errorf("%+v", got)
	}
	req := turns(model)[0]
	if len(req.Tools) != 0 || strings.Contains(req.System, "Testa") || req.Messages[0].Note != "" {
		t.Errorf("%+v", req)
	}
	if sessions(t, alice) != 0 {
		t.Error("the session is listed")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	alice := n.As(t, identitytest.Alice)
	hi := []any{says("user", "hi")}
	for name, c := range map[string]struct {
		body   any
		status int
		want   openaiface.Error
	}{
		"no JSON":     {`{`, 400, openaiface.Error{Type: "invalid_request_error"}},
		"no messages": {object{"model": "oracle"}, 400, openaiface.Error{Type: "invalid_request_error", Param: new("messages")}},
		"no text": {
			object{"model": "oracle", "messages": []any{says("user", "")}},
			400,
			openaiface.Error{Type: "invalid_request_error", Param: new("messages")},
		},
		"a role": {
			object{"model": "oracle", "messages": []any{says("king", "hi")}},
			400,
			openaiface.Error{Type: "invalid_request_error", Param: new("messages")},
		},
		"content": {
			object{"model": "oracle", "messages": []any{object{"role": "user", "content": 7}}},
			400,
			openaiface.Error{Type: "invalid_request_error", Param: new("messages")},
		},
		"a lost result": {
			object{"model": "oracle", "messages": []any{says("tool", "hi")}},
			400,
			openaiface.Error{Type: "invalid_request_error", Param: new("messages")},
		},
		"two answers": {object{"model": "oracle", "n": 2, "messages": hi}, 400, openaiface.Error{Type: "invalid_request_error", Param: new("n")}},
		"a tool's name": {
			object{
				"model": "oracle", "messages": hi,
				"tools": []any{object{"type": "function", "function": object{"name": "load_capability"}}},
			},
			400,
			openaiface.Error{Type: "invalid_request_error", Param: new("tools")},
		},
		"a model": {
			object{"model": "gpt-9", "messages": hi},
			404,
			openaiface.Error{Type: "invalid_request_error", Param: new("model"), Code: new("model_not_found")},
		},
		"a crowd": {
			`{"model":"oracle","messages":[` + strings.Repeat(`{},`, 200_000) + `{}]}`, 400,
			openaiface.Error{Type: "invalid_request_error", Code: new("context_length_exceeded")},
		},
		"a crowd of parts": {
			`{"model":"oracle","messages":[{"role":"user","content":[` + strings.Repeat(`0,`, 200_000) + `0]}]}`, 400,
			openaiface.Error{Type: "invalid_request_error", Code: new("context_length_exceeded")},
		},
		"a call's name": {object{"model": "oracle", "messages": []any{
			says("user", "hi"),
			object{"role": "assistant", "tool_calls": []any{calling("a", strings.Repeat("x", 300))}},
			object{"role": "tool", "tool_call_id": "a", "content": "1"},
		}}, 400, openaiface.Error{Type: "invalid_request_error", Param: new("messages")}},
		"many names": {
			object{"model": "oracle", "messages": manyCalls()},
			400,
			openaiface.Error{Type: "invalid_request_error", Param: new("messages"), Code: new("context_length_exceeded")},
		},
		"too long": {
			object{"model": "oracle", "messages": []any{says("user", strings.Repeat("x", 1<<20+1))}},
			400,
			openaiface.Error{Type: "invalid_request_error", Param: new("messages"), Code: new("context_length_exceeded")},
		},
	} {
		r := alice.Do("POST", chatPath, c.body)
		var got openaiface.ErrorBody
		r.JSON(t, &got)
		if got.Error.Message == "" || r.Status != c.status {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
		got.Error.Message = ""
		if d := cmp.Diff(c.want, got.Error); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	alice.Header.Set("X-Conversation-Id", strings.Repeat("x", 201))
	if r := alice.Do("POST", chatPath, object{"model": "oracle", "messages": hi}); r.Status != 400 {
		t.Errorf("a long name: %d %s", r.Status, r.Body)
	}
	resp, err := http.Post(n.URL+chatPath, "application/json", strings.NewReader(`{}`))
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), `"code":"invalid_api_key"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// What OpenAI has and this server does not is refused in OpenAI's words too.
func TestWhatIsNotServed(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	for path, status := range map[string]int{"/v1/embeddings": 404, "/v1/audio/speech": 404, "/v1/responses/resp_1": 404, "/v1": 404, "/v1/models": 405} {
		r := alice.Do("POST", path, object{"model": "oracle"})
		var got openaiface.ErrorBody
		r.JSON(t, &got)
		if r.Status != status || got.Error.Type != "invalid_request_error" || got.Error.Message != "Cannot POST "+path {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
}

// A failed turn is an error with its status, also where a stream was wanted of which
// nothing was sent yet.
func TestFailures(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, scripted.Sequence(scripted.Reply{Err: io.ErrUnexpectedEOF}))
	alice := n.As(t, identitytest.Alice)
	for _, stream := range []bool{false, true} {
		r := alice.Do("POST", chatPath, object{"model": "oracle", "stream": stream, "messages": []any{says("user", "hi")}})
		if r.Status < 500 || !strings.HasPrefix(string(r.Body), "{") ||
			!strings.Contains(string(r.Body), `"type":"server_error"`) {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
}

// Whoever repeats a request that was answered wants another answer; so does whoever
// asks the same while the first is being answered.
func TestTheSameRequestAgain(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	held := scripted.Text("one")
	held.Wait = wait
	model := scripted.Sequence(held, scripted.Text("two"), scripted.Text("three"))
	alice := oracletest.Start(t, model).As(t, identitytest.Alice)
	body := object{"model": "oracle", "stream": true, "messages": []any{says("user", "count")}}
	resp, err := alice.Open(t.Context(), "POST", chatPath, body)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	for line := ""; !strings.Contains(line, "one"); {
		line, err = lines.ReadString('\n')
		must(t, err)
	}
	for _, want := range []string{"two", "three"} {
		if r := alice.Do("POST", chatPath, body); !strings.Contains(string(r.Body), want) {
			t.Errorf("want %s: %s", want, r.Body)
		}
	}
	close(wait)
	if rest := chunks(t, lines); len(rest) == 0 || rest[len(rest)-1] != "[DONE]" {
		t.Errorf("the first ended with %q", rest)
	}
}

// A program that hangs up has stopped its turn.
func TestHangingUpStopsTheTurn(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	model := scripted.New(func(plugin.ModelRequest) scripted.Reply {
		return scripted.Reply{Chunks: []plugin.Chunk{{Text: "slow"}}, Wait: make(chan struct{})}
	})
	n := oracletest.Start(t, model)
	alice := n.As(t, identitytest.Alice)
	alice.Header.Set("X-Conversation-Id", "c")
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := alice.Open(ctx, "POST", chatPath,
		object{"model": "oracle", "stream": true, "messages": []any{says("user", "hi")}})
	must(t, err)
	runID := resp.Header.Get("X-Run-Id")
	go func() {
		defer close(ended)
		follow, err := alice.Open(t.Context(), "GET", "/runs/"+runID, nil) //nolint:bodyclose // Stream closes it
		if err != nil {
			t.Error(err)
			return
		}
		frames := oracletest.Stream(t, follow)
		if last := string(frames[len(frames)-1].Data); !strings.Contains(last, `"aborted"`) {
			t.Errorf("it ended with %s", last)
		}
	}()
	cancel()
	_ = resp.Body.Close()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

func calling(id, name string) object {
	return object{"id": id, "type": "function", "function": object{"name": name, "arguments": "{}"}}
}

// manyCalls are short texts with many results, each of which is stored with the
// name of its call.
func manyCalls() []any {
	list := []any{says("user", "hi"), object{"role": "assistant", "tool_calls": []any{calling("a", strings.Repeat("x", 256))}}}
	for range 4000 {
		list = append(list, object{"role": "tool", "tool_call_id": "a", "content": "1"})
	}
	return list
}
