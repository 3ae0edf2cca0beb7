package agentkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/app/agentkit"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

var alice, bob = identitytest.Alice, identitytest.Bob

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is an oracle at the address for agents, beside somebody's files.
type site struct {
	*oracletest.Node
	url  string
	keys *appkey.Service
}

func start(t *testing.T, provider model.Provider, change ...func(*oraclekit.Deps)) site {
	t.Helper()
	n := oracletest.Start(t, provider, change...)
	files := filestoretest.Embedded(t)
	keys := appkeytest.New(t, appkeysql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t), identitysql.Migrations())),
		n.Identity)
	server, err := httpserver.New(httpserver.Config{})
	must(t, err)
	must(t, server.Mount(filestoremcp.Surface(files.Service, filestoremcp.Deps{
		Folders: files.Folders, Authenticate: appkeyhttp.Face{Identity: n.Identity, Keys: keys}.WrapAgents,
		Part: agentkit.Part{Face: n.Agents},
	})))
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return site{Node: n, url: web.URL + "/mcp", keys: keys}
}

type bearer struct {
	token string
	seen  func(*http.Response)
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && b.seen != nil {
		b.seen(resp)
	}
	return resp, err
}

func talks(t *testing.T, who identitytest.Actor) string {
	t.Helper()
	return identitytest.Invocation(t, who, identitytest.Oracle.DID)
}

// both is a token for somebody's files and the oracle.
func both(t *testing.T, who identitytest.Actor) string {
	t.Helper()
	return identitytest.Delegation(t, who, identitytest.Oracle.DID, identitytest.Can("fs/*", who.Home("")),
		identitytest.Can("*", identity.OracleResource), identitytest.TTL(time.Minute))
}

func connect(t *testing.T, s site, token string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client, at := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o), &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer{token: token}}, DisableStandaloneSSE: true,
	}
	session, err := client.Connect(t.Context(), at, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// facts is what a result says to programs.
type facts struct {
	Status, RunID, SessionID string
	Sources                  []any
	Approvals                []struct{ ID, Tool, URL string }
}

func read(t *testing.T, r *mcp.CallToolResult) (string, facts) {
	t.Helper()
	var f facts
	data, err := json.Marshal(r.StructuredContent)
	must(t, err)
	must(t, json.Unmarshal(data, &f))
	return r.Content[0].(*mcp.TextContent).Text, f
}

func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (string, facts) {
	t.Helper()
	p := &mcp.CallToolParams{Name: name, Arguments: args}
	p.SetProgressToken("p")
	r, err := s.CallTool(t.Context(), p)
	must(t, err)
	if r.IsError {
		return r.Content[0].(*mcp.TextContent).Text, facts{Status: "error"}
	}
	return read(t, r)
}

// whileWorking fetches an answer again for as long as it is being worked on.
func whileWorking(t *testing.T, s *mcp.ClientSession, text string, f facts) (string, facts) {
	t.Helper()
	for f.Status == "working" {
		text, f = call(t, s, "get_answer", map[string]any{"runId": f.RunID})
	}
	return text, f
}

func tools(t *testing.T, s *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		must(t, err)
		names = append(names, tool.Name)
	}
	return names
}

// What a credential opens is what its holder sees.
func TestWhoSeesTheOracle(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := func(name string, scopes ...appkey.Scope) string {
		var options []identitytest.Option
		for _, scope := range scopes {
			options = append(options, appkeytest.For(alice, scope))
		}
		_, text := appkeytest.Make(t, s.keys, alice, name, options...)
		return text
	}
	for name, c := range map[string]struct {
		token         string
		oracle, files bool
	}{
		"a token for the oracle": {talks(t, alice), true, false},
		"a token for files":      {identitytest.Files(t, alice, identitytest.Oracle.DID, "fs/*"), false, true},
		"a token for both":       {both(t, alice), true, true},
		"a token for CIDs": {identitytest.Files(t, alice, identitytest.Oracle.DID, "",
			identitytest.CIDs("fs/*", alice.Home(""))), false, false},
		"an app key for the oracle": {key("o", appkey.Oracle), true, false},
		"an app key for files":      {key("f", appkey.Files), false, true},
		"an app key for both":       {key("b", appkey.Oracle, appkey.Files), true, true},
	} {
		got := tools(t, connect(t, s, c.token, nil))
		if slices.Contains(got, "ask_oracle") != c.oracle || slices.Contains(got, "get_answer") != c.oracle ||
			slices.Contains(got, "vfs_write") != c.files {
			t.Errorf("%s sees %v", name, got)
		}
		if strings.HasSuffix(name, "CIDs") && len(got) != 2 {
			t.Errorf("%s sees %v", name, got)
		}
	}
}

// Whatever a tool takes or answers has one type: many clients read no unions, and no null.
func TestAllSchemasArePortable(t *testing.T) {
	t.Parallel()
	seen := 0
	for tool, err := range connect(t, start(t, nil), both(t, alice), nil).Tools(t.Context(), nil) {
		must(t, err)
		text, err := json.Marshal([]any{tool.InputSchema, tool.OutputSchema})
		must(t, err)
		if strings.Contains(string(text), `"type":[`) || strings.Contains(string(text), `"type":"null"`) {
			t.Errorf("%s has %s", tool.Name, text)
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("%d tools", seen)
	}
}

// A question is answered, its progress is told, and the conversation goes on by its id.
func TestAsking(t *testing.T) {
	t.Parallel()
	script := scripted.Sequence(
		scripted.Calls(plugin.ModelToolCall{ID: "c1", Name: "load_capability", Args: json.RawMessage(`{"name":"none"}`)}),
		scripted.Text("It", " rains."), scripted.Text("Still."))
	s := start(t, script)
	told := make(chan string, 64)
	session := connect(t, s, talks(t, alice),
		&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			told <- fmt.Sprint(r.Params.Message, " in ", r.Params.Meta["runId"])
		}})
	text, first := call(t, session, "ask_oracle", map[string]any{"question": "weather?"})
	if text != "It rains." || first.Status != "done" || first.RunID == "" || first.SessionID == "" {
		t.Fatalf("%q %+v", text, first)
	}
	// the client may read them after the answer
	for _, want := range []string{"thinking in " + first.RunID, "using load_capability in " + first.RunID} {
		for message := <-told; !strings.Contains(message, want); message = <-told {
			t.Logf("it was told %s", message)
		}
	}
	text, second := call(t, session, "ask_oracle", map[string]any{"question": "and now?", "sessionId": first.SessionID})
	if text != "Still." || second.SessionID != first.SessionID {
		t.Errorf("%q %+v", text, second)
	}
	if last := script.Requests()[len(script.Requests())-1]; !strings.Contains(fmt.Sprint(last.Messages), "It rains.") {
		t.Errorf("the model was asked %v", last.Messages)
	}
	if text, again := call(t, session, "get_answer", map[string]any{"runId": first.RunID}); text != "It rains." ||
		again.Status != "done" {
		t.Errorf("again: %q %+v", text, again)
	}
	for name, args := range map[string]map[string]any{
		"nothing":           {"question": " "},
		"no such session":   {"question": "hi", "sessionId": "none"},
		"a session's name":  {"question": "hi", "sessionId": "\x00"},
		"too long a letter": {"question": strings.Repeat("x", 256<<10+1)},
	} {
		if text, got := call(t, session, "ask_oracle", args); got.Status != "error" {
			t.Errorf("%s: %q", name, text)
		}
	}
	other := connect(t, s, talks(t, bob), nil)
	if text, got := call(t, other, "get_answer", map[string]any{"runId": first.RunID}); got.Status != "error" {
		t.Errorf("Bob: %q", text)
	}
	if text, got := call(t, other, "ask_oracle", map[string]any{"question": "hi", "sessionId": first.SessionID}); got.Status != "error" {
		t.Errorf("Bob: %q", text)
	}
}

// An answer that takes longer than clients wait is fetched later, and asked for once.
func TestComingBackForAnAnswer(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	var asked atomic.Int64
	script := scripted.New(func(plugin.ModelRequest) scripted.Reply {
		asked.Add(1)
		return scripted.Reply{Chunks: []plugin.Chunk{{Text: "At last."}}, Wait: ready}
	})
	s := start(t, script, func(d *oraclekit.Deps) { d.AgentWait = 50 * time.Millisecond })
	session := connect(t, s, talks(t, alice), nil)
	text, got := call(t, session, "ask_oracle", map[string]any{"question": "slow?"})
	if got.Status != "working" || !strings.Contains(text, got.RunID) {
		t.Fatalf("%q %+v", text, got)
	}
	if _, again := call(t, session, "ask_oracle", map[string]any{"question": "slow?"}); again.RunID != got.RunID {
		t.Errorf("asked again it is %+v", again)
	}
	if _, still := call(t, session, "get_answer", map[string]any{"runId": got.RunID}); still.Status != "working" {
		t.Errorf("too early: %+v", still)
	}
	close(ready)
	for {
		text, end := call(t, session, "get_answer", map[string]any{"runId": got.RunID})
		if end.Status == "working" {
			continue
		}
		if text != "At last." || end.Status != "done" || end.SessionID != got.SessionID || asked.Load() != 1 {
			t.Errorf("%q %+v, asked %d times", text, end, asked.Load())
		}
		return
	}
}

// ended waits for the end of a run and returns how it ended.
func ended(t *testing.T, s site, runID string) string {
	t.Helper()
	follow, err := s.As(t, alice).Open(t.Context(), "GET", "/runs/"+runID, nil) //nolint:bodyclose // Stream closes it
	must(t, err)
	frames := oracletest.Stream(t, follow)
	return string(frames[len(frames)-1].Data)
}

// rpc sends a message as clients of the older protocols do.
func rpc(ctx context.Context, t *testing.T, s site, token, label, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	must(t, err)
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	} {
		req.Header.Set(name, value)
	}
	if label != "" {
		req.Header.Set("Mcp-Session-Id", label)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	return resp
}

func initialized(t *testing.T, s site, token, capabilities string) string {
	t.Helper()
	resp := rpc(t.Context(), t, s, token, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"old","version":"1"}}}`)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	label := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || label == "" {
		t.Fatalf("%d %q %s", resp.StatusCode, label, body)
	}
	return label
}

const asks = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask_oracle","arguments":{"question":"go"},"_meta":{"progressToken":1}}}`

// Whoever cancels, by a notification or by hanging up, has stopped the turn.
func TestCancelling(t *testing.T) {
	t.Parallel()
	script := scripted.New(func(plugin.ModelRequest) scripted.Reply {
		return scripted.Reply{Chunks: []plugin.Chunk{{Text: "slow"}}, Wait: make(chan struct{})}
	})
	for _, by := range []string{"notification", "hanging up", "another's notification"} {
		s := start(t, script)
		token := talks(t, alice)
		label, other := initialized(t, s, token, `{}`), initialized(t, s, token, `{}`)
		ctx, cancel := context.WithCancel(t.Context())
		id := s.As(t, alice).Session()
		resp := rpc(ctx, t, s, token, label, strings.Replace(asks, `"question"`, `"sessionId":"`+id+`","question"`, 1))
		d := sse.NewDecoder(resp.Body, 0)
		_, err := d.Next() // it has begun
		must(t, err)
		running, ok, err := s.Engine.Latest(t.Context(), alice.DID, id)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
		switch by {
		case "notification":
			_ = rpc(t.Context(), t, s, token, label, cancelled).Body.Close()
		case "hanging up":
			cancel()
		default:
			_ = rpc(t.Context(), t, s, token, other, cancelled).Body.Close()
			r, err := s.Engine.Get(t.Context(), alice.DID, running.ID)
			must(t, err)
			if r.AbortRequested {
				t.Error("another client's request was cancelled")
			}
			cancel()
		}
		if last := ended(t, s, running.ID); !strings.Contains(last, `"aborted"`) {
			t.Errorf("%s: it ended with %s", by, last)
		}
		cancel()
		_ = resp.Body.Close()
	}
}

// longCall in a message makes posting's model call its tool with more than a question can show.
const longCall = "at length"

func posting(t *testing.T, change ...func(*oraclekit.Deps)) (site, *oracletest.Post) {
	t.Helper()
	p := &oracletest.Post{}
	script := scripted.New(func(r plugin.ModelRequest) scripted.Reply {
		if last := r.Messages[len(r.Messages)-1]; last.Role == plugin.RoleTool {
			return scripted.Text("Done.")
		}
		to := "all"
		if strings.Contains(r.Messages[len(r.Messages)-1].Text, longCall) {
			to = strings.Repeat("everybody, ", 200) + "and the press"
		}
		return scripted.Calls(plugin.ModelToolCall{ID: "c", Name: "send", Args: json.RawMessage(fmt.Sprintf(`{"to":%q}`, to))})
	})
	return start(t, script, append(change, func(d *oraclekit.Deps) { d.Plugins = append(d.Plugins, p) })...), p
}

// The user is asked where the client can ask, and the run goes on with the answer.
func TestApprovalsByElicitation(t *testing.T) {
	t.Parallel()
	for decision, sent := range map[string]int64{"approve": 1, "deny": 0} {
		s, p := posting(t)
		var question string
		session := connect(t, s, talks(t, alice),
			&mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				question = r.Params.Message
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}, nil
			}})
		text, got := call(t, session, "ask_oracle", map[string]any{"question": "send it"})
		if text != "Done." || got.Status != "done" || p.Sent.Load() != sent || !strings.Contains(question, "send") {
			t.Errorf("%s: %q %+v, sent %d, asked %q", decision, text, got, p.Sent.Load(), question)
		}
	}
}

// Clients of the protocols before ask on the stream, and answer to any node.
func TestApprovalsOnTheStream(t *testing.T) {
	t.Parallel()
	for action, sent := range map[string]int64{
		`"result":{"action":"accept","content":{"decision":"approve"}}`: 1,
		`"result":{"action":"decline"}`:                                 0,
		`"error":{"code":-1,"message":"no"}`:                            0,
	} {
		s, p := posting(t)
		token := talks(t, alice)
		label := initialized(t, s, token, `{"elicitation":{}}`)
		resp := rpc(t.Context(), t, s, token, label, asks)
		var last []byte
		for d := sse.NewDecoder(resp.Body, 0); ; {
			e, err := d.Next()
			if err != nil {
				break
			}
			var m struct {
				ID     any
				Method string
			}
			must(t, json.Unmarshal(e.Data, &m))
			if m.Method == "elicitation/create" {
				stranger := rpc(t.Context(), t, s, talks(t, bob), label, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"approve"}}}`, m.ID))
				_ = stranger.Body.Close()
				answer := rpc(t.Context(), t, s, token, label, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, m.ID, action))
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusAccepted {
					t.Errorf("the answer: %d", answer.StatusCode)
				}
			}
			last = e.Data
		}
		_ = resp.Body.Close()
		if !bytes.Contains(last, []byte("Done.")) || p.Sent.Load() != sent {
			t.Errorf("%s: sent %d, %s", action, p.Sent.Load(), last)
		}
	}
}

// Where nobody can be asked, the result says where to approve, and the answer is fetched later.
func TestApprovalsElsewhere(t *testing.T) {
	t.Parallel()
	s, p := posting(t, func(d *oraclekit.Deps) { d.AgentWait, d.BaseURL = 100*time.Millisecond, "https://oracle.example/" })
	_, key := appkeytest.Make(t, s.keys, alice, "agent", appkeytest.For(alice, appkey.Oracle))
	asked := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context,
		r *mcp.ElicitRequest,
	) (*mcp.ElicitResult, error) {
		t.Errorf("asked: %s", r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
	}}
	for name, c := range map[string]struct {
		token   string
		options *mcp.ClientOptions
	}{
		"a client that cannot ask": {talks(t, alice), nil},
		"an app key":               {key, asked},
		"a call " + longCall:       {talks(t, alice), asked},
	} {
		before := p.Sent.Load()
		session := connect(t, s, c.token, c.options)
		text, got := call(t, session, "ask_oracle", map[string]any{"question": "send it, " + name})
		text, got = whileWorking(t, session, text, got)
		if got.Status != "waiting_for_approval" || len(got.Approvals) != 1 || got.Approvals[0].Tool != "send" ||
			got.Approvals[0].URL != "https://oracle.example/console/chat/"+got.SessionID || !strings.Contains(text, got.RunID) || p.Sent.Load() != before {
			t.Fatalf("%s: %q %+v", name, text, got)
		}
		if r := s.As(t, alice).Do("POST", "/approvals/"+got.Approvals[0].ID,
			map[string]any{"decision": "approve"}); r.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, r.Status, r.Body)
		}
		text, got = call(t, session, "get_answer", map[string]any{"runId": got.RunID})
		text, got = whileWorking(t, session, text, got)
		if text != "Done." || got.Status != "done" || p.Sent.Load() != before+1 {
			t.Errorf("%s: %q %+v", name, text, got)
		}
	}
}

// Transcripts are resources of their owner's, a page at a time.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	s := start(t, scripted.New(func(plugin.ModelRequest) scripted.Reply { return scripted.Text("yes") }))
	her := s.As(t, alice)
	id := her.Session()
	session := connect(t, s, both(t, alice), nil)
	for i := range 21 {
		if text, _ := call(t, session, "ask_oracle",
			map[string]any{"question": fmt.Sprintf("question %d?", i), "sessionId": id}); text != "yes" {
			t.Fatal(text)
		}
	}
	uri := ""
	for r, err := range session.Resources(t.Context(), nil) {
		must(t, err)
		if r.Name == id {
			uri = r.URI
		}
	}
	page, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	must(t, err)
	text := page.Contents[0].Text
	if !strings.Contains(text, "question 20?") || strings.Contains(text, "question 0?") || !strings.Contains(text, "yes") {
		t.Errorf("the last page is %s", text)
	}
	_, rest, _ := strings.Cut(text, "(Earlier turns: ")
	older, _, _ := strings.Cut(rest, ")")
	page, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: older})
	must(t, err)
	if text := page.Contents[0].Text; !strings.Contains(text, "question 0?") || strings.Contains(text, "question 20?") {
		t.Errorf("%s is %s", older, text)
	}
	other := connect(t, s, talks(t, bob), nil)
	for _, uri := range []string{uri, "oracle://sessions/none", "oracle://sessions/", uri + "?before=none"} {
		if _, err := other.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("Bob reads %s", uri)
		}
	}
	for r, err := range other.Resources(t.Context(), nil) {
		must(t, err)
		t.Errorf("Bob sees %v", r)
	}
	found, err := session.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "oracle://sessions/{sessionId}{?before}"},
		Argument: mcp.CompleteParamsArgument{Name: "sessionId", Value: id[:4]},
	})
	must(t, err)
	if !slices.Equal(found.Completion.Values, []string{id}) {
		t.Errorf("%v", found.Completion)
	}
}

// The operator's openings are prompts, as they stand at the moment.
func TestPrompts(t *testing.T) {
	t.Parallel()
	var openings atomic.Pointer[[]instructions.Opening]
	openings.Store(&[]instructions.Opening{{Title: "Hours", Text: "When is the mill open?"}})
	s := start(t, nil, func(d *oraclekit.Deps) {
		d.Instructions = func() instructions.Instructions { return instructions.Instructions{Openings: *openings.Load()} }
	})
	session := connect(t, s, talks(t, alice), nil)
	list, err := session.ListPrompts(t.Context(), nil)
	must(t, err)
	if len(list.Prompts) != 1 || list.Prompts[0].Title != "Hours" {
		t.Fatalf("%+v", list.Prompts)
	}
	got, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: list.Prompts[0].Name})
	must(t, err)
	if text := got.Messages[0].Content.(*mcp.TextContent).Text; !strings.Contains(text, "When is the mill open?") {
		t.Error(text)
	}
	for _, name := range []string{"none", "opening-2", "opening-0"} {
		if _, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name}); err == nil {
			t.Errorf("there is a prompt %s", name)
		}
	}
	openings.Store(&[]instructions.Opening{{Title: "Prices", Text: "What does maize cost?"}, {Title: "Hours", Text: "When?"}})
	got, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "opening-2"})
	must(t, err)
	if got.Description != "Hours" {
		t.Errorf("the second of new openings is %+v", got)
	}
	openings.Store(&[]instructions.Opening{})
	fresh := connect(t, s, talks(t, alice), nil) // clients remember lists for a while
	if list, err = fresh.ListPrompts(t.Context(), nil); err != nil || len(list.Prompts) != 0 {
		t.Errorf("without openings: %+v, %v", list, err)
	}
}
