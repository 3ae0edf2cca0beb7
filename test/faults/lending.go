//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	mrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// lender lets guests read a file and takes it back: a delegation that is revoked, or a
// registered link, good for a few readings, that is ended.
type lender struct {
	*crowd
	who   *person
	ready bool
	n     int
}

// loan is a permission with all that is needed to use it and to take it back.
type loan struct {
	Loan
	guest *person
	token *ucan.Token
	id    string // of a link
}

func (l *lender) name() string { return "lender" }

const (
	lentPath = "/lent"
	linkUses = 3
	// notice is how long after its withdrawal a permission may still be good.
	notice = time.Second
)

func (l *lender) step(ctx context.Context) bool {
	if !l.ready {
		data, id := content(someSize())
		_, told, _ := l.repeat(ctx, l.name(), "PUT "+lentPath+" "+id, func(node int) (reply, Told, error) {
			return l.world.ask(ctx, node, http.MethodPut, contentPath(lentPath), l.who.files(), bytes.NewReader(data))
		})
		l.ready = told == Acknowledged
		return l.ready
	}
	l.n++
	one := l.lend(ctx)
	if one == nil {
		return false
	}
	for range 2 {
		one.Uses = append(one.Uses, one.use(ctx, l, Lent, mrand.IntN(fleetSize))...)
	}
	if one.Back = l.takeBack(ctx, one); one.Back == Acknowledged {
		wait(ctx, notice)
		// At once: one that wakes is asked before it knows.
		one.Uses = append(one.Uses, one.use(ctx, l, TakenBack, 0, 1, 2)...)
	}
	l.book.write(func(*Evidence) { l.book.lent = append(l.book.lent, one) })
	return one.Back == Acknowledged
}

// lend gives a new guest a permission. It returns nil when that failed.
func (l *lender) lend(ctx context.Context) *loan {
	guest := newPerson(l.crowd, fmt.Sprintf("%s guest %d", l.who.actor.DID, l.n))
	token := l.who.sign(did.DID(guest.actor.DID), ucan.NewCapability("fs/read", l.who.actor.Home(lentPath), ipld.Node{}))
	one := &loan{Loan: Loan{Name: token.CID()}, guest: guest, token: token}
	// A minute has sixty refused tokens for everybody at this address, of the
	// whole fleet; what an ended link gets is not counted.
	if l.n%4 == 0 {
		return one
	}
	one.Most = linkUses
	body, err := json.Marshal(map[string]any{"delegation": token.Encode(), "path": lentPath, "maxUses": linkUses})
	if err != nil {
		panic(err) // texts and a number
	}
	header := l.who.files()
	header.Set("Content-Type", "application/json")
	r, told, err := l.world.ask(ctx, mrand.IntN(fleetSize), http.MethodPost, "/api/fs/shares", header, bytes.NewReader(body))
	l.told(l.name(), "registers "+one.Name, told, err)
	var made struct{ ID string }
	if told != Acknowledged || json.Unmarshal(r.body, &made) != nil {
		return nil
	}
	one.id = made.ID
	return one
}

// use lets the guest read at some nodes.
func (o *loan) use(ctx context.Context, l *lender, when Phase, nodes ...int) []Use {
	header := credentials(o.guest.sign(l.aud, ucan.NewCapability("fs/read", l.who.actor.Home(lentPath), ipld.Node{}),
		o.token).Encode())
	uses := make([]Use, len(nodes))
	var going sync.WaitGroup
	for i, node := range nodes {
		going.Go(func() {
			r, told, err := l.world.ask(ctx, node, http.MethodGet, "/api/fs/content?path="+lentPath, header, http.NoBody)
			l.told("guest", fmt.Sprintf("reads by %s at node %d, %s", o.Name, node%len(l.world.nodes), when), told, err)
			uses[i] = Use{When: when, Told: told, Status: r.status}
		})
	}
	going.Wait()
	return uses
}

// takeBack ends a link, or revokes a delegation: that may be done again.
func (l *lender) takeBack(ctx context.Context, o *loan) Told {
	if o.id != "" {
		_, told, err := l.world.ask(ctx, mrand.IntN(fleetSize), http.MethodDelete, "/api/fs/shares/"+o.id, l.who.files(), http.NoBody)
		l.told(l.name(), "ends "+o.Name, told, err)
		return told
	}
	revocation := l.who.sign(l.aud, ucan.NewRevocation(did.DID(l.who.actor.DID), o.token), o.token)
	body, err := json.Marshal(map[string]string{"revocation": revocation.Encode()})
	if err != nil {
		panic(err) // a map of texts
	}
	header := http.Header{"Content-Type": {"application/json"}}
	_, told, _ := l.repeat(ctx, l.name(), "revokes "+o.Name, func(node int) (reply, Told, error) {
		return l.world.ask(ctx, node, http.MethodPost, "/api/revocations", header, bytes.NewReader(body))
	})
	return told
}

// loans tries every permission once more, now that everything is healed, and
// reads how often links were used as their owner is shown.
func (f *finder) loans(l *lender) {
	var list struct {
		Shares []struct {
			ID   string
			Uses int
		}
	}
	if !f.json("/api/fs/shares?limit=200", l.who.files(), &list) {
		return
	}
	counted := map[string]int{}
	for _, s := range list.Shares {
		counted[s.ID] = s.Uses
	}
	for _, one := range l.book.lent {
		found := one.Loan
		found.Counted = counted[one.id]
		f.node++
		found.Uses = append(slices.Clone(found.Uses), one.use(f.ctx, l, Healed, f.node)...)
		f.e.Loans = append(f.e.Loans, found)
	}
}
