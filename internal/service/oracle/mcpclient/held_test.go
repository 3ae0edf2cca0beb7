package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/plugin"
)

// holder is a server whose list of tools is long, and whose end does not come before it is
// let go.
type holder struct {
	long    int
	waiting chan struct{} // hears of each list of which only the end is missing
	let     chan struct{} // closed
}

func (h *holder) RoundTrip(r *http.Request) (*http.Response, error) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return nil, err
	}
	answer := func(status int, body io.Reader) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(body),
		}, nil
	}
	switch m.Method {
	case "initialize":
		return answer(http.StatusOK, strings.NewReader(`{"jsonrpc":"2.0","id":`+string(m.ID)+
			`,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"holder","version":"1"}}}`))
	case "tools/list", "tools/call":
		held := readerFunc(func([]byte) (int, error) {
			h.waiting <- struct{}{}
			<-h.let
			return 0, io.EOF
		})
		return answer(http.StatusOK, io.MultiReader(
			strings.NewReader(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"tools":[],"content":[]}}`+strings.Repeat(" ", h.long)), held))
	case "notifications/initialized":
		return answer(http.StatusAccepted, http.NoBody)
	}
	return answer(http.StatusOK, strings.NewReader(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"no"}}`))
}

// What servers have sent is in memory until they have sent all of it: one person's servers
// have so much there together, and another's are not asked to wait for that.
func TestOnesServersHoldSoMuchTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock stands still while anybody works
		const asked, long = 6, 7 << 20
		h := &holder{long: long, waiting: make(chan struct{}, asked), let: make(chan struct{})}
		e := mcpclient.New(nil, nil, mcpclient.Config{Transport: h})
		// ask returns how many answers miss their end alone, and a channel that hears of all.
		ask := func(who, where string, n int) (held int, done chan error) {
			ctx := identity.WithPrincipal(t.Context(), identity.Principal{DID: who})
			done = make(chan error, n)
			for i := range n {
				go func() {
					_, err := e.Offers(ctx, plugin.MCPServer{Name: "holder", URL: fmt.Sprintf("https://%s%d.example/mcp", where, i)})
					done <- err
				}()
			}
			synctest.Wait()
			for ; len(h.waiting) > 0; held++ {
				<-h.waiting
			}
			return held, done
		}
		held, anns := ask("ann", "one", asked)
		if held < 1 || held*long > 32<<20 || len(anns) != asked-held {
			t.Errorf("%d answers of %d bytes are held at once, %d were refused", held, long, len(anns))
		}
		one, bens := ask("ben", "two", 1)
		if one != 1 {
			t.Error("another person's server was refused")
		}
		close(h.let)
		if err := <-bens; err != nil {
			t.Error(err)
		}
		good := 0
		for range asked {
			if <-anns == nil {
				good++
			}
		}
		_, again := ask("ann", "three", 1)
		if err := <-again; good != held || err != nil {
			t.Errorf("of %d answers %d were read to their end, and then: %v", held, good, err)
		}
	})
}

// Servers keep connections open as long as they like: one person's have so many at once, and
// are asked one after another beyond that.
func TestOnesServersAreAskedSoManyAtATime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most int
		ask  func(context.Context, *mcpclient.Engine, plugin.MCPServer) error
	}{
		"lists": {16, func(ctx context.Context, e *mcpclient.Engine, s plugin.MCPServer) error {
			_, err := e.Offers(ctx, s)
			return err
		}},
		"calls": {64, func(ctx context.Context, e *mcpclient.Engine, s plugin.MCPServer) error {
			_, err := e.Call(ctx, s, "t", nil)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := c.most + 6
				h := &holder{waiting: make(chan struct{}, asked), let: make(chan struct{})}
				e := mcpclient.New(nil, nil, mcpclient.Config{Transport: h})
				ctx := identity.WithPrincipal(t.Context(), identity.Principal{DID: "ann"})
				done := make(chan error, asked)
				for i := range asked {
					go func() {
						done <- c.ask(ctx, e, plugin.MCPServer{Name: "holder", URL: fmt.Sprintf("https://%d.example/mcp", i)})
					}()
				}
				synctest.Wait()
				if n := len(h.waiting); n != c.most {
					t.Errorf("%d at a time", n)
				}
				close(h.let)
				for range asked {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
