package filestoremcp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// What agents read, look for and compare waits while the namespace has no room for the
// answer, ends with its request, and is counted until it is sent.
func TestToolsWaitForRoom(t *testing.T) {
	t.Parallel()
	const room = 32 << 20
	w := filestoretest.Embedded(t)
	holdings := ratelimit.NewHoldings(room, 1)
	ts := httptest.NewServer(counted(t, w, holdings))
	t.Cleanup(ts.Close)
	w.MustPut(t, alice.DID, "/f.txt", "one\n")
	w.MustPut(t, alice.DID, "/f.txt", "two\n")
	call := func(tool, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	}
	for _, body := range []string{
		call("vfs_read", `{"path":"/f.txt"}`), call("vfs_diff", `{"path":"/f.txt"}`), call("vfs_grep", `{"q":"two"}`),
		call("vfs_glob", `{"pattern":"/**"}`), call("vfs_search", `{"q":"two"}`),
		call("vfs_edit", `{"path":"/f.txt","oldString":"two","newString":"three","dryRun":true}`),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`, alice.Home("/f.txt")),
	} {
		full := holdings.Begin(alice.DID)
		if err := full.Take(t.Context(), room); err != nil {
			t.Fatal(err)
		}
		waits := func(ctx context.Context) <-chan string {
			said := make(chan string, 1)
			go func() {
				_, answer, _ := post(ctx, t, ts.URL, "", body)
				said <- answer
			}()
			for waiting := 0; waiting == 0; runtime.Gosched() {
				if _, waiting = holdings.Of(alice.DID); len(said) > 0 {
					t.Errorf("%s waits for nobody", body)
					break
				}
			}
			return said
		}
		ctx, cancel := context.WithCancel(t.Context())
		said := waits(ctx)
		cancel()
		if answer := <-said; answer != "" {
			t.Errorf("%s answered %s", body, answer)
		}
		for _, waiting := holdings.Of(alice.DID); waiting > 0; _, waiting = holdings.Of(alice.DID) {
			runtime.Gosched()
		}
		said = waits(t.Context())
		full.Leave()
		if answer := <-said; !strings.Contains(answer, `"result"`) || strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s answered %s when there was room", body, answer)
		}
		for held, _ := holdings.Of(alice.DID); held > 0; held, _ = holdings.Of(alice.DID) {
			runtime.Gosched() // the answer is there a little before its end
		}
	}
}

// A resource is as large as what is written of it.
func TestAResourceIsCountedAsItIsWritten(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	ts := serve(t, w)
	w.MustPut(t, alice.DID, "/f.txt", strings.Repeat("\x01", 2<<20))
	w.MustPut(t, alice.DID, "/g.txt", strings.Repeat("a", 2<<20))
	for name, refused := range map[string]bool{"/f.txt": true, "/g.txt": false} {
		_, answer, err := post(t.Context(), t, ts, "",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`, alice.Home(name)))
		if err != nil || strings.Contains(answer, "too large for a resource") != refused || len(answer) > 8<<20 {
			t.Errorf("%s: %v, %d bytes: %.200s", name, err, len(answer), answer)
		}
	}
}
