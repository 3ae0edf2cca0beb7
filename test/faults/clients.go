//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// client is somebody who uses the fleet. step does one thing and reports
// whether it was acknowledged.
type client interface {
	name() string
	step(ctx context.Context) bool
}

// crowd is all clients at work, with the book in which they write what they
// were told.
type crowd struct {
	world   *World
	aud     did.DID
	clients []client
	done    map[client]*atomic.Int64
	book    book
	resting atomic.Bool
	steps   sync.WaitGroup // those who do one thing after the other
	stop    context.CancelFunc
	going   sync.WaitGroup // everything else
}

// book collects evidence from many clients.
type book struct {
	mu sync.Mutex
	Evidence
	lent []*loan // that were taken back, or not, with what is needed to try them again
}

// write changes the evidence.
func (b *book) write(fn func(e *Evidence)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn(&b.Evidence)
}

// newCrowd makes the usual clients.
func newCrowd(ctx context.Context, w *World, tag string) (*crowd, error) {
	r, _, err := w.ask(ctx, 0, http.MethodGet, "/.well-known/did.json", nil, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for the service's name: %w", err)
	}
	var document struct{ ID string }
	if err := json.Unmarshal(r.body, &document); err != nil {
		return nil, err
	}
	c := &crowd{world: w, aud: did.DID(document.ID), done: map[client]*atomic.Int64{}}
	shared := newPerson(c, tag+" shared")
	c.clients = []client{
		&caller{crowd: c, phone: 254700100000}, &caller{crowd: c, phone: 254700200000, guesses: true},
		&writer{crowd: c, who: newPerson(c, tag+" files")},
		&rival{crowd: c, who: shared, label: "one"}, &rival{crowd: c, who: shared, label: "two"},
		&editor{crowd: c, who: newPerson(c, tag+" edits")}, &uploader{crowd: c, who: newPerson(c, tag+" tus")},
		&chatter{crowd: c, who: newPerson(c, tag+" chat one")}, &chatter{crowd: c, who: newPerson(c, tag+" chat two")},
		&page{crowd: c, who: newPerson(c, tag+" page")},
		&rememberer{crowd: c, who: newPerson(c, tag+" memory")},
		&tidier{crowd: c, who: newPerson(c, tag+" tidy")}, &lender{crowd: c, who: newPerson(c, tag+" lender")},
	}
	return c, nil
}

// begin sets everybody to work and waits until everybody has done something.
func (c *crowd) begin(ctx context.Context) error {
	ctx, c.stop = context.WithCancel(ctx)
	for _, one := range c.clients {
		count := &atomic.Int64{}
		c.done[one] = count
		c.steps.Go(func() {
			for ctx.Err() == nil && !c.resting.Load() {
				if one.step(ctx) {
					count.Add(1)
				}
				pause(ctx, 150*time.Millisecond)
			}
		})
	}
	return c.more(ctx, 1)
}

// more waits until everybody has been acknowledged n more times.
func (c *crowd) more(ctx context.Context, n int64) error {
	want := map[client]int64{}
	for one, count := range c.done {
		want[one] = count.Load() + n
	}
	deadline := time.Now().Add(patience)
	for one, count := range c.done {
		for count.Load() < want[one] {
			if time.Now().After(deadline) || ctx.Err() != nil {
				return fmt.Errorf("%s was not served within %v", one.name(), patience)
			}
			pause(ctx, 50*time.Millisecond)
		}
	}
	return nil
}

// end lets everybody finish what they are at, and stop. Whoever cannot is cut off.
func (c *crowd) end() {
	if c.stop == nil {
		return
	}
	c.resting.Store(true)
	late := time.AfterFunc(patience, c.stop)
	c.steps.Wait()
	late.Stop()
	c.stop()
	c.going.Wait()
}

// told notes what a client was told, for the history.
func (c *crowd) told(who, what string, t Told, err error) {
	reason := ""
	if err != nil {
		reason = fmt.Sprintf(" (%.160s)", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	c.world.Tell("%-12s %s: %v%s", who, what, t, reason)
}

// person is somebody with a key.
type person struct {
	crowd *crowd
	actor identitytest.Actor
}

func newPerson(c *crowd, name string) *person {
	return &person{c, identitytest.NewActor("faults " + name)}
}

// token is a fresh credential.
func (p *person) token(can ucan.Capability) string { return p.sign(p.crowd.aud, can).Encode() }

// sign makes a token. It lives long enough for clocks that are wrong.
func (p *person) sign(audience did.DID, can ucan.Capability, proofs ...*ucan.Token) *ucan.Token {
	t, err := ucan.Issue(p.actor.Signer, ucan.Statement{
		Audience: audience, Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{can}, Proofs: proofs,
	})
	if err != nil {
		panic(err) // a key that was made here signs
	}
	return t
}

func (p *person) oracle() http.Header {
	return credentials(p.token(ucan.NewCapability(ucan.AnyAbility, identity.OracleResource, ipld.Node{})))
}

func (p *person) files() http.Header {
	h := credentials(p.token(ucan.NewCapability(ucan.AnyAbility, p.actor.Home(""), ipld.Node{})))
	h.Set("Content-Type", "application/octet-stream")
	return h
}

func credentials(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}, "X-Auth-Type": {"ucan"}, "Content-Type": {"application/json"}}
}

// provide gives a person credits, until it is acknowledged. The same key counts
// once, so an unknown outcome is cured by asking again.
func (p *person) provide(ctx context.Context, key string, amount int64) bool {
	body := fmt.Sprintf(`{"did":%q,"amount":%d,"key":%q}`, p.actor.DID, amount, key)
	header := http.Header{"Authorization": {"Bearer " + creditsSecret}, "Content-Type": {"application/json"}}
	told := Refused
	for try := 0; try < 20 && ctx.Err() == nil && told != Acknowledged; try++ {
		_, now, err := p.crowd.world.ask(ctx, try, http.MethodPost, "/credits/grants", header, strings.NewReader(body))
		p.crowd.told("operator", "grant "+key, now, err)
		if now != Refused {
			told = now
		}
		if now != Acknowledged {
			pause(ctx, 300*time.Millisecond)
		}
	}
	p.crowd.book.write(func(e *Evidence) { e.Grants = append(e.Grants, Grant{p.actor.DID, amount, told}) })
	return told == Acknowledged
}
