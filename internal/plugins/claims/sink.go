package claims

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

// Claim is a claim as a registry sees it.
type Claim struct {
	// ID is the same for the same use: submitting it twice is submitting it once.
	ID     string `json:"id"`
	DID    string `json:"did"`
	Amount int64  `json:"amount"`
	At     string `json:"at,omitempty"`
}

func (r record) claim() Claim { return Claim{ID: r.ID, DID: r.DID, Amount: r.Amount, At: r.At} }

// Payment is what a registry says about a claim.
type Payment string

// The answers of a registry.
const (
	Pending  Payment = "pending"
	Paid     Payment = "paid"
	Rejected Payment = "rejected"
)

// Status is how a claim stands at a registry.
type Status struct {
	State Payment `json:"status"`
	// Amount is what was paid; zero means what was claimed.
	Amount int64 `json:"amount,omitempty"`
}

// Sink is where claims are submitted. Every method may be called again with the
// same claim. Errors are tried again, except pluginqueue.Hopeless.
type Sink interface {
	Submit(ctx context.Context, c Claim) error
	Status(ctx context.Context, id string) (Status, error)
	// Withdraw tells that a claim was paid here.
	Withdraw(ctx context.Context, id string) error
}

// local is the sink of deployments without a registry. Claims are the ledger's
// alone, and are settled when the user's next credits pay them.
type local struct{}

// Submit does nothing: the claim is kept here.
func (local) Submit(context.Context, Claim) error { return nil }

// Status is always pending.
func (local) Status(context.Context, string) (Status, error) { return Status{State: Pending}, nil }

// Withdraw does nothing.
func (local) Withdraw(context.Context, string) error { return nil }

// registry is a sink over HTTP: POST /, GET /{id}, DELETE /{id} below its address.
type registry struct{ remote *pluginhttp.Remote }

func newRegistry(address, token string) (registry, error) {
	header := http.Header{"Accept": {"application/json"}}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	remote, err := pluginhttp.NewRemote(address, header)
	return registry{remote}, err
}

// Submit posts the claim. A conflict means that it is known.
func (r registry) Submit(ctx context.Context, c Claim) error {
	err := r.remote.Do(ctx, pluginhttp.Call{Method: http.MethodPost, Header: http.Header{"Idempotency-Key": {c.ID}}, In: c}, nil)
	return judged(err, http.StatusConflict)
}

// Status asks about the claim.
func (r registry) Status(ctx context.Context, id string) (Status, error) {
	var s Status
	if err := r.remote.Do(ctx, pluginhttp.Call{Method: http.MethodGet, Path: []string{id}}, &s); err != nil {
		return s, judged(err)
	}
	if s.Amount < 0 {
		return s, fmt.Errorf("the registry says an amount of %d", s.Amount)
	}
	switch s.State {
	case Pending, Paid, Rejected:
		return s, nil
	}
	return s, errors.New("the registry says a status that is none of pending, paid and rejected")
}

// Withdraw deletes the claim. One that is not there is fine.
func (r registry) Withdraw(ctx context.Context, id string) error {
	err := r.remote.Do(ctx, pluginhttp.Call{Method: http.MethodDelete, Path: []string{id}}, nil)
	return judged(err, http.StatusNotFound, http.StatusGone)
}

// judged says what to do about an answer: nothing when its status is fine, wait
// when the registry asks for it, give up when it will never take this.
func judged(err error, fine ...int) error {
	e, ok := errors.AsType[*pluginhttp.StatusError](err)
	if !ok {
		return err
	}
	if slices.Contains(fine, e.Status) {
		return nil
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity,
		http.StatusRequestEntityTooLarge:
		return pluginqueue.Hopeless(err)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if e.RetryAfter > 0 {
			return pluginqueue.Later(e.RetryAfter)
		}
	}
	return err
}

var (
	_ Sink = local{}
	_ Sink = registry{}
)

// settled keeps the end of a claim for a while.
func (*Plugin) settled(ctx context.Context, tx plugin.Tx, rec record) error {
	rec.State, rec.SettledAt = Settled, stamp(tx.Now())
	return put(ctx, tx, rec, remember)
}
