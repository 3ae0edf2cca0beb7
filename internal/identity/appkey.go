package identity

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// AppKeyPrefix begins every app key, and no token: those begin with the header of an
// archive or of a JWT.
const AppKeyPrefix = "cak_"

// CodeAppKey is the code of a refusal of an app key where only tokens count.
const CodeAppKey = "app_key_not_taken"

// TextAppKey is what a route that takes no app keys says to one.
const TextAppKey = "App keys do not open this route: it takes a UCAN. They open the faces that other programs use, such as GET /v1/key."

// IsAppKey reports whether a bearer or password claims to be an app key.
func IsAppKey(text string) bool { return strings.HasPrefix(text, AppKeyPrefix) }

// errAppKey refuses an app key at a route of tokens, whatever it is worth.
var errAppKey = fault.New(fault.Unauthenticated, TextAppKey).WithCode(CodeAppKey)

const errandKey = 0xfe

// Errand is work for somebody by a key that this service holds for them.
type Errand struct {
	// Holder is the DID of that key, Signer the key, which is asked for when the
	// verdict is not remembered.
	Holder string
	Signer func() (did.Signer, error)
	// Delegation is somebody's to the holder.
	Delegation string
	// Want is what the errand needs; nil is whatever is granted of the file store, by
	// the rules of owners.
	Want *ucan.Want
}

// ActFor returns what the delegation of an errand is worth now: the holder claims all
// that it grants, and the claim is verified as a token from outside is, the Door
// included. The principal of an errand in the file store is the holder, who acts for
// the issuer; of any other it is the issuer, as when a delegation logs in.
func (s *Service) ActFor(ctx context.Context, e Errand) (Principal, error) {
	if err := s.current(ctx); err != nil {
		return Principal{}, err
	}
	surface, name := Files, e.Holder+" "+e.Delegation
	if e.Want != nil {
		surface, name = Oracle, e.Want.Can+" "+e.Want.With+" "+name
	}
	key := cacheKey(errandKey, name)
	p, ok := s.recall(key)
	if !ok {
		var err error
		p, err = s.once(ctx, key, e.Delegation, netip.Addr{}, func(ctx context.Context, l *lookups) (Principal, bool, error) {
			return s.verifyErrand(ctx, e, l)
		})
		if err != nil {
			return Principal{}, err
		}
	}
	return s.enter(ctx, surface, p)
}

func (s *Service) verifyErrand(ctx context.Context, e Errand, from *lookups) (Principal, bool, error) {
	holder, err := e.Signer()
	if err != nil {
		return Principal{}, false, err
	}
	proof, err := ucan.Parse(e.Delegation)
	if err != nil {
		return Principal{}, false, refusal(Files, err)
	}
	leaf := proof.Leaf
	claim, err := ucan.Issue(holder, ucan.Statement{
		Audience: s.cfg.Signer.DID(), Capabilities: leaf.Capabilities, Expires: expiry(leaf.Expires, leaf.NoExpiry),
		Proofs: []*ucan.Token{proof},
	})
	if err != nil {
		return Principal{}, false, refusal(Files, err)
	}
	q := s.query(ctx, from)
	if q.Want = e.Want; e.Want == nil {
		q.Owner = s.owner(ctx, from)
	}
	r, err := ucan.Verify(claim, q)
	if err != nil {
		return Principal{}, false, refusal(Files, err)
	}
	p := principalOf(claim, r)
	p.Kind, p.TokenCID = ByAppKey, proof.CID()
	if len(p.Chain) > 0 && p.Chain[0].CID == claim.CID() {
		p.Chain = p.Chain[1:] // nobody has seen the claim, and nobody can withdraw it
	}
	if e.Want != nil {
		p.DID, p.Key = string(q.Person(leaf.Issuer)), string(leaf.Issuer)
	}
	return p, from.asked == 0, nil
}

// Withdrawn reports whether an encoded token, or a proof in it, was withdrawn. One
// that cannot be read counts as withdrawn.
func (s *Service) Withdrawn(ctx context.Context, token string) (bool, error) {
	if err := s.current(ctx); err != nil {
		return false, err
	}
	t, err := ucan.Parse(token)
	return err != nil || s.revokedAnywhere(t), nil //nolint:nilerr // see above
}

// Withdraw revokes an encoded delegation to a key that this service holds, for by
// who signed it and asked us to. It counts here at once and everywhere within a second.
func (s *Service) Withdraw(ctx context.Context, delegation, by string) error {
	token, err := ucan.Parse(delegation)
	if err != nil {
		return fmt.Errorf("read stored delegation: %w", err)
	}
	leaf := token.Leaf
	_, err = s.Record(ctx, Revocation{
		Kind: RevokedToken, Target: token.CID(), By: by, At: s.now(), Until: expiry(leaf.Expires, leaf.NoExpiry),
	})
	return err
}
