// Package credits makes turns cost something.
//
// It promises that a user without credits gets a 402 that names the outstanding
// claims, on every route but those that are needed to change that; that a turn
// sets an estimate aside before it begins and pays what it really used when it
// ended; that accounts are exact and never negative, whatever happens at once
// or twice; that what a dead node held comes back. It is off unless an operator
// switches it on.
//
// Decision: ADR 0056.
package credits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Config is filled from the environment.
type Config struct {
	Minimum  int           `env:"CREDITS_MINIMUM" default:"10" min:"1" max:"1000000" doc:"Least credits with which somebody is served."`
	Low      int           `env:"CREDITS_LOW" default:"200" min:"0" max:"1000000000" doc:"Credits below which webhooks are told that somebody has few left."`
	Estimate int           `env:"CREDITS_ESTIMATE" default:"50" min:"1" max:"1000000" doc:"Credits that a turn sets aside before it begins."`
	HoldFor  time.Duration `env:"CREDITS_HOLD" default:"15m" doc:"How long they stay aside when the turn never ends."`
	Markup   int           `env:"CREDITS_MARKUP" default:"160" min:"100" max:"10000" doc:"Price in per cent of the model's cost; 1,000 credits are one US dollar."`
	Fallback int           `env:"CREDITS_MICROS_PER_MILLION" default:"750000" min:"0" max:"1000000000" doc:"Cost of a million tokens, in millionths of a US dollar, where the model tells none."`
	Welcome  int           `env:"CREDITS_WELCOME" default:"0" min:"0" max:"1000000" doc:"Credits that somebody gets once who never had any."`
	Secret   string        `env:"CREDITS_SECRET" secret:"true" doc:"Bearer with which operators grant credits; without it nobody can."`

	Subscriptions   string `env:"SUBSCRIPTION_URL" machine:"true" doc:"Subscription service whose totals the ledger follows; empty means the ledger alone."`
	SubscriptionDID string `env:"SUBSCRIPTION_DID" machine:"true" doc:"DID of that service; empty means did:web of its host."`
}

// cacheFor is how long a node believes that a user has credits. The hold at
// the start of a turn does not ask the cache.
const (
	cacheFor = 5 * time.Second
	cacheMax = 10_000
)

// Plugin is the credits plugin.
type Plugin struct {
	cfg    Config
	ledger *Ledger
	source Source

	mu   sync.Mutex
	good map[string]time.Time // users who had credits, until when that counts
}

// New makes the plugin. Its settings are those of cfg until they are filled.
func New(cfg Config) *Plugin { return &Plugin{cfg: cfg, good: map[string]time.Time{}} }

var (
	_ plugin.Configurer          = (*Plugin)(nil)
	_ plugin.Starter             = (*Plugin)(nil)
	_ plugin.Gate                = (*Plugin)(nil)
	_ plugin.TurnObserver        = (*Plugin)(nil)
	_ plugin.TurnAbandoner       = (*Plugin)(nil)
	_ plugin.StateProvider       = (*Plugin)(nil)
	_ plugin.JobProvider         = (*Plugin)(nil)
	_ plugin.PublicRouteProvider = (*Plugin)(nil)
	_ pluginhttp.RouteProvider   = (*Plugin)(nil)
)

// Describe names the plugin.
func (*Plugin) Describe() plugin.Description {
	return plugin.Description{
		Name: "credits", Version: "1.0.0", OptIn: true,
		Manifest: plugin.Manifest{Title: "Credits", Summary: "Accounts for what turns use.", Visibility: plugin.Silent},
	}
}

// Config hands out the settings to fill.
func (p *Plugin) Config() any { return &p.cfg }

// Start opens the ledger and chooses the source of subscriptions.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.ledger, p.source = NewLedger(host.Store).TellBelow(int64(p.cfg.Low), int64(p.cfg.Minimum)), local{}
	if p.cfg.Subscriptions != "" {
		remote, err := newService(p.cfg.Subscriptions, p.cfg.SubscriptionDID)
		if err != nil {
			return fmt.Errorf("SUBSCRIPTION_URL: %w", err)
		}
		p.source = remote
	}
	return nil
}

// SharedState offers the claims to whoever collects them.
func (p *Plugin) SharedState() map[string]plugin.StateFunc {
	return map[string]plugin.StateFunc{
		plugin.ClaimLedgerKey: func(context.Context, *plugin.Runtime) (any, error) { return p.ledger, nil },
	}
}

// Jobs brings back what dead nodes held.
func (p *Plugin) Jobs() []plugin.Job {
	return []plugin.Job{{Name: "release", Every: time.Minute, Run: func(ctx context.Context) error {
		return p.ledger.Sweep(ctx)
	}}}
}

// open are the routes that also somebody without credits needs: to see what is
// owed, to change that, and to take back what was granted. A list of models costs
// nothing, and programs ask for it before they show anything.
var open = []string{"/delegation", "/credits", "/user-preferences", "/claims", "/v1/models"}

// Gate refuses users without credits.
func (p *Plugin) Gate(ctx context.Context, g plugin.GateRequest) error {
	for _, path := range open {
		if g.Pattern == path || strings.HasPrefix(g.Pattern, path+"/") {
			return nil
		}
	}
	if p.known(g.UserDID) {
		return nil
	}
	account, claims, err := p.account(ctx, g.Runtime)
	if err != nil {
		return err
	}
	if account.Available+account.Held < int64(p.cfg.Minimum) {
		p.doubt(g.UserDID)
		if g.Method == http.MethodGet && account.Spent > 0 {
			return nil // they are used up: what was said for them stays readable
		}
		return p.short(account, claims)
	}
	p.remember(g.UserDID)
	return nil
}

// account reads an account as the source of subscriptions has it, and gives a
// new user the welcome. An *Error refuses the user.
func (p *Plugin) account(ctx context.Context, rt *plugin.Runtime) (Account, []Claim, error) {
	did := rt.User.DID
	sub, follows, err := p.source.Subscription(ctx, rt)
	known, claims, _, readErr := p.ledger.read(ctx, did, 0)
	account := known.Account
	switch {
	case readErr != nil:
		return account, claims, readErr
	case errors.Is(err, plugin.ErrNoDelegation):
		return account, claims, plugin.Errorf(http.StatusUnauthorized, textNoGrant)
	case err != nil:
		rt.Log.Warn("a subscription could not be looked up", slog.String("event", "subscription.lookup_failed"), slog.Any("error", err))
		return account, claims, refusal(textFailed, claims)
	case sub.Status == "":
		return account, claims, refusal(textNone, claims)
	case !sub.good():
		return account, claims, refusal(textInactive, claims)
	}
	if follows && sub.Asked.UnixMilli() > known.Followed {
		if account, err = p.ledger.Follow(ctx, did, sub.Total, sub.Asked); err != nil {
			return account, claims, err
		}
	}
	if account.Granted == 0 && p.cfg.Welcome > 0 {
		account, err = p.ledger.Grant(ctx, did, int64(p.cfg.Welcome), "welcome", "welcome")
	}
	return account, claims, err
}

// doubt asks the source of subscriptions again soon.
func (p *Plugin) doubt(did string) {
	if s, ok := p.source.(*service); ok {
		s.doubt(did)
	}
}

// short is the refusal of somebody with too few credits. It says how many are
// there, and how many of them turns that go on have set aside.
func (p *Plugin) short(has Account, claims []Claim) error {
	e := refusal(fmt.Sprintf("User has less than %d credits, please top up to continue", p.cfg.Minimum), claims)
	e.Fields["balance"], e.Fields["held"] = has.Available+has.Held, has.Held
	return e
}

// refusal is the payment-required error: the client reads claims after a POST
// and outstandingClaims after a GET.
func refusal(text string, claims []Claim) *plugin.Error {
	ids := make([]string, len(claims))
	for i, c := range claims {
		ids[i] = c.ID
	}
	e := plugin.Errorf(http.StatusPaymentRequired, "%s", text)
	e.Fields = map[string]any{"claims": ids, "outstandingClaims": ids}
	return e
}

func (p *Plugin) known(did string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.good[did])
}

func (p *Plugin) remember(did string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.good) >= cacheMax {
		clear(p.good)
	}
	p.good[did] = time.Now().Add(cacheFor)
}

func (p *Plugin) forget(did string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.good, did)
}

// TurnStarts sets an estimate aside, under the name of the run. A ledger that
// does not answer refuses the turn, since nobody could say who pays for it.
func (p *Plugin) TurnStarts(ctx context.Context, rt *plugin.Runtime) error {
	did := rt.User.DID
	if _, _, err := p.account(ctx, rt); err != nil {
		if _, refused := errors.AsType[*plugin.Error](err); refused {
			return err
		}
		return unavailable(err)
	}
	least := int64(p.cfg.Minimum)
	_, err := p.ledger.Hold(ctx, did, rt.Session.RunID, least, max(least, int64(p.cfg.Estimate)),
		cmp.Or(p.cfg.HoldFor, 15*time.Minute))
	if errors.Is(err, ErrShort) {
		p.forget(did)
		p.doubt(did)
		account, claims, _, err := p.ledger.Read(ctx, did, 0)
		if err != nil {
			return unavailable(err)
		}
		return p.short(account, claims)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// TurnAbandoned gives back what a turn set aside that never began.
func (p *Plugin) TurnAbandoned(ctx context.Context, rt *plugin.Runtime) error {
	return p.ledger.Release(ctx, rt.User.DID, rt.Session.RunID)
}

func unavailable(err error) error {
	return &plugin.Error{Status: http.StatusServiceUnavailable, Message: "Your credits could not be checked. Please try again.", Cause: err}
}

// TurnEnded pays what the turn used.
func (p *Plugin) TurnEnded(ctx context.Context, rt *plugin.Runtime, result plugin.TurnResult) error {
	defer p.forget(rt.User.DID)
	_, err := p.ledger.Settle(ctx, rt.User.DID, result.RunID, result.RunID, p.price(result.Usage),
		cmp.Or(result.Model, "model"))
	return err
}

// price is what use costs, in whole credits, rounded up.
func (p *Plugin) price(u plugin.Usage) int64 {
	const million = 1_000_000
	micros := max(u.CostMicros, 0)
	if micros == 0 {
		tokens := min(max(u.InputTokens, 0)+max(u.OutputTokens, 0), million*million/1000)
		micros = (tokens*int64(p.cfg.Fallback) + million - 1) / million
	}
	const perCredit = 1000 * 100 // 1,000 micros are a credit; the markup is in per cent
	return min((min(micros, million*million)*int64(p.cfg.Markup)+perCredit-1)/perCredit, MaxAmount)
}

// Standing is the reply of /credits.
type Standing struct {
	Account
	Claims []Claim `json:"claims"`
	Recent []Entry `json:"recent"`
}

// Grant is what an operator sends.
type Grant struct {
	DID    string `json:"did"`
	Amount int64  `json:"amount"`
	// Key names the grant: sent twice, it counts once.
	Key  string `json:"key"`
	Note string `json:"note,omitempty"`
}

// PublicRoutes names the operators' route: it checks a secret of its own.
func (*Plugin) PublicRoutes() []plugin.RoutePattern {
	return []plugin.RoutePattern{{Method: http.MethodPost, Path: "/credits/grants"}}
}

// Routes are /credits.
func (p *Plugin) Routes() []pluginhttp.Route {
	return []pluginhttp.Route{
		{
			Method: http.MethodGet, Pattern: "/credits", Summary: "Your credits", Doc: "The account, what is owed, and what happened last.",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Standing{}}},
			Handler: func(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
				if _, _, err := p.account(r.Context(), rt); err != nil {
					if _, refused := errors.AsType[*plugin.Error](err); !refused {
						return err
					}
				}
				account, claims, last, err := p.ledger.Read(r.Context(), rt.User.DID, 20)
				if err != nil {
					return err
				}
				return pluginhttp.WriteJSON(w, http.StatusOK, Standing{account, claims, last})
			},
		},
		{
			Method: http.MethodPost, Pattern: "/credits/grants", Summary: "Grant credits (operators)",
			Doc:  "Needs Authorization: Bearer with CREDITS_SECRET. The same key counts once; with another amount it is refused.",
			Body: Grant{}, Replies: []pluginhttp.Reply{
				{Status: http.StatusOK, Body: Account{}},
				{Status: http.StatusUnauthorized, Doc: "Not an operator."},
				{Status: http.StatusConflict, Doc: "The key was used for a grant of another amount."},
			},
			Handler: p.grant,
		},
	}
}

func (p *Plugin) grant(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
	if err := pluginhttp.CheckBearer(r, p.cfg.Secret, "Only operators grant credits"); err != nil {
		return err
	}
	var in Grant
	if err := pluginhttp.ReadJSON(r, &in); err != nil {
		return err
	}
	if !strings.HasPrefix(in.DID, "did:") || len(in.DID) > 2048 || in.Key == "" || len(in.Key) > 200 ||
		len(in.Note) > 200 {
		return plugin.Errorf(http.StatusBadRequest, "a grant needs a did, a key of at most 200 bytes and a note of at most 200 bytes")
	}
	account, err := p.ledger.Grant(r.Context(), in.DID, in.Amount, "operator "+in.Key, in.Note)
	if errors.Is(err, errBounds) {
		return plugin.Errorf(http.StatusBadRequest, "amount must be from 1 to %d", int64(MaxAmount))
	}
	if errors.Is(err, ErrReused) {
		return plugin.Errorf(http.StatusConflict, "key %q was used for a grant of another amount to this account; a new grant needs a new key", in.Key)
	}
	if err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, account)
}
