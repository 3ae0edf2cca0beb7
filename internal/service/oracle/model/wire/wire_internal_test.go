package wire

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

func TestWhatIsTooLong(t *testing.T) {
	t.Parallel()
	c := New(Config{Provider: "p"})
	for _, w := range []struct {
		status int
		body   string
		kind   model.Kind
		window int
	}{
		{400, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum","type":"invalid_request_error"}}`, model.TooLong, 200_000},
		{400, `{"error":{"message":"input length and max_tokens exceed context limit: 190000 + 32000 > 200000"}}`, model.TooLong, 200_000},
		{400, `[{"error":{"code":400,"message":"The input token count (5) exceeds the maximum number of tokens allowed (1,048,576).","status":"INVALID_ARGUMENT"}}]`, model.TooLong, 1_048_576},
		{400, `{"error":{"type":"exceed_context_size_error","message":"too big","n_ctx":4096}}`, model.TooLong, 4096},
		{400, `{"error":"Cannot truncate prompt with n_keep (9000) >= n_ctx (8192)"}`, model.TooLong, 8192},
		{400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":\"This model's maximum context length is 32768 tokens\"}"}}}`, model.TooLong, 32_768},
		{413, ``, model.TooLong, 0},
		// Words that speak of something else.
		{429, `{"error":{"message":"maximum context length is 5 tokens"}}`, model.RateLimit, 0},
		{413, `{"error":{"message":"Request too large on tokens per minute (TPM): Limit 6000. Please reduce the length of the messages."}}`, model.RateLimit, 0},
		{400, `{"error":{"message":"Invalid 'messages[1].tool_calls[0].id': string too long. maximum context","code":"string_above_max_length"}}`, model.Unknown, 0},
		{422, `{"detail":[{"loc":["body"],"msg":"extra"}]}`, model.Unknown, 0},
		{409, `{"error":{"message":"busy"}}`, model.Server, 0},
	} {
		e := c.refused(&http.Response{StatusCode: w.status}, []byte(w.body))
		if e.Kind != w.kind || e.Window != w.window {
			t.Errorf("%d %s: %s, window %d", w.status, w.body, e.Kind, e.Window)
		}
	}
}

func TestWindowsAreLearned(t *testing.T) {
	t.Parallel()
	var w Windows
	info := model.Info{ID: "m", Window: 10_000}
	long := plugin.ModelRequest{System: string(make([]byte, 24_000))} // 6000 tokens
	window := func() int { return w.Of([]model.Info{info})[0].Window }
	refusal := &model.Error{Kind: model.Unknown, Status: 400}
	if e := model.From(w.Watch(long, info, plugin.ModelResponse{}, refusal)); e.Kind != model.TooLong || !e.Guessed ||
		window() != 10_000 {
		t.Errorf("an unclear refusal of a long request: %+v", e)
	}
	if e := model.From(w.Watch(plugin.ModelRequest{}, info, plugin.ModelResponse{}, refusal)); e.Kind != model.Unknown {
		t.Errorf("an unclear refusal of a short request: %+v", e)
	}
	full := plugin.ModelResponse{Finish: FinishLength, Usage: plugin.Usage{InputTokens: 10_000}}
	if e := model.From(w.Watch(long, info, full, nil)); e.Kind != model.TooLong {
		t.Errorf("no room for an answer: %+v", e)
	}
	cut := plugin.ModelResponse{Text: "x", Usage: plugin.Usage{InputTokens: 2000, OutputTokens: 100}}
	if err := w.Watch(long, info, cut, nil); err != nil || window() != 2100 {
		t.Errorf("a request that was cut silently: %v, window %d", err, window())
	}
	_ = w.Watch(long, info, plugin.ModelResponse{}, &model.Error{Kind: model.TooLong, Window: 4096})
	if window() != 4096 {
		t.Errorf("window %d", window())
	}
}

func TestRetryHeaders(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header http.Header
		want   retryAdvice
	}{
		{http.Header{}, retryAdvice{}},
		{http.Header{"Retry-After-Ms": {"250.5"}, "Retry-After": {"9"}}, retryAdvice{after: 250500 * time.Microsecond}},
		{http.Header{"Retry-After": {"1.5"}}, retryAdvice{after: 1500 * time.Millisecond}},
		{http.Header{"Retry-After": {"Mon, 16 Nov 2026 12:00:30 GMT"}}, retryAdvice{after: 30 * time.Second}},
		{http.Header{"Retry-After": {"Mon, 16 Nov 2026 11:00:00 GMT"}}, retryAdvice{}},
		{http.Header{"Retry-After": {"-4"}, "X-Should-Retry": {"False"}}, retryAdvice{verdict: "false"}},
		{http.Header{"Retry-After": {"NaN"}}, retryAdvice{}},
	} {
		if got := retryAdviceOf(c.header, now); got != c.want {
			t.Errorf("%v: %+v", c.header, got)
		}
	}
}

func TestNamesAndIDsFit(t *testing.T) {
	t.Parallel()
	long := string(make([]byte, 0, 100)) + "server.with.a.very.long.name.and.a.tool.with.a.very.long.name.too.number."
	tools := []plugin.ToolSpec{{Name: "a.b"}, {Name: "a_b"}, {Name: long + "1"}, {Name: long + "2"}}
	n, seen := NewNames(tools), map[string]bool{}
	for _, tool := range tools {
		name := n.Wire(tool.Name)
		if len(name) > 64 || notInNames.MatchString(name) || seen[name] || n.Ours(name) != tool.Name {
			t.Errorf("%q is %q and back %q", tool.Name, name, n.Ours(name))
		}
		seen[name] = true
	}
	if CallID("call_1") != "call_1" || !callID.MatchString(CallID(long)) || CallID(long+"1") == CallID(long+"2") {
		t.Error("ids do not fit")
	}
	if StrictCallID("abcDEF123") != "abcDEF123" || !strict.MatchString(StrictCallID("call_1")) {
		t.Error("strict ids do not fit")
	}
}

// What a provider said comes back in its places, also when the transcript has
// less than it said.
func TestPartsComeBackInTheirPlaces(t *testing.T) {
	t.Parallel()
	tag := Tag{"p@h", "m"}
	a := &Answer{Sink: func(plugin.Chunk) {}}
	a.Keep([]byte(`1`))
	a.Say("Hi ", "")
	a.Begin(&Call{ID: "c1", Name: "f"})
	a.Keep([]byte(`2`))
	a.Begin(&Call{ID: "c2", Name: "g"})
	resp := a.response(NewNames(nil), tag)
	m := plugin.ModelMessage{Text: resp.Text, ToolCalls: resp.ToolCalls, State: resp.State}
	show := func(parts []Part) (out []string) {
		for _, p := range parts {
			switch {
			case p.Call != nil:
				out = append(out, p.Call.ID)
			default:
				out = append(out, p.Text+string(p.Own))
			}
		}
		return out
	}
	for _, c := range []struct {
		change func(*plugin.ModelMessage)
		tag    Tag
		want   []string
	}{
		{func(*plugin.ModelMessage) {}, tag, []string{"1", "Hi ", "c1", "2", "c2"}},
		{func(*plugin.ModelMessage) {}, Tag{"p@h", "other"}, []string{"Hi ", "c1", "c2"}},
		{func(m *plugin.ModelMessage) { m.ToolCalls = m.ToolCalls[:1] }, tag, []string{"1", "Hi ", "c1", "2"}},
		{func(m *plugin.ModelMessage) { m.Text = "Hi" }, tag, []string{"Hi", "1", "c1", "2", "c2"}},
		{func(m *plugin.ModelMessage) { m.State.Data = []byte(`[{"text":-5}]`) }, tag, []string{"Hi ", "c1", "c2"}},
	} {
		changed := m
		state := *m.State
		changed.State = &state
		c.change(&changed)
		if d := cmp.Diff(c.want, show(c.tag.Parts(changed))); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}
