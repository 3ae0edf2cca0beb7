package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/test/system"
)

// Nobody keeps a node busy beyond a request, nor keeps it from stopping: batches,
// patterns and ranges have bounds that whoever asks cannot move.
func TestWorkHasABound(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		who, err := did.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		n := w.Node(0)
		c := files(t, n, who)
		text := strings.Repeat(strings.Repeat("a", 199)+"\n", 5000)
		for i := range 4 {
			if _, err := c.Put(t.Context(), fmt.Sprintf("/h/%d.txt", i), "text/plain", strings.NewReader(text), int64(len(text)),
				cid.CID{}); err != nil {
				t.Fatal(err)
			}
		}
		token, err := c.Token(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		send := func(ctx context.Context, method, target, body string, header ...string) (int, string, error) {
			r, err := http.NewRequestWithContext(ctx, method, n.URL+target, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				return 0, "", err
			}
			defer func() { _ = reply.Body.Close() }()
			b, err := io.ReadAll(reply.Body)
			return reply.StatusCode, string(b), err
		}
		rpc := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
		batch := "[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"tools/list"},`, 20_000) + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`
		var refused struct{ Error struct{ Code int } }
		if status, answer, err := send(t.Context(), "POST", "/mcp", batch, rpc...); err != nil ||
			status != http.StatusBadRequest ||
			json.Unmarshal([]byte(answer), &refused) != nil || refused.Error.Code != -32600 {
			t.Errorf("batch: %d %.200s, %v", status, answer, err)
		}
		ranges := make([]string, 5000)
		for i := range ranges {
			ranges[i] = fmt.Sprintf("%d-%d", i*150, i*150)
		}
		if status, answer, err := send(t.Context(), "GET", "/api/fs/content?path=/h/0.txt", "", "Range",
			"bytes="+strings.Join(ranges, ",")); err != nil || status != http.StatusOK || answer != text {
			t.Errorf("ranges: %d, %d bytes, %v", status, len(answer), err)
		}
		grep := func(expr string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vfs_grep","arguments":{"q":"` + expr + `","regex":true,"path":"/h"}}}`
		}
		for expr, want := range map[string]string{"(a?){480}(a?){480}b": "the pattern is too large", "(a?){150}b": "not all was searched"} {
			if status, answer, err := send(t.Context(), "POST", "/mcp", grep(expr), rpc...); err != nil ||
				status != http.StatusOK || !strings.Contains(answer, want) {
				t.Errorf("%s: %d %.300s, %v", expr, status, answer, err)
			}
		}
		// A client leaves as soon as it has asked, and then the node stops.
		ctx, leave := context.WithCancel(t.Context())
		asked := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
			leave()
		}})
		if _, _, err := send(asked, "POST", "/mcp", grep("(a?){190}b"), rpc...); err == nil {
			t.Error("the client did not leave")
		}
		n.Stop()
		if code := n.ExitCode(); code != 0 {
			t.Errorf("the node ended with %d:\n%s", code, n.Log())
		}
	})
}
