package claims

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

func put(ctx context.Context, tx plugin.Tx, rec record, ttl time.Duration) error {
	value, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return tx.Put(ctx, key(rec.DID, rec.ID), value, ttl)
}

// Standing is a claim as its user sees it.
type Standing struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
	// Owed is what is still to be paid.
	Owed        int64  `json:"owed"`
	State       State  `json:"state"`
	At          string `json:"at,omitempty"`
	SubmittedAt string `json:"submittedAt,omitempty"`
	SettledAt   string `json:"settledAt,omitempty"`
}

// List is the reply of GET /claims.
type List struct {
	Claims []Standing `json:"claims"`
	Owed   int64      `json:"owed"`
}

// Dead is a claim that was put aside.
type Dead struct {
	ID string `json:"id"`
	// Queue says what could not be done: submit or settle.
	Queue    string `json:"queue"`
	DID      string `json:"did"`
	Amount   int64  `json:"amount"`
	Attempts int    `json:"attempts"`
	Reason   string `json:"reason"`
	At       string `json:"at"`
}

// DeadList is the reply of GET /claims/cron/dead.
type DeadList struct {
	Dead []Dead `json:"dead"`
}

// Requeued is the reply of POST /claims/cron/dead/{id}.
type Requeued struct {
	Requeued bool `json:"requeued"`
}

const maxListed = 200

// PublicRoutes names the routes that check CRON_SECRET.
func (*Plugin) PublicRoutes() []plugin.RoutePattern {
	return []plugin.RoutePattern{{Path: "/claims/cron/*"}}
}

// Routes are /claims.
func (p *Plugin) Routes() []pluginhttp.Route {
	refused := pluginhttp.Reply{Status: http.StatusUnauthorized, Doc: "Not the scheduler."}
	cron := func(batch func(context.Context) (Report, error)) func(http.ResponseWriter, *http.Request,
		*plugin.Runtime) error {
		return p.guarded(func(w http.ResponseWriter, r *http.Request) error {
			report, err := batch(r.Context())
			if err != nil {
				return err
			}
			return pluginhttp.WriteJSON(w, http.StatusOK, report)
		})
	}
	const how = " Needs Authorization: Bearer with CRON_SECRET. Safe to call twice, and from several schedulers at once."
	return []pluginhttp.Route{
		{
			Method: http.MethodGet, Pattern: "/claims", Summary: "Your claims", Doc: "What you owe, and what became of earlier claims.",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: List{}}}, Handler: p.list,
		},
		{
			Method: http.MethodPost, Pattern: "/claims/cron/submit", Summary: "Submit outstanding claims (scheduler)",
			Doc: "Finds new claims and submits one batch." + how, Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Report{}}, refused},
			Handler: cron(p.submitBatch),
		},
		{
			Method: http.MethodPost, Pattern: "/claims/cron/settle", Summary: "Settle submitted claims (scheduler)",
			Doc: "Asks about one batch of submitted claims and books payments." + how, Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Report{}}, refused},
			Handler: cron(p.settleBatch),
		},
		{
			Method: http.MethodGet, Pattern: "/claims/cron/dead", Summary: "Claims that were put aside (operators)",
			Doc: "The first 200. Needs Authorization: Bearer with CRON_SECRET.", Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: DeadList{}}, refused},
			Handler: p.guarded(p.dead),
		},
		{
			Method: http.MethodPost, Pattern: "/claims/cron/dead/{id}", Summary: "Try a claim again (operators)",
			Doc:    "Gives a claim that was put aside all its tries again. Needs Authorization: Bearer with CRON_SECRET.",
			Params: []pluginhttp.Param{{Name: "id", In: "path", Required: true, Schema: "", Doc: "The claim."}},
			Replies: []pluginhttp.Reply{
				{Status: http.StatusOK, Body: Requeued{}},
				refused,
				{Status: http.StatusNotFound, Doc: "It was not put aside."},
			},
			Handler: p.guarded(p.requeue),
		},
	}
}

// guarded serves whoever knows CRON_SECRET.
func (p *Plugin) guarded(next func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request,
	*plugin.Runtime) error {
	return func(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
		if err := pluginhttp.CheckBearer(r, p.cfg.Secret, "Only the scheduler works on claims"); err != nil {
			return err
		}
		return next(w, r)
	}
}

func (p *Plugin) list(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	ctx, did := r.Context(), rt.User.DID
	ledger, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	owing, err := ledger.OutstandingOf(ctx, did)
	if err != nil {
		return err
	}
	kept, err := p.store.Scan(ctx, plugin.Range{Prefix: key(did, ""), Limit: maxListed})
	if err != nil {
		return err
	}
	out := List{Claims: []Standing{}}
	left := map[string]int64{}
	for _, c := range owing {
		left[c.ID] = c.Amount
		out.Owed += c.Amount
	}
	for _, e := range kept {
		var rec record
		if err := json.Unmarshal(e.Value, &rec); err != nil {
			return fmt.Errorf("decode claim: %w", err)
		}
		out.Claims = append(out.Claims, Standing{
			ID: rec.ID, Amount: rec.Amount, Owed: left[rec.ID], State: rec.State, At: rec.At, SubmittedAt: rec.SubmittedAt,
			SettledAt: rec.SettledAt,
		})
		delete(left, rec.ID)
	}
	for _, c := range owing {
		if _, fresh := left[c.ID]; fresh && len(out.Claims) < maxListed {
			out.Claims = append(out.Claims, Standing{
				ID: c.ID, Amount: c.Amount, Owed: c.Amount, State: Outstanding, At: stamp(c.At),
			})
		}
	}
	slices.SortStableFunc(out.Claims, func(a, b Standing) int { return strings.Compare(a.At, b.At) })
	return pluginhttp.WriteJSON(w, http.StatusOK, out)
}

func (p *Plugin) queues() map[string]*pluginqueue.Queue {
	return map[string]*pluginqueue.Queue{"submit": p.submit, "settle": p.settle}
}

func (p *Plugin) dead(w http.ResponseWriter, r *http.Request) error {
	page, _, err := p.PutAside(r.Context(), "", maxListed)
	if err != nil {
		return err
	}
	out := DeadList{Dead: make([]Dead, len(page))}
	for i, c := range page {
		out.Dead[i] = Dead{
			ID: c.ID, Queue: c.Step, DID: c.DID, Amount: c.Amount, Attempts: c.Attempts, Reason: c.Reason, At: c.FailedAt,
		}
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, out)
}

func (p *Plugin) requeue(w http.ResponseWriter, r *http.Request) error {
	again, err := p.TryAgain(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !again {
		return plugin.Errorf(http.StatusNotFound, "This claim was not put aside")
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, Requeued{true})
}
