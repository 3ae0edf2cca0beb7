package filestoremcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// post sends a body as clients of older protocols do, who name no version, or
// with a version.
func post(ctx context.Context, t *testing.T, base, version, body string) (status int, answer string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token(t, "*"))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// A batch is one request, and was as much work as its sender liked.
func TestBatchesAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	base := serve(t, filestoretest.Embedded(t))
	const one = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2026-07-28"} {
		for _, body := range []string{
			"[" + one + "]", " \t\r\n[" + one + "," + one + "]", "[]", "[", "[[[[",
			"[" + strings.Repeat(one+",", 20_000) + one + "]",
		} {
			status, answer, err := post(t.Context(), t, base, version, body)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				JSONRPC string
				ID      *json.RawMessage
				Error   struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusBadRequest ||
				got.JSONRPC != "2.0" || got.ID != nil ||
				got.Error.Code != -32600 || !strings.Contains(got.Error.Message, "batches") {
				t.Errorf("%q, %.60s: %d %.200s", version, body, status, answer)
			}
		}
		if version == "2026-07-28" {
			continue // a single message of that version needs more than this
		}
		if status, answer, err := post(t.Context(), t, base, version, "\n "+one); err != nil || status != http.StatusOK ||
			!strings.Contains(answer, "vfs_read") {
			t.Errorf("%q, one message: %d %.200s, %v", version, status, answer, err)
		}
	}
}

// Two members of one name are one for the SDK, and may be another for who looked before.
func TestARequestSaysOneThing(t *testing.T) {
	t.Parallel()
	base := serve(t, filestoretest.Embedded(t))
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vfs_write","arguments":{"path":"/a","path":"/b","content":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vfs_write","arguments":{"path":"/a","content":"x"},"arguments":{"path":"/b","content":"x"}}}`,
	} {
		status, answer, err := post(t.Context(), t, base, "2025-06-18", body)
		if err != nil || status != http.StatusBadRequest || !strings.Contains(answer, `"code":-32600`) ||
			!strings.Contains(answer, "comes twice") {
			t.Errorf("%s: %d %.200s, %v", body, status, answer, err)
		}
	}
}

// A method that MCP does not have is not found, whatever the revision, and no error of the line.
func TestAMethodThatIsNotThere(t *testing.T) {
	t.Parallel()
	base := serve(t, filestoretest.Embedded(t))
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25"} {
		for _, id := range []string{`7`, `"a"`} {
			status, answer, err := post(t.Context(), t, base, version, `{"jsonrpc":"2.0","id":`+id+`,"method":"tasks/dance"}`)
			want := `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"method not found: \"tasks/dance\""}}`
			if err != nil || status != http.StatusOK || strings.TrimSpace(answer) != want {
				t.Errorf("%q: %d %s, %v", version, status, answer, err)
			}
		}
		status, answer, err := post(t.Context(), t, base, version, `{"jsonrpc":"2.0","method":"notifications/dance"}`)
		if err != nil || status != http.StatusAccepted || answer != "" {
			t.Errorf("%q, a notification: %d %s, %v", version, status, answer, err)
		}
	}
}

// Small values are many times as large when they are read as when they are sent.
func TestACrowdOfValuesIsRefused(t *testing.T) {
	t.Parallel()
	base := serve(t, filestoretest.Embedded(t))
	for n, want := range map[int]int{9_000: http.StatusOK, 11_000: http.StatusBadRequest} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vfs_read","arguments":{"path":[` +
			strings.Repeat(`{},`, n) + `0]}}}`
		status, answer, err := post(t.Context(), t, base, "2025-06-18", body)
		if err != nil || status != want || want != http.StatusOK && !strings.Contains(answer, "more than 20000 values") {
			t.Errorf("%d values: %d %.200s, %v", n, status, answer, err)
		}
	}
}

func TestALargeRequestIsRefused(t *testing.T) {
	t.Parallel()
	base := serve(t, filestoretest.Embedded(t))
	for size, want := range map[int]int{3 << 20: http.StatusOK, 5 << 20: http.StatusRequestEntityTooLarge} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vfs_write","arguments":{"path":"/big","content":"` + strings.Repeat("x", size) + `"}}}`
		if status, answer, err := post(t.Context(), t, base, "", body); err != nil || status != want {
			t.Errorf("%d bytes: %d %.200s, %v", size, status, answer, err)
		}
	}
}

// A tool's work ends with its request, whatever protocol the client speaks.
func TestNothingGoesOnAfterTheClientLeft(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, alice.DID, "/big.txt", strings.Repeat(strings.Repeat("a", 99)+"\n", 100_000))
		for _, c := range []struct{ tool, args string }{
			{"vfs_grep", `{"q":"b+","regex":true}`}, {"vfs_grep", `{"q":"b"}`}, {"vfs_read", `{"path":"/big.txt"}`},
		} {
			const before = 5
			if n := readsOfAClientWhoLeaves(t, w, before, c.tool, c.args); n > before+1 {
				t.Errorf("%s %s: %d reads after the client left", c.tool, c.args, n-before)
			}
		}
	})
}

// readsOfAClientWhoLeaves calls a tool, leaves at a read of an object, and
// returns how many reads there were when the server had ended the request.
func readsOfAClientWhoLeaves(t *testing.T, w *filestoretest.World, at int64, tool, args string) int64 {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var reads atomic.Int64
	plan := blobtest.Healthy()
	plan.Reading = func(ctx context.Context) {
		if reads.Add(1) == at {
			leave()
			select { // the reading itself is told, however long that takes
			case <-ctx.Done():
			case <-time.After(time.Minute):
				t.Errorf("%s %s: nobody told the reading that the client left", tool, args)
			}
		}
	}
	w.Blobs.Set(plan)
	defer w.Blobs.Set(blobtest.Healthy())
	server := httptest.NewServer(surface(t, w))
	_, _, err := post(ctx, t, server.URL, "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}}`)
	server.Close() // waits for requests under way
	if err == nil {
		t.Errorf("%s %s: answered before it had read the file", tool, args)
	}
	return reads.Load()
}

func TestToolsSayWhatTheyLeftOut(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	a := connect(t, serve(t, w), token(t, "*"))
	w.MustPut(t, alice.DID, "/a.txt", "b\n"+strings.Repeat(strings.Repeat("a", 199)+"\n", 5000))
	a.refused("vfs_grep", m{"q": "(a?){480}(a?){480}b", "regex": true}, "the pattern is too large")
	got := a.must("vfs_grep", m{"q": "(a?){150}b", "regex": true})
	for _, want := range []string{"not all was searched: the search ended at /a.txt because the pattern is costly", "1. /a.txt (1 line(s))"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %.300q", want, got)
		}
	}
}
