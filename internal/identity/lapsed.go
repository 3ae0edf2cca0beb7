package identity

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// errBeganNothing is the refusal of an expired token that has nothing to finish.
var errBeganNothing = errors.New("the token began nothing of this")

// Began reports whether what is asked for was begun by issuer under the
// invocation of that name. Neither has been verified when it is asked.
type Began func(ctx context.Context, issuer, token string) (bool, error)

// AuthenticateLapsed is Authenticate on the oracle's surface for an invocation
// that has expired and asks for what it began: whoever was let in may hear the
// answer to its end. That the invocation held then is known because something was
// begun with it; all but the time is checked again, revocations and the Door too.
func (s *Service) AuthenticateLapsed(ctx context.Context, c Credentials, began Began) (Principal, error) {
	if c.Bearer == "" || !strings.EqualFold(c.AuthType, "ucan") {
		return Principal{}, fault.New(fault.Unauthenticated, TextMissing)
	}
	if err := s.current(ctx); err != nil {
		return Principal{}, err
	}
	from := c.From
	if _, good := s.past.Get(cacheKey(byte(Oracle), c.Bearer), s.now()); good {
		from = netip.Addr{} // as for tokens that have not expired: see once
	}
	turn, err := s.gate.Enter(ctx, from)
	if err != nil {
		return Principal{}, err
	}
	defer turn.Leave()
	token, err := ucan.Parse(c.Bearer)
	if err != nil {
		return Principal{}, refusal(Oracle, err)
	}
	turn.Pause()
	ours, err := began(ctx, s.PersonOf(string(token.Leaf.Issuer)), token.CID())
	turn.Resume()
	if err != nil {
		return Principal{}, err
	}
	if !ours {
		return Principal{}, fault.Wrap(fault.Unauthenticated, TextInvalid, errBeganNothing).WithCode(string(ucan.Expired))
	}
	limited, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	q := s.oracleQuery(limited, &lookups{Resolver: s.resolver, turn: turn})
	q.Lapsed = true
	r, err := ucan.Verify(token, q)
	if err != nil {
		return Principal{}, refusal(Oracle, err)
	}
	return s.enter(ctx, Oracle, principalOf(token, r))
}
