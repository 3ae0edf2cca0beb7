// Package claims collects what users owe.
//
// Use that nobody could pay becomes a claim in the ledger of the credits plugin.
// This plugin submits claims to a registry, asks later whether they were paid,
// and books the payment. It promises that a claim has one id for ever and is
// submitted under it, however often and from however many schedulers the work is
// started; that a payment is booked once; that what fails is tried again with
// growing pauses and then waits in a list that an operator sees and can requeue.
package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

// Config is filled from the environment.
type Config struct {
	Secret   string        `env:"CRON_SECRET" secret:"true" doc:"Bearer of the cron endpoints; without it only the built-in scheduler works."`
	URL      string        `env:"CLAIMS_URL" machine:"true" doc:"Registry to which claims are submitted; empty keeps them here."`
	Token    string        `env:"CLAIMS_TOKEN" secret:"true" doc:"Bearer with which the registry knows this oracle."`
	Every    time.Duration `env:"CLAIMS_EVERY" default:"1m" doc:"How often the built-in scheduler works on claims."`
	Batch    int           `env:"CLAIMS_BATCH" default:"100" min:"1" max:"1000" doc:"Most claims that one call works on."`
	Attempts int           `env:"CLAIMS_ATTEMPTS" default:"8" min:"1" max:"50" doc:"How often a claim is tried before it is put aside."`
	Backoff  time.Duration `env:"CLAIMS_BACKOFF" default:"30s" doc:"First pause after a failure; it doubles up to an hour."`
	Recheck  time.Duration `env:"CLAIMS_RECHECK" default:"5m" doc:"How often a submitted claim is asked about."`
}

// Plugin is the claims plugin.
type Plugin struct {
	cfg    Config
	store  plugin.Store
	log    *slog.Logger
	ledger func(ctx context.Context) (plugin.ClaimLedger, error)
	sink   Sink
	submit *pluginqueue.Queue
	settle *pluginqueue.Queue
}

// New makes the plugin. Its settings are those of cfg until they are filled.
func New(cfg Config) *Plugin { return &Plugin{cfg: cfg} }

var (
	_ plugin.Configurer          = (*Plugin)(nil)
	_ plugin.Starter             = (*Plugin)(nil)
	_ plugin.JobProvider         = (*Plugin)(nil)
	_ plugin.PublicRouteProvider = (*Plugin)(nil)
	_ pluginhttp.RouteProvider   = (*Plugin)(nil)
)

// Describe names the plugin.
func (*Plugin) Describe() plugin.Description {
	return plugin.Description{
		Name: "claims", Version: "1.0.0", DependsOn: []string{"credits"}, AutoWith: []string{"credits"},
		Manifest: plugin.Manifest{Title: "Claims", Summary: "Collects what users owe.", Visibility: plugin.Silent},
	}
}

// Config hands out the settings to fill.
func (p *Plugin) Config() any { return &p.cfg }

// Start opens the queues and chooses where claims go.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.store, p.log, p.sink = host.Store, host.Log, local{}
	if p.cfg.URL != "" {
		remote, err := newRegistry(p.cfg.URL, p.cfg.Token)
		if err != nil {
			return fmt.Errorf("CLAIMS_URL: %w", err)
		}
		p.sink = remote
	}
	p.ledger = func(ctx context.Context) (plugin.ClaimLedger, error) {
		shared, err := host.Shared(ctx, plugin.ClaimLedgerKey)
		if err != nil {
			return nil, err
		}
		ledger, ok := shared.(plugin.ClaimLedger)
		if !ok {
			return nil, errors.New("the accounting plugin shares no ledger of claims")
		}
		return ledger, nil
	}
	cfg := pluginqueue.Config{
		Lease: time.Minute, Attempts: p.cfg.Attempts, Backoff: cmp.Or(p.cfg.Backoff, 30*time.Second), Remember: remember,
	}
	cfg.Name = "submit"
	p.submit = pluginqueue.New(host.Store, cfg)
	cfg.Name = "settle"
	p.settle = pluginqueue.New(host.Store, cfg)
	return nil
}

// remember is how long a claim that was dealt with is known.
const remember = 400 * 24 * time.Hour

// Jobs is the built-in scheduler.
func (p *Plugin) Jobs() []plugin.Job {
	every := cmp.Or(p.cfg.Every, time.Minute)
	return []plugin.Job{
		{Name: "submit", Every: every, Run: func(ctx context.Context) error { return p.all(ctx, p.submitBatch) }},
		{Name: "settle", Every: every, Run: func(ctx context.Context) error { return p.all(ctx, p.settleBatch) }},
	}
}

// all works on batch after batch until there is nothing left to do now.
func (p *Plugin) all(ctx context.Context, batch func(context.Context) (Report, error)) error {
	for {
		report, err := batch(ctx)
		if err != nil || !report.More {
			return err
		}
	}
}

// State is how far a claim is.
type State string

// The states of a claim.
const (
	Outstanding State = "outstanding" // owed, and not yet submitted
	Submitted   State = "submitted"
	Settled     State = "settled"
)

// record is a claim as it is kept, under c/user/id.
type record struct {
	ID          string `json:"id"`
	DID         string `json:"did"`
	Amount      int64  `json:"amount"`
	State       State  `json:"state"`
	At          string `json:"at,omitempty"`
	SubmittedAt string `json:"submittedAt,omitempty"`
	SettledAt   string `json:"settledAt,omitempty"`
}

func key(did, id string) string { return "c/" + plugin.UserKey(did) + "/" + id }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Report is what one call did.
type Report struct {
	// Found counts claims that were new in the ledger.
	Found int `json:"found"`
	// Done counts claims that were submitted, or settled.
	Done int `json:"done"`
	// Waiting counts claims that are to be asked about again.
	Waiting int `json:"waiting"`
	// Failed counts claims that are tried again later.
	Failed int `json:"failed"`
	// Dead counts claims that were put aside.
	Dead int `json:"dead"`
	// More says that there may be more to do now.
	More bool `json:"more"`
}

func (r *Report) count(o pluginqueue.Outcome) {
	switch o {
	case pluginqueue.Finished:
		r.Done++
	case pluginqueue.Postponed:
		r.Waiting++
	case pluginqueue.Failed:
		r.Failed++
	case pluginqueue.Buried:
		r.Dead++
	case pluginqueue.Lost:
	}
}

// work takes one batch of a queue, a few at a time so that none waits long
// enough to be lost.
func (p *Plugin) work(ctx context.Context, q *pluginqueue.Queue, r *Report,
	fn func(ctx context.Context, it pluginqueue.Item) (pluginqueue.Finish, error),
) error {
	for left := p.batch(); left > 0; {
		items, err := q.Take(ctx, min(left, atATime))
		if err != nil || len(items) == 0 {
			return err
		}
		for _, it := range items {
			outcome, err := q.Handle(ctx, it, func(ctx context.Context, it pluginqueue.Item) (pluginqueue.Finish, error) {
				finish, err := fn(ctx, it)
				if err != nil && !pluginqueue.IsLater(err) {
					p.log.Warn("a claim could not be worked on", slog.String("event", "claim.failed"), slog.String("claim", it.ID),
						slog.Int("attempt", it.Attempt), slog.Any("error", err))
				}
				return finish, err
			})
			if err != nil {
				return err
			}
			r.count(outcome)
		}
		left -= len(items)
		r.More = left == 0
	}
	return nil
}

// atATime is how many claims are taken together.
const atATime = 5

func (p *Plugin) batch() int { return cmp.Or(p.cfg.Batch, 100) }

// submitBatch finds new claims and submits what is due.
func (p *Plugin) submitBatch(ctx context.Context) (Report, error) {
	var r Report
	ledger, err := p.ledger(ctx)
	if err != nil {
		return r, err
	}
	if r.Found, err = p.find(ctx, ledger); err != nil {
		return r, fmt.Errorf("find claims: %w", err)
	}
	err = p.work(ctx, p.submit, &r, func(ctx context.Context, it pluginqueue.Item) (pluginqueue.Finish, error) {
		return p.submitOne(ctx, ledger, it)
	})
	return r, err
}

// find puts claims into the queue that it does not know.
func (p *Plugin) find(ctx context.Context, ledger plugin.ClaimLedger) (int, error) {
	const page = 50
	found, after := 0, ""
	for {
		claims, next, err := ledger.Outstanding(ctx, after, page)
		if err != nil {
			return found, err
		}
		fresh := claims[:0]
		for _, c := range claims {
			known, err := p.submit.Known(ctx, c.ID)
			if err != nil {
				return found, err
			}
			if !known && c.UserDID != "" {
				fresh = append(fresh, c)
			}
		}
		n, err := p.enqueue(ctx, fresh)
		if err != nil {
			return found, err
		}
		if found += n; next == "" {
			return found, nil
		}
		after = next
	}
}

// enqueue adds claims that seem to be new, and counts those that were.
func (p *Plugin) enqueue(ctx context.Context, claims []plugin.Claim) (n int, err error) {
	if len(claims) == 0 {
		return 0, nil
	}
	err = p.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		n = 0
		for _, c := range claims {
			added, err := p.submit.Add(ctx, tx, c.ID, record{ID: c.ID, DID: c.UserDID, Amount: c.Amount, At: stamp(c.At)}, 0)
			if err != nil {
				return err
			}
			if added {
				n++
			}
		}
		return nil
	})
	return n, err
}

// owed returns what is still owed for a claim.
func owed(ctx context.Context, ledger plugin.ClaimLedger, rec record) (int64, error) {
	claims, err := ledger.OutstandingOf(ctx, rec.DID)
	if err != nil {
		return 0, err
	}
	for _, c := range claims {
		if c.ID == rec.ID {
			return c.Amount, nil
		}
	}
	return 0, nil
}

// submitOne submits a claim, unless it was paid in the meantime.
func (p *Plugin) submitOne(ctx context.Context, ledger plugin.ClaimLedger,
	it pluginqueue.Item,
) (pluginqueue.Finish, error) {
	var rec record
	if err := it.Decode(&rec); err != nil {
		return nil, pluginqueue.Hopeless(err)
	}
	amount, err := owed(ctx, ledger, rec)
	if err != nil {
		return nil, err
	}
	if amount == 0 {
		return func(ctx context.Context, tx plugin.Tx) error { return p.settled(ctx, tx, rec) }, nil
	}
	if it.Attempt == 1 { // later it may be known already, under what was owed then
		rec.Amount = amount
	}
	if err := p.submit.Save(ctx, it, rec); err != nil {
		return nil, err
	}
	if err := p.sink.Submit(ctx, rec.claim()); err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx plugin.Tx) error {
		rec.State, rec.SubmittedAt = Submitted, stamp(tx.Now())
		if _, err := p.settle.Add(ctx, tx, rec.ID, rec, 0); err != nil {
			return err
		}
		return put(ctx, tx, rec, 0)
	}, nil
}

// settleBatch asks about claims that were submitted.
func (p *Plugin) settleBatch(ctx context.Context) (Report, error) {
	var r Report
	ledger, err := p.ledger(ctx)
	if err != nil {
		return r, err
	}
	err = p.work(ctx, p.settle, &r, func(ctx context.Context, it pluginqueue.Item) (pluginqueue.Finish, error) {
		return p.settleOne(ctx, ledger, it)
	})
	return r, err
}

// settleOne books a payment, or withdraws a claim that was paid here.
func (p *Plugin) settleOne(ctx context.Context, ledger plugin.ClaimLedger,
	it pluginqueue.Item,
) (pluginqueue.Finish, error) {
	var rec record
	if err := it.Decode(&rec); err != nil {
		return nil, pluginqueue.Hopeless(err)
	}
	done := func(ctx context.Context, tx plugin.Tx) error { return p.settled(ctx, tx, rec) }
	status, err := p.sink.Status(ctx, rec.ID)
	if err != nil {
		return nil, err
	}
	switch status.State {
	case Paid:
		if err := ledger.PayClaim(ctx, rec.DID, rec.ID, cmp.Or(status.Amount, rec.Amount)); err != nil {
			return nil, err
		}
		return done, nil
	case Rejected:
		return nil, pluginqueue.Hopeless(errors.New("the registry rejected the claim"))
	case Pending:
	}
	amount, err := owed(ctx, ledger, rec)
	if err != nil {
		return nil, err
	}
	if amount == 0 {
		if err := p.sink.Withdraw(ctx, rec.ID); err != nil {
			return nil, err
		}
		return done, nil
	}
	return nil, pluginqueue.Later(cmp.Or(p.cfg.Recheck, 5*time.Minute))
}
