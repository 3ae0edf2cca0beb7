package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/plugin"
)

// asker is a server that says a lot before the result of its tool, and how often it
// was answered.
type asker struct {
	said     string // before the result
	answered atomic.Int64
}

func (a *asker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.Method == "" || m.ID == nil {
		if m.Method == "" {
			a.answered.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"asker","version":"1"}}`,
		"tools/call": `{"content":[{"type":"text","text":"done"}]}`,
	}[m.Method]
	if result == "" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if m.Method == "tools/call" {
		_, _ = fmt.Fprint(w, a.said)
	}
	_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, result)
}

func repeated(n int, event string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(event, "%", fmt.Sprint(i+1_000_000)))
	}
	return b.String()
}

// Each request of a server is a goroutine, a connection and a request of ours, and each message
// takes a while: one without measure is left before it has many.
func TestAServerThatAsksWithoutMeasureIsLeft(t *testing.T) {
	t.Parallel()
	const few, many, endless = 50, 400, 10_500
	const (
		ping   = `{"jsonrpc":"2.0","id":%,"method":"ping"}`
		notice = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":%}}`
	)
	for name, c := range map[string]struct {
		said string
		left bool
	}{
		"as servers do":        {repeated(few, "data: "+ping+"\n\n"), false},
		"progress":             {repeated(few, "event: message\ndata: "+notice+"\n\n"), false},
		"what nobody hears":    {repeated(endless, "event: x\ndata: {}\n\n"), true},
		"pings":                {repeated(many, "data: "+ping+"\n\n"), true},
		"pings without blanks": {repeated(many, "data:"+ping+"\r\n\r\n"), true},
		"questions": {repeated(many, `data: {"jsonrpc":"2.0","id":%,"method":"elicitation/create",`+
			`"params":{"message":"%","requestedSchema":{"type":"object","properties":{}}}}`+"\n\n"), true},
		"in two lines":    {repeated(many, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":%,\"method\":\"ping\"}\n\n"), true},
		"an escaped name": {repeated(many, `data: {"jsonrpc":"2.0","\u0069d":%,"m\u0065thod":"ping"}`+"\n\n"), true},
		"another id":      {repeated(many, `data: {"jsonrpc":"2.0","id":%,"ID":null,"method":"ping"}`+"\n\n"), true},
		"long ones": {repeated(20, `data: {"jsonrpc":"2.0","method":"ping","params":{"x":"`+strings.Repeat("x", 70<<10)+`"},"id":%}`+"\n\n") +
			repeated(240, "data: "+ping+"\n\n"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asker{said: c.said}
			web := httptest.NewServer(a)
			t.Cleanup(web.Close)
			e := mcpclient.New(nil, nil, mcpclient.Config{CallTimeout: time.Hour})
			_, err := e.Call(t.Context(), plugin.MCPServer{Name: "asker", URL: web.URL, AllowPrivate: true}, "t", json.RawMessage(`{}`))
			if n := a.answered.Load(); (err != nil) != c.left || n > 300 {
				t.Errorf("left: %t (%v), after %d answers", err != nil, err, n)
			}
		})
	}
}
