package callrtc

import (
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// knocksPerMinute is how many addresses the pages of one person may name in a minute, in all
// calls on this node. A page has some twenty. The library knocks at each several times,
// whoever is there: without a bound a few offers make a flood for a stranger.
const knocksPerMinute = 512

func newKnocks() *ratelimit.Limiter {
	return ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: "call_addresses", PerMinute: knocksPerMinute})
}

// mayKnock counts addresses that the page names.
func (p *peer) mayKnock(addresses int) error {
	key := ratelimit.KeyOf(p.spec.Owner)
	for range addresses { // as many as an offer may have
		if ok, _ := p.e.knocks.Allow(key); !ok {
			return errCandidates
		}
	}
	return nil
}
