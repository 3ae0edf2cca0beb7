package oracletest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// Node is one running oracle.
type Node struct {
	*oraclekit.Oracle
	URL      string
	Identity *identity.Service
	stop     func()
}

// Migrated returns the database with the oracle's tables.
func Migrated(t testing.TB, db *sqldb.DB) *sqldb.DB {
	t.Helper()
	must(t, db.Migrate(t.Context(), oraclesql.Migrations()))
	return db
}

// Start runs an oracle on SQLite in memory of the test. change may replace any
// part first.
func Start(t testing.TB, provider model.Provider, change ...func(*oraclekit.Deps)) *Node {
	t.Helper()
	if provider == nil {
		provider = scripted.Sequence(scripted.Text("Hello", ", ", "world"))
	}
	d := oraclekit.Deps{
		Identity: identitytest.New(t), Provider: provider, Oracle: oracle.Identity{Name: "Testa", DID: identitytest.Oracle.DID},
		CORS: httpserver.OpenCORS("*"), SealKey: bytes.Repeat([]byte{7}, 32),
	}
	for _, c := range change {
		c(&d)
	}
	if d.DB == nil {
		d.DB = Migrated(t, sqldbtest.SQLite(t))
	}
	if d.Bus == nil {
		b := busmem.New()
		t.Cleanup(func() { _ = b.Close() })
		d.Bus = b
	}
	d.Authenticate = identityhttp.Wrap(d.Identity, identity.Oracle)
	d.Face = appkeyhttp.Face{Identity: d.Identity}.Wrap(appkey.Oracle) // tokens alone
	o, err := oraclekit.New(d)
	must(t, err)
	server, err := httpserver.New(httpserver.Config{})
	must(t, err)
	must(t, server.Mount(o.Surface))
	for _, face := range o.Faces {
		must(t, server.Mount(face))
	}
	web := httptest.NewServer(server)
	ctx, cancel := context.WithCancel(context.Background())
	must(t, o.StartPlugins(ctx))
	var all sync.WaitGroup
	for _, work := range o.Workers() {
		all.Go(func() {
			if err := work(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	n := &Node{Oracle: o, URL: web.URL, Identity: d.Identity}
	n.stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		web.CloseClientConnections()
		web.Close()
	})
	t.Cleanup(n.stop)
	return n
}

// Stop stops the node as an operator would.
func (n *Node) Stop() { n.stop() }

// Client is somebody who talks to a node.
type Client struct {
	t     testing.TB
	node  *Node
	token string
	// Header is added to each request.
	Header http.Header
}

// As returns a client with a fresh invocation of the actor.
func (n *Node) As(t testing.TB, who identitytest.Actor, options ...identitytest.Option) *Client {
	t.Helper()
	return &Client{
		t: t, node: n, token: identitytest.Invocation(t, who, identitytest.Oracle.DID, options...), Header: http.Header{},
	}
}

// Token is the client's invocation.
func (c *Client) Token() string { return c.token }

// On returns the same client at another node.
func (c *Client) On(n *Node) *Client {
	copied := *c
	copied.node = n
	return &copied
}

// Response is an answer that was read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the answer.
func (r Response) JSON(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, into); err != nil {
		t.Fatalf("%v in %q", err, r.Body)
	}
}

// Open sends a request and leaves the body to the caller.
func (c *Client) Open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = bytes.NewBufferString(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.node.URL+path, in)
	if err != nil {
		return nil, err
	}
	req.Header = c.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
		req.Header.Set("X-Auth-Type", "ucan")
	}
	return http.DefaultClient.Do(req)
}

// Do sends a request and reads the answer.
func (c *Client) Do(method, path string, body any) Response {
	c.t.Helper()
	resp, err := c.Open(c.t.Context(), method, path, body)
	must(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	must(c.t, err)
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: data}
}

// Session makes a session.
func (c *Client) Session() string {
	c.t.Helper()
	var s struct{ SessionID string }
	r := c.Do("POST", "/sessions", nil)
	if r.Status != http.StatusCreated {
		c.t.Fatalf("create session: %d %s", r.Status, r.Body)
	}
	r.JSON(c.t, &s)
	return s.SessionID
}

// Stream reads frames of a response until it ends.
func Stream(t testing.TB, resp *http.Response) []oracle.Frame {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	return readFrames(t, resp.Body)
}

// Frames reads the frames of an answer that was read whole.
func Frames(t testing.TB, body []byte) []oracle.Frame {
	t.Helper()
	return readFrames(t, bytes.NewReader(body))
}

func readFrames(t testing.TB, body io.Reader) []oracle.Frame {
	t.Helper()
	return collectFrames(t, sse.NewDecoder(body, 0))
}

func collectFrames(t testing.TB, d *sse.Decoder) []oracle.Frame {
	t.Helper()
	var out []oracle.Frame
	for {
		e, err := d.Next()
		if err != nil {
			return out
		}
		var seq int64
		must(t, json.Unmarshal([]byte(e.ID), &seq))
		if e.Name == "" {
			e.Name = oracle.FrameMessage // the standard's default name
		}
		out = append(out, oracle.Frame{Seq: seq, Event: e.Name, Data: e.Data})
	}
}

// Say sends a message and reads the whole stream.
func (c *Client) Say(session, text string) []oracle.Frame {
	c.t.Helper()
	resp, err := c.Open(c.t.Context(), "POST", "/messages/"+session, map[string]any{"message": text, "stream": true})
	must(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(resp.Body)
		c.t.Fatalf("send: %d %s", resp.StatusCode, data)
	}
	return Stream(c.t, resp)
}

// Waiting is a turn that rests.
type Waiting struct {
	oracle.ApprovalRequired
	// Rest reads the frames that follow, to the end.
	Rest func() []oracle.Frame
	// Next returns when the turn waits again.
	Next func() Waiting
}

// Ask sends a message, and returns when its turn waits for its user.
func (c *Client) Ask(session, text string) Waiting {
	c.t.Helper()
	resp, err := c.Open(c.t.Context(), "POST", "/messages/"+session, map[string]any{"message": text, "stream": true})
	must(c.t, err)
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	return c.waits(sse.NewDecoder(resp.Body, 0))
}

// waits reads frames until the turn waits.
func (c *Client) waits(d *sse.Decoder) Waiting {
	c.t.Helper()
	var w Waiting
	for {
		e, err := d.Next()
		if err != nil {
			c.t.Fatalf("the turn did not wait: %v", err)
		}
		if e.Name == oracle.FrameApprovalRequired {
			must(c.t, json.Unmarshal(e.Data, &w.ApprovalRequired))
			break
		}
	}
	w.Rest = func() []oracle.Frame {
		c.t.Helper()
		return collectFrames(c.t, d)
	}
	w.Next = func() Waiting {
		c.t.Helper()
		return c.waits(d)
	}
	return w
}

// Text is what a reader of frames shows.
func Text(t testing.TB, frames []oracle.Frame) string {
	t.Helper()
	return turn.TextOf(frames)
}

// Delegation makes the client send a delegation instead of an invocation.
func (c *Client) Delegation(token string) {
	c.token = ""
	c.Header.Set("X-Ucan-Delegation", token)
}

// Events lists the names of frames.
func Events(frames []oracle.Frame) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = f.Event
	}
	return out
}
