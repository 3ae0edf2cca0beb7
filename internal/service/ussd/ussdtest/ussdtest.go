// Package ussdtest holds what tests of the USSD gateway share: a service with
// fixed keys and a cheap PIN hash, a telephone, and the contract of a Store.
package ussdtest

import (
	"context"
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// The fixed keys of tests.
const (
	Key    = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	OldKey = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
)

// Keys returns a key ring of hex keys.
func Keys(t testing.TB, newest string, old ...string) *ussdpin.Keys {
	t.Helper()
	raw := make([][]byte, 0, len(old)+1)
	for _, text := range append([]string{newest}, old...) {
		key, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, key)
	}
	k, err := ussdpin.NewKeys(raw[0], raw[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// builtIn is the menu that Castalia ships, read once: services do not change a menu, and
// reading it for each was a third of what tests of them cost.
var builtIn = sync.OnceValues(ussd.DefaultMenu)

// Service returns a service on the store, with the built-in menu. Each change may touch its
// configuration.
func Service(t testing.TB, store ussd.Store, change ...func(*ussd.Config)) *ussd.Service {
	t.Helper()
	menu, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	cfg := ussd.Config{Keys: Keys(t, Key), Menus: ussdbook.Of(menu), PINCost: ussdpin.Cost{Time: 1, MemoryKiB: 8}}
	for _, c := range change {
		c(&cfg)
	}
	svc, err := ussd.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// Handler is what a telephone talks to.
type Handler interface {
	Handle(ctx context.Context, req ussd.Request) (ussd.Answer, error)
}

// Phone is a telephone in a session: it accumulates what is typed, as telecom
// gateways do.
type Phone struct {
	Handler Handler
	Number  string
	Session string
	Code    string
	Text    string
}

// NewPhone returns a telephone that has not dialled yet.
func NewPhone(h Handler, number, session string) *Phone {
	return &Phone{Handler: h, Number: number, Session: session, Code: "*2233#"}
}

// Dial opens a new session under the id and returns its first screen.
func (p *Phone) Dial(t testing.TB, session string) ussd.Answer {
	t.Helper()
	p.Session, p.Text = session, ""
	return p.Again(t)
}

// Type sends one input.
func (p *Phone) Type(t testing.TB, input string) ussd.Answer {
	t.Helper()
	if p.Text == "" {
		p.Text = input
	} else {
		p.Text += "*" + input
	}
	return p.Again(t)
}

// Again sends the last request once more.
func (p *Phone) Again(t testing.TB) ussd.Answer {
	t.Helper()
	a, err := p.Handler.Handle(t.Context(), p.Request())
	if err != nil {
		t.Fatalf("text %q: %v", p.Text, err)
	}
	return a
}

// Request is the request that the telephone would send now.
func (p *Phone) Request() ussd.Request {
	return ussd.Request{SessionID: p.Session, ServiceCode: p.Code, Phone: p.Number, Text: p.Text}
}

// Expect types the inputs, each with the beginning of the screen it leads to:
// input, screen, input, screen and so on.
func (p *Phone) Expect(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		got := p.Type(t, pairs[i]).String()
		if !strings.Contains(got, pairs[i+1]) {
			t.Fatalf("after %q: %q, want …%q…", pairs[i], got, pairs[i+1])
		}
	}
}

// Clock is a clock that tests move.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at a fixed time.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)} }

// Now is the time on the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Jump moves the clock, forwards or back.
func (c *Clock) Jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set is a configuration change that uses the clock.
func (c *Clock) Set(cfg *ussd.Config) { cfg.Now = c.Now }
