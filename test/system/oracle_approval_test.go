package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// clerk is a model and an MCP server in one: asked to send something, the model
// loads the server's tools, calls its tool, and says what came of it. At every
// point of that a test may do something first.
type clerk struct {
	server *httptest.Server

	mu    sync.Mutex
	at    string
	do    func()
	sends map[string]int // by what was sent
}

func newClerk(t *testing.T) *clerk {
	t.Helper()
	c := &clerk{sends: map[string]int{}}
	tools := mcp.NewServer(&mcp.Implementation{Name: "post", Version: "1"}, nil)
	type letter struct {
		Text string `json:"text"`
	}
	mcp.AddTool(tools, &mcp.Tool{Name: "send", Description: "Send a letter."},
		func(_ context.Context, _ *mcp.CallToolRequest, in letter) (*mcp.CallToolResult, any, error) {
			c.reach("the tool is called")
			c.mu.Lock()
			c.sends[in.Text]++
			c.mu.Unlock()
			c.reach("the tool has done its work")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sent " + in.Text}}}, nil, nil
		})
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return tools
	}, &mcp.StreamableHTTPOptions{Stateless: true}))
	mux.HandleFunc("/chat/completions", c.complete)
	c.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		c.server.CloseClientConnections()
		c.server.Close()
	})
	return c
}

func (c *clerk) env() []string {
	return []string{
		"MODEL_PROVIDER=openai", "OPENAI_BASE_URL=" + c.server.URL, "OPENAI_API_KEY=sk-test", "MODEL=clerk",
		"MCP_SERVERS=post=" + c.server.URL + "/mcp", "MCP_PRIVATE=true", "APPROVE_MCP_TOOLS=true", "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0",
	}
}

// when does something, once, when a point is reached.
func (c *clerk) when(point string, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.do = point, do
}

func (c *clerk) reach(point string) {
	c.mu.Lock()
	var do func()
	if c.at == point {
		do, c.at = c.do, ""
	}
	c.mu.Unlock()
	if do != nil {
		do()
	}
}

func (c *clerk) sent(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sends[text]
}

// complete is the model.
func (c *clerk) complete(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	asked, results, last := "", 0, ""
	for _, m := range request.Messages {
		switch m.Role {
		case "user":
			asked, _, _ = strings.Cut(m.Content, "\n\n<context>\n")
			results = 0
		case "tool":
			last, _, _ = strings.Cut(m.Content, "\n\n<context>\n")
			results++
		}
	}
	text, ours := strings.CutPrefix(asked, "send ")
	call := func(name string, args any) []string {
		raw, _ := json.Marshal(args)
		quoted, _ := json.Marshal(string(raw))
		return []string{
			fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call-%s-%d","type":"function","function":{"name":%q,"arguments":""}}]}`, name, len(request.Messages), name),
			fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}`, quoted),
		}
	}
	say := func(words ...string) (deltas []string) {
		for _, word := range words {
			quoted, _ := json.Marshal(word)
			deltas = append(deltas, fmt.Sprintf(`{"content":%s}`, quoted))
		}
		return deltas
	}
	step, finish := "", "stop"
	var deltas []string
	switch {
	case !ours:
		deltas = say("A letter")
	case results == 0:
		deltas, finish = call("load_capability", map[string]string{"name": "mcp-post"}), "tool_calls"
	case results == 1:
		step, finish = "the call", "tool_calls"
		deltas = call("post__send", map[string]string{"text": text})
	default:
		step = "the answer"
		deltas = say("I did: ", last, ".")
	}
	c.reach("the model is asked for " + step)
	w.Header().Set("Content-Type", "text/event-stream")
	for i, delta := range deltas {
		if i == 1 {
			c.reach("the model is in the middle of " + step)
		}
		if _, err := fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
	_ = http.NewResponseController(w).Flush()
	c.reach("the model has said " + step)
}

// TestApprovalsSurviveKills kills the node that works at every point of a turn
// with an approval: the turn ends, and the tool has run once, or at most once
// where nobody can know.
func TestApprovalsSurviveKills(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model := newClerk(t)
			w := Start(t, shape, model.env()...)
			for _, point := range []string{
				"the model is asked for the call", "the model is in the middle of the call", "the model has said the call",
				"the call waits", "the answer is on its way", "the answer is taken",
				"the tool is called", "the tool has done its work",
				"the model is asked for the answer", "the model is in the middle of the answer", "the model has said the answer", "the turn is over",
			} {
				t.Run(point, func(t *testing.T) { killAt(t, w, model, point) })
			}
		})
	}
}

// killAt does one turn on the first node, kills that node at a point, and sees
// the turn through elsewhere.
func killAt(t *testing.T, w *World, model *clerk, point string) {
	first, text := w.Node(0), strings.ReplaceAll(point, " ", "-")
	alice := newChatter(t, w, identitytest.NewActor("approves "+point+string(w.Shape)))
	dead := make(chan struct{})
	kill := sync.OnceFunc(func() {
		first.Kill()
		close(dead)
	})
	model.when(point, kill)
	// The first node is used until it is dead.
	node := func() *Node {
		select {
		case <-dead:
			return w.Node(1)
		default:
			return first
		}
	}
	revived := sync.OnceFunc(func() {
		first.Start()
		first.WaitReady()
	})
	defer revived()
	var run string
	var frames []frame
	Eventually(t, "the turn ends", func() error {
		select {
		case <-dead:
			revived() // alone, nobody else can go on; among others it is one more
		default:
		}
		n := node()
		if run == "" {
			s, err := alice.openStream(t.Context(), n, http.MethodPost, "/messages/"+alice.session,
				fmt.Sprintf(`{"message":"send %s","stream":true}`, text), "X-Request-Id", "once-"+text)
			if err != nil {
				return err
			}
			if s.Status != http.StatusOK {
				s.Cut()
				return fmt.Errorf("the message was answered with %d", s.Status)
			}
			run = s.Header.Get("X-Run-Id")
			frames = append(frames, s.read(point, kill)...)
		}
		last := ""
		if len(frames) > 0 {
			last = frames[len(frames)-1].ID
			if frames[len(frames)-1].Event == "done" {
				return nil
			}
		}
		if err := answerAll(t, alice, n, point, kill); err != nil {
			return err
		}
		s, err := alice.openStream(t.Context(), node(), http.MethodGet, "/runs/"+run+"?after="+last, "")
		if err != nil {
			return err
		}
		if s.Status != http.StatusOK {
			s.Cut()
			return fmt.Errorf("the run is %d", s.Status)
		}
		frames = append(frames, s.read(point, kill)...)
		if len(frames) == 0 || frames[len(frames)-1].Event != "done" {
			return errors.New("no end yet")
		}
		return nil
	})
	if point == "the turn is over" {
		kill()
	}
	select {
	case <-dead:
	default:
		t.Fatal("the point was never reached")
	}
	revived()
	var list struct {
		Messages []struct {
			Type, Content string
			ToolCalls     []struct{ Name, Status, Output, Error string }
		}
	}
	alice.do(t, w.Node(2), http.MethodGet, "/messages/"+alice.session, "").JSON(t, &list)
	asked, called, unknown, said := 0, 0, false, ""
	for _, m := range list.Messages {
		if m.Type == "human" {
			asked++
			continue
		}
		said += m.Content
		for _, c := range m.ToolCalls {
			if c.Name == "post__send" {
				called++
				unknown = c.Status == "error" && strings.Contains(c.Error, "Nobody knows")
				if !unknown && c.Status != "done" {
					t.Errorf("the call ended with %+v", c)
				}
			}
		}
	}
	if asked != 1 || called != 1 || !strings.HasPrefix(said, "I did: ") || strings.Count(said, "I did") != 1 {
		t.Errorf("%d messages, %d calls, said %q", asked, called, said)
	}
	switch n := model.sent(text); {
	case n > 1:
		t.Errorf("the tool ran %d times", n)
	case n == 0 && !unknown:
		t.Error("the tool was reported as done and did not run")
	}
	switch point {
	case "the tool is called", "the tool has done its work":
		if !unknown {
			t.Error("nobody can know what became of the call, and somebody does")
		}
	case "the answer is on its way", "the answer is taken": // it may have been called by then
	default:
		if unknown {
			t.Error("the call had not begun, or had ended, and nobody knows")
		}
	}
}

// read reads a stream until it ends, breaks or waits for its user.
func (s *stream) read(point string, kill func()) []frame {
	defer s.Cut()
	var out []frame
	for {
		f, ok := s.next()
		if !ok {
			return out
		}
		out = append(out, f)
		switch f.Event {
		case "approval_required":
			if point == "the call waits" {
				kill()
			}
			return out
		case "done":
			return out
		}
	}
}

// answerAll approves what waits, twice, as a page does whose answer got lost.
func answerAll(t *testing.T, c *chatter, n *Node, point string, kill func()) error {
	t.Helper()
	var list struct{ Approvals []struct{ ID string } }
	if err := c.try(n, http.MethodGet, "/approvals?sessionId="+c.session, "", &list); err != nil {
		return err
	}
	for _, a := range list.Approvals {
		for range 2 {
			if point == "the answer is on its way" {
				go kill()
			}
			if err := c.try(n, http.MethodPost, "/approvals/"+a.ID, `{"decision":"approve"}`, nil); err != nil {
				return err
			}
			if point == "the answer is taken" {
				kill()
			}
		}
	}
	return nil
}

// try is do for nodes that may be dead.
func (c *chatter) try(n *Node, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(c.world.t.Context(), method, n.URL+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + c.token}, "X-Auth-Type": {"ucan"}}
	resp, err := c.world.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}
