package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// flood is a server whose every answer has 64 MB of spaces.
type flood struct {
	media string
	taken atomic.Int64
}

func (f *flood) RoundTrip(r *http.Request) (*http.Response, error) {
	left := int64(64 << 20)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {f.media}}, Request: r,
		Body: io.NopCloser(readerFunc(func(p []byte) (int, error) {
			n := min(int64(len(p)), left)
			if n == 0 {
				return 0, io.EOF
			}
			for i := range p[:n] {
				p[i] = ' '
			}
			left -= n
			f.taken.Add(n)
			return int(n), nil
		})),
	}, nil
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Users name servers of their own: what such a server sends is not read into
// memory without end.
func TestAnAnswerWithoutEndIsNotRead(t *testing.T) {
	t.Parallel()
	for _, media := range []string{"application/json", "text/event-stream"} {
		f := &flood{media: media}
		e := mcpclient.New(nil, nil, mcpclient.Config{Transport: f})
		tools, closeAll := e.Tools(t.Context(), []plugin.MCPServer{{Name: "flood", URL: "https://flood.example/mcp"}}, turn.MCPUser{})
		closeAll()
		if taken := f.taken.Load(); len(tools) != 0 || taken > 16<<20 {
			t.Errorf("%s: %d tools, %d bytes were read", media, len(tools), taken)
		}
	}
}

// What a server says of its tools is kept for a while, and is bounded: the rest
// of a longer list is left out.
func TestALongListIsCut(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for i := range 40 {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("t%02d", i), Description: "x", InputSchema: map[string]any{
			"type": "object", "description": strings.Repeat("long ", 8000), // 40 KB
		}}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	e := mcpclient.New(nil, nil, mcpclient.Config{ListTimeout: time.Minute})
	for range 2 { // asked, and remembered
		tools, closeAll := e.Tools(t.Context(), []plugin.MCPServer{{Name: "long", URL: web.URL, AllowPrivate: true}},
			turn.MCPUser{})
		closeAll()
		size := 0
		for _, tool := range tools {
			size += len(tool.Schema)
		}
		if len(tools) == 0 || size > 512<<10 {
			t.Errorf("%d tools of %d bytes", len(tools), size)
		}
	}
}

// liar is a server that answers one method with nonsense.
func liar(t *testing.T, method, result string) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := map[string]string{
			"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"liar","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
			"tools/call": `{"content":[]}`,
		}
		answer[method] = result
		w.Header().Set("Content-Type", "application/json")
		if answer[req.Method] == "" {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, req.ID)
			return
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, answer[req.Method])
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// Nonsense costs the server that says it its tools, and nothing else.
func TestNonsenseIsSurvived(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"tools/list", `{"tools":[null]}`},
		{"tools/list", `{"tools":null}`},
		{"tools/list", `null`},
		{"tools/list", `[]`},
		{"tools/list", `{"tools":[{"name":"t","inputSchema":null}]}`},
		{"tools/list", `{"tools":[{"inputSchema":7}],"nextCursor":""}`},
		{"initialize", `null`},
		{"initialize", `{}`},
		{"initialize", `{"protocolVersion":"0","capabilities":null,"serverInfo":null}`},
		{"tools/call", `null`},
		{"tools/call", `{"content":[null]}`},
		{"tools/call", `{"content":[{"type":"resource"}]}`},
		{"tools/call", `{"content":[{"type":"resource","resource":null}]}`},
		{"tools/call", `{"content":[{}]}`},
		{"tools/call", `{"content":[{"type":"no"}]}`},
	} {
		e := mcpclient.New(nil, nil, mcpclient.Config{})
		tools, closeAll := e.Tools(t.Context(),
			[]plugin.MCPServer{{Name: "liar", URL: liar(t, c[0], c[1]), AllowPrivate: true}}, turn.MCPUser{})
		if c[0] == "tools/call" && len(tools) != 1 {
			t.Errorf("%s: %d tools", c, len(tools))
		}
		for _, tool := range tools {
			_, _ = tool.Run(t.Context(), &plugin.Runtime{}, json.RawMessage(`{}`)) // an error is as good as a text
		}
		closeAll()
	}
}

// Some addresses hold a key in their query: no error repeats it, and why a server
// was not asked is told all the same.
func TestErrorsDoNotRepeatAddresses(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := mcpclient.New(nil, slog.New(slog.NewTextHandler(&log, nil)), mcpclient.Config{})
	s := plugin.MCPServer{Name: "near", URL: "http://127.0.0.1:1/mcp?key=s3cret"}
	_, err := e.Offers(t.Context(), s)
	refusal, ok := errors.AsType[*plugin.Error](err)
	if !ok || refusal.Message != "It cannot be reached on the public internet." || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
	// A name that means nothing is told as one that means something in our network.
	_, err = e.Offers(t.Context(), plugin.MCPServer{Name: "none", URL: "http://" + strings.Repeat("x", 64) + "/mcp"})
	if none, ok := errors.AsType[*plugin.Error](err); !ok || none.Message != refusal.Message {
		t.Errorf("a name that means nothing: %v", err)
	}
	_, closeAll := e.Tools(t.Context(), []plugin.MCPServer{s}, turn.MCPUser{})
	closeAll()
	_, called := e.Call(t.Context(), s, "echo", nil)
	if said := log.String(); !strings.Contains(said, "mcp.server_away") || strings.Contains(said+called.Error(), "s3cret") {
		t.Errorf("%s %v", said, called)
	}
}
