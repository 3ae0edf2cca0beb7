package credits

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Subscription is what a source says of a user.
type Subscription struct {
	// Status is active or trial for whoever may be served; empty when there is none.
	Status string
	// Total is what the user has there, in credits.
	Total int64
	// Asked is when the source was asked.
	Asked time.Time
}

// Source says who has a subscription. An error means that it cannot be told.
type Source interface {
	// Subscription looks a user up. follows says that the ledger should follow
	// the subscription's total; without it the ledger alone knows.
	Subscription(ctx context.Context, rt *plugin.Runtime) (s Subscription, follows bool, err error)
}

// local is the source of deployments without a subscription service: everybody
// may be served who has credits in the ledger.
type local struct{}

// Subscription is always active.
func (local) Subscription(context.Context, *plugin.Runtime) (Subscription, bool, error) {
	return Subscription{Status: "active"}, false, nil
}

// The refusals of users whose subscription does not hold.
const (
	textNone     = "No subscription found, please subscribe to continue"
	textInactive = "User has inactive subscription, please subscribe to continue"
	textFailed   = "Subscription validation failed"
	textNoGrant  = "Missing UCAN delegation; cannot verify subscription"
)

// service asks a subscription service over HTTP, with an invocation of the
// oracle's own that has the user's delegation as proof. What it said is believed
// for a while, longer when the service does not answer.
type service struct {
	remote   *pluginhttp.Remote
	audience string

	mu   sync.Mutex
	last map[string]said
}

type said struct {
	Subscription
	at time.Time
}

const (
	believed = 3 * time.Minute
	// stale answers are used while the service is away.
	stale = 15 * time.Minute
	// impatient is how soon somebody who was refused is looked up again.
	impatient = 5 * time.Second
)

// newService makes the HTTP source. audience is the service's DID; empty means
// the did:web of its host.
func newService(address, audience string) (*service, error) {
	remote, err := pluginhttp.NewRemote(address, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	if audience == "" {
		audience = "did:web:" + strings.ReplaceAll(remote.Host(), ":", "%3A")
	}
	return &service{remote: remote, audience: audience, last: map[string]said{}}, nil
}

// Subscription looks a user up, in memory first.
func (s *service) Subscription(ctx context.Context, rt *plugin.Runtime) (Subscription, bool, error) {
	did := rt.User.DID
	s.mu.Lock()
	known, ok := s.last[did]
	s.mu.Unlock()
	age := time.Since(known.at)
	if ok && (age < impatient || age < believed && known.good()) {
		return known.Subscription, true, nil
	}
	fresh, err := s.ask(ctx, rt)
	if err != nil {
		if ok && age < stale && known.good() {
			rt.Log.Warn("the subscription service does not answer; its last word counts", slog.String("event", "subscription.away"), slog.Any("error", err))
			return known.Subscription, true, nil
		}
		return Subscription{}, true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= cacheMax {
		clear(s.last)
	}
	s.last[did] = said{fresh, time.Now()}
	return fresh, true, nil
}

func (s Subscription) good() bool { return s.Status == "active" || s.Status == "trial" }

// doubt makes the next look-up of a user a fresh one, after a short while.
func (s *service) doubt(did string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.last[did]; ok && time.Since(known.at) > impatient {
		delete(s.last, did)
	}
}

func (s *service) ask(ctx context.Context, rt *plugin.Runtime) (Subscription, error) {
	token, err := rt.Authority.Invoke(ctx, s.audience, plugin.Capability{Can: "subscriptions/read", With: "ixo:subscriptions"}, 5*time.Minute)
	if err != nil {
		return Subscription{}, err
	}
	var body struct {
		Status       string
		TotalCredits float64
	}
	asked := time.Now()
	err = s.remote.Do(ctx, pluginhttp.Call{
		Method: http.MethodGet, Path: []string{"api", "v1", "subscriptions"},
		Header: http.Header{"Authorization": {"Bearer " + token}, "X-Auth-Type": {"ucan"}},
	}, &body)
	if e, ok := errors.AsType[*pluginhttp.StatusError](err); ok && e.Status == http.StatusNotFound {
		return Subscription{}, nil
	}
	if err != nil {
		return Subscription{}, err
	}
	if math.IsNaN(body.TotalCredits) || body.TotalCredits < 0 {
		body.TotalCredits = 0
	}
	return Subscription{
		Status: strings.ToLower(body.Status), Total: int64(min(body.TotalCredits, MaxAmount)), Asked: asked,
	}, nil
}
