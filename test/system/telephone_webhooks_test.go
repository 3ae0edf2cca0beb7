package system_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/system"
)

// seller is a program that a menu calls. It does what before says first.
type seller struct {
	*httptest.Server
	down   atomic.Bool
	before atomic.Pointer[func()]

	mu     sync.Mutex
	orders map[string]int // how often each webhook-id came
}

func newSeller(t *testing.T) *seller {
	t.Helper()
	s := &seller{orders: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Data struct{ Webhook string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if body.Data.Webhook == "order" {
			s.mu.Lock()
			s.orders[r.Header.Get("Webhook-Id")]++
			s.mu.Unlock()
		}
		if do := s.before.Swap(nil); do != nil {
			(*do)()
		}
		if s.down.Load() && body.Data.Webhook == "order" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprint(w, `{"price":"40","why":"-"}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *seller) counts() (ids, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.orders {
		ids, times = ids+1, times+n
	}
	return ids, times
}

// A menu's call is answered within the session, made again under its name by a node
// that takes over from a killed one, and sent later when nobody answered; and an
// address that swallows everything holds nobody else.
func TestMenusCallProgramsThroughKills(t *testing.T) {
	t.Parallel()
	for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			menu := filepath.Join(t.TempDir(), "menu.yaml")
			write := func(endpoint string) {
				if err := os.WriteFile(menu+".new", ussdtest.HookMenu(endpoint), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(menu+".new", menu); err != nil {
					t.Fatal(err)
				}
			}
			write(ussdtest.HookEndpoint)
			w := system.Start(t, shape, "USSD_MENU="+menu, "WEBHOOKS_ALLOW_PRIVATE=true")
			alice, err := oracleclient.New(t.Context(), oracleclient.Config{Server: w.Node(0).URL, Signer: somebody(t)})
			if err != nil {
				t.Fatal(err)
			}
			endpoint := func(url string) string {
				var hook struct{ ID string }
				if err := alice.Do(t.Context(), http.MethodPost, "/api/webhooks", map[string]any{"url": url, "events": []string{"menu.called"}}, &hook); err != nil {
					t.Fatal(err)
				}
				return hook.ID
			}
			shop := newSeller(t)
			line := &telephone{world: w, retries: 3}
			// serves waits until every node's menu calls the endpoint.
			serves := func(id string) {
				write(id)
				m, err := ussd.ParseMenu("menu.yaml", ussdtest.HookMenu(id), ussdmenu.Limit{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range w.Nodes {
					system.Eventually(t, "the menu is there", func() error {
						var graph struct{ Version string }
						reply, err := w.Node(i).Try(t.Context(), system.Call{Path: "/operator/ussd/graph"})
						if err == nil {
							reply.JSON(t, &graph)
						}
						if err == nil && graph.Version != m.Version() {
							err = fmt.Errorf("still %s", graph.Version)
						}
						return err
					})
				}
			}
			serves(endpoint(shop.URL))
			c := &caller{t: t, line: line, phone: "+254700222333"}
			killed := func() {
				for _, n := range w.Nodes {
					n.Kill()
				}
			}
			revive := func() {
				for _, n := range w.Nodes {
					n.Start()
				}
				for _, n := range w.Nodes {
					n.WaitReady()
				}
			}
			c.dial("k1")
			c.expect("maize", "maize is 40.")
			// All nodes die while the program has the order, and before they hear of it.
			done := make(chan struct{})
			kill := func() { killed(); revive(); close(done) }
			shop.before.Store(&kill)
			c.text += "*7"
			_, _ = line.Send(t.Context(), c.session, "*2233#", c.phone, c.text) // may find no node, or a new one
			<-done
			if got := c.send(); got != "END Ordered" {
				t.Fatal(got)
			}
			if ids, times := shop.counts(); ids != 1 || times < 2 {
				t.Errorf("%d orders, told %d times", ids, times)
			}
			// The program is away: the order is promised, survives a kill, and arrives.
			shop.down.Store(true)
			c.dial("k2")
			c.expect("beans", "beans is 40.", "9", "END We have your order")
			killed()
			revive()
			_, before := shop.counts()
			shop.down.Store(false)
			system.Eventually(t, "the order arrives", func() error {
				if ids, times := shop.counts(); ids != 2 || times <= before {
					return fmt.Errorf("%d orders, told %d times", ids, times)
				}
				return nil
			})
			// A black hole takes the call, and says nothing.
			hole, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = hole.Close() }()
			serves(endpoint("http://" + hole.Addr().String() + "/"))
			var hanging sync.WaitGroup
			for i := range 40 {
				h := &caller{t: t, line: line, phone: fmt.Sprintf("+25470033%04d", i)}
				h.dial(fmt.Sprint("hole", i))
				hanging.Go(func() {
					if got, err := line.Send(t.Context(), h.session, "*2233#", h.phone, "maize"); err != nil || got != "CON No price. \n0. Back" {
						t.Errorf("%q %v", got, err)
					}
				})
			}
			for i := range 20 {
				o := &caller{t: t, line: line, phone: fmt.Sprintf("+25470044%04d", i)}
				o.dial(fmt.Sprint("other", i))
				o.expect("1", "Letters.")
			}
			hanging.Wait()
		})
	}
}
