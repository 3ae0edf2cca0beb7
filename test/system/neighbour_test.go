package system

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

// TestWrongTokensLockNobodyOut tries many wrong tokens at every door of every
// node from one address, with hardly any time to verify them: a fresh good token
// of somebody else from the same address is served at each of them.
func TestWrongTokensLockNobodyOut(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		var document struct{ ID string }
		w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
		ask := func(n *Node, door, token string) Reply {
			c := Call{Method: http.MethodGet, Path: door, Header: http.Header{"Authorization": {"Bearer " + token}, "X-Auth-Type": {"ucan"}}}
			if door == "/mcp" {
				c.Method, c.Body = http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
				c.Header.Set("Content-Type", "application/json")
				c.Header.Set("Accept", "application/json, text/event-stream")
			}
			return n.Do(t, c)
		}
		doors := []string{"/sessions", "/api/fs/files", "/mcp"}
		for _, n := range w.Nodes {
			for i := range 200 {
				wrong := fmt.Sprintf("garbage%d", i)
				if i%4 == 0 {
					wrong = identitytest.Files(t, identitytest.Mallory, document.ID, "fs/*", identitytest.TTL(-time.Hour),
						identitytest.Nonce(fmt.Sprint(i)))
				}
				if reply := ask(n, doors[i%3], wrong); reply.Status != http.StatusUnauthorized {
					t.Fatalf("wrong token %d: %d %s", i, reply.Status, reply.Body)
				}
			}
		}
		for _, n := range w.Nodes {
			for _, door := range doors {
				token := identitytest.Files(t, identitytest.Alice, document.ID, "fs/*")
				if door == "/sessions" {
					token = identitytest.Invocation(t, identitytest.Alice, document.ID)
				}
				if reply := ask(n, door, token); reply.Status != http.StatusOK {
					t.Errorf("%s: %d %s", door, reply.Status, reply.Body)
				}
			}
		}
		bob := newChatter(t, w, identitytest.Bob)
		for _, n := range w.Nodes {
			for range 100 {
				refused := socketiotest.Join(t, n.URL+"/socket.io/", "sessionId="+bob.session, map[string]string{"invocation": "garbage"})
				_ = refused.Conn.Close()
			}
			bob.token = identitytest.Invocation(t, identitytest.Bob, document.ID, identitytest.Nonce(n.URL))
			bob.open(t, n)
		}
	}, "AUTH_VERIFY_BUDGET=1ms")
}
