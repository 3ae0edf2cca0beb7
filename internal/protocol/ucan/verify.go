package ucan

import (
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// Want is the capability that a request needs.
type Want struct {
	Can  string
	With string
}

// Query is everything that a verdict depends on, apart from the token.
type Query struct {
	// Audience is the DID that the token must be addressed to, compared as text.
	Audience did.DID
	// Now is the time of the request.
	Now time.Time
	// Want is what the request needs. Nil asks which of the leaf's own
	// capabilities hold; one of them must.
	Want *Want
	// Keys returns the keys of a DID that is not a did:key. Nil knows none.
	Keys func(did.DID) ([]did.Key, error)
	// Owner reports whether the DID may be the root of grants on the resource.
	// An error means that nobody can say at the moment; it ends up as the cause
	// of a did_unresolved refusal. Nil accepts the end of a whole chain,
	// whoever that is.
	Owner func(did.DID, Resource) (bool, error)
	// Person returns in whose name an issuer signs: its own, or that of the DID whose key
	// was lost and whose place it took. Nil is everybody's own.
	Person func(did.DID) did.DID
	// Revoked reports whether a token, or everything of an issuer, was withdrawn.
	Revoked func(cid string, issuer did.DID) bool
	// Seen reports whether a single-use token has been used.
	Seen func(cid string) bool
	// Lapsed takes tokens that have expired, for askers who know by other means
	// that this one held when it counted.
	Lapsed bool
	// MaxTTL, when positive, demands an expiry at most that far away.
	MaxTTL time.Duration
	// Authority vouches for tokens of issuers that have no keys. The zero value
	// vouches for none.
	Authority Authority
}

// Authority is the service whose attestations count as signatures.
type Authority struct {
	DID did.DID
	Key did.Key
}

// Link is one token on the way from a leaf to its root.
type Link struct {
	CID string
	// Twin is UCAN.TwinCID: whoever looks for the one looks for the other.
	Twin   string
	Issuer did.DID
	// Person is in whose name the issuer signed, by Query.Person; empty where nobody judged.
	Person did.DID
}

func linkOf(u *UCAN) Link { return Link{CID: u.CID(), Twin: u.TwinCID(), Issuer: u.Issuer} }

// Grant is a capability of the leaf that holds, and why.
type Grant struct {
	Capability
	Resource Resource
	// Root is the DID whose authority it is: the person, where the key is another.
	Root did.DID
	// Path is the chain that proves it, the leaf first.
	Path []Link
	// Hidden are the nb.hidden lists along the path, and nil when one is missing.
	Hidden [][]string
	// Named are the nb.cids of the root's own link: contents that the root chose one
	// by one. What a delegate names by itself is not among them.
	Named []string
	// Exact says that every link of the path names the resource as the leaf does, and
	// none hands it on within a wider one.
	Exact bool
}

// Result says what a token that holds is good for.
type Result struct {
	Grants []Grant
	// Expires is the earliest expiry on the paths in Unix seconds; NoExpiry
	// means that none of them ends.
	Expires  int64
	NoExpiry bool
	// CIDs is the effective nb.cids; nil when no capability carries one.
	CIDs *CIDSet
	// Resolved tells that a key came from Query.Keys, so that the verdict can
	// change although the token does not.
	Resolved bool
}

// Verify returns what the token grants, or a *RefusedError.
func Verify(t *Token, q Query) (Result, error) {
	v := verifier{t: t, q: q, now: q.Now.Unix()}
	r, err := v.run()
	if err != nil && t.bare() {
		// vfs://did:… is tolerated where all else holds; otherwise what is
		// wrong with the token is that it is not well formed.
		return Result{}, &RefusedError{Reason: Malformed, Detail: "resource is not a URL", cause: err}
	}
	if err != nil {
		return Result{}, err
	}
	return r, nil
}

// bare reports whether the leaf names a resource that is not a URL.
func (t *Token) bare() bool {
	for _, c := range t.Leaf.Capabilities {
		if r, err := ParseResource(c.With); err == nil && r.bare {
			return true
		}
	}
	return false
}

// person is in whose name an issuer signs, or an audience is addressed.
func (v *verifier) person(d did.DID) did.DID {
	if v.q.Person == nil {
		return d
	}
	return v.q.Person(d)
}

func (v *verifier) linkOf(u *UCAN) Link {
	l := linkOf(u)
	l.Person = v.person(u.Issuer)
	return l
}

type verifier struct {
	t   *Token
	q   Query
	now int64

	decoded    map[string]decoded
	verdicts   map[string]*RefusedError
	dead       map[claimKey]*RefusedError
	signatures int
	lookups    int
	steps      int
	resolved   bool
}

type decoded struct {
	u   *UCAN
	err *RefusedError
}

// claim is a capability that someone asserts to hold.
type claim struct {
	can  string
	with string // as it was written
	res  Resource
	nb   ipld.Node
}

// claimKey names a claim of one block. The resource is part of it, because a
// grant of ucan:* takes over the resource that it is asked for.
type claimKey struct {
	cid  string
	cap  int
	with string
}

func (v *verifier) run() (Result, error) {
	leaf := v.t.Leaf
	if v.q.Audience != "" && leaf.Audience != v.q.Audience {
		return Result{}, refuse(WrongAudience, "addressed to %s", leaf.Audience)
	}
	cids, refusal := v.scopeOf()
	if refusal != nil {
		return Result{}, refusal
	}
	if refusal := v.check(leaf, nil); refusal != nil {
		return Result{}, refusal
	}
	if refusal := v.lifetime(leaf); refusal != nil {
		return Result{}, refusal
	}
	r, refusal := v.grants(leaf)
	if refusal != nil {
		return Result{}, refusal
	}
	if v.q.Seen != nil && v.known(leaf, v.q.Seen) {
		return Result{}, refuse(Replay, "the token has been used")
	}
	r.CIDs, r.Resolved = cids, v.resolved
	return r, nil
}

func (v *verifier) lifetime(leaf *UCAN) *RefusedError {
	if v.q.MaxTTL <= 0 {
		return nil
	}
	if leaf.NoExpiry {
		return refuse(NoExpiry, "the token must declare an expiration")
	}
	if limit := v.now + int64(v.q.MaxTTL/time.Second); leaf.Expires > limit {
		return refuse(TTLExceedsMax, "lifetime exceeds the maximum of %s", v.q.MaxTTL)
	}
	return nil
}

// grants proves the leaf's capabilities, or those that serve the request.
func (v *verifier) grants(leaf *UCAN) (Result, *RefusedError) {
	var want Resource
	if v.q.Want != nil {
		var err error
		if want, err = ParseResource(v.q.Want.With); err != nil || want.Unsafe() {
			return Result{}, refuse(EscalationResource, "requested resource %q", clip(v.q.Want.With))
		}
	}
	r := Result{NoExpiry: true}
	var failed *RefusedError
	mismatch := AbilityMismatch
	for i := range leaf.Capabilities {
		c := &leaf.Capabilities[i]
		res, err := ParseResource(c.With)
		if err != nil {
			return Result{}, unreadable("resource", err)
		}
		if v.q.Want != nil && !AbilityCovers(c.Can, v.q.Want.Can) {
			continue
		}
		if res.Unsafe() {
			failed = worse(failed, refuse(EscalationResource, "unsafe resource %q", clip(c.With)))
			continue
		}
		if v.q.Want != nil && !res.Covers(want) {
			mismatch = ResourceMismatch
			continue
		}
		path, refusal := v.prove(leaf, i, claim{can: c.Can, with: c.With, res: res, nb: c.NB}, 0)
		if refusal != nil {
			failed = worse(failed, refusal)
			continue
		}
		v.add(&r, leaf, *c, res, path)
		if v.q.Want != nil {
			break
		}
	}
	switch {
	case len(r.Grants) > 0:
		return r, nil
	case failed != nil:
		return Result{}, failed
	}
	return Result{}, refuse(mismatch, "no capability serves the request")
}

// add records a proved capability. The path comes root first.
func (v *verifier) add(r *Result, leaf *UCAN, c Capability, res Resource, path []step) {
	g := Grant{Capability: c, Resource: res, Root: v.person(leaf.Issuer), Path: make([]Link, 0, len(path)), Exact: true}
	if len(path) > 0 {
		g.Root = v.person(path[0].u.Issuer)
	}
	g.Hidden = make([][]string, 0, len(path))
	whole := true
	for _, step := range slices.Backward(path) {
		u := step.u
		g.Path = append(g.Path, v.linkOf(u))
		g.Exact = g.Exact && step.with == c.With
		if !u.NoExpiry && (r.NoExpiry || u.Expires < r.Expires) {
			r.NoExpiry, r.Expires = false, u.Expires
		}
		hidden, ok := textList(step.nb, "hidden")
		whole = whole && ok
		g.Hidden = append(g.Hidden, hidden)
	}
	if !whole {
		g.Hidden = nil
	}
	if len(path) > 0 {
		g.Named, _ = textList(path[0].nb, "cids")
	}
	r.Grants = append(r.Grants, g)
}

// step is one block on a path, with the caveats of the capability that was used.
type step struct {
	u    *UCAN
	with string
	nb   ipld.Node
}

// prove finds a chain from the claim of u to a root, and returns it root first.
// It needs u to have been checked.
func (v *verifier) prove(u *UCAN, index int, c claim, depth int) ([]step, *RefusedError) {
	if v.steps++; v.steps > maxSteps || depth > MaxDepth {
		return nil, refuse(Malformed, "the chain is too long or branches too much")
	}
	key := claimKey{cid: u.cid, cap: index, with: c.res.Text}
	if refusal, ok := v.dead[key]; ok {
		return nil, refusal
	}
	failed := v.rootOf(u, c)
	if failed == nil {
		return []step{{u: u, with: c.with, nb: c.nb}}, nil
	}
	for _, id := range u.Proofs {
		path, refusal := v.proveBy(u, id, c, depth)
		if refusal == nil {
			return append(path, step{u: u, with: c.with, nb: c.nb}), nil
		}
		failed = worse(failed, refusal)
	}
	if v.dead == nil {
		v.dead = make(map[claimKey]*RefusedError)
	}
	v.dead[key] = failed
	return nil, failed
}

// rootOf returns nil when the issuer of u may be the root of the claim.
//
// Where everybody could be the root (no Owner is asked, or the resource is the
// personal namespace of whoever is the root) only the end of a whole chain is:
// otherwise proofs would not be looked at, and a delegate would find itself in
// its own namespace instead of that of the user it acts for.
func (v *verifier) rootOf(u *UCAN, c claim) *RefusedError {
	if (v.q.Owner == nil || c.res.Personal()) && len(u.Proofs) > 0 {
		return refuse(UnauthorizedRoot, "no proof supports %s", u.Issuer)
	}
	if v.q.Owner == nil {
		return nil
	}
	owns, err := v.q.Owner(v.person(u.Issuer), c.res)
	switch {
	case err != nil:
		return &RefusedError{Reason: DIDUnresolved, Detail: "owner of " + clip(c.res.Text), cause: err}
	case !owns:
		return refuse(UnauthorizedRoot, "%s does not own %q", u.Issuer, clip(c.res.Text))
	}
	return nil
}

// proveBy tries one proof of u for the claim.
func (v *verifier) proveBy(u *UCAN, id string, c claim, depth int) ([]step, *RefusedError) {
	p, refusal := v.proof(id)
	if refusal != nil {
		return nil, refusal
	}
	if v.person(p.Audience) != v.person(u.Issuer) {
		return nil, refuse(BrokenChain, "a proof for %s is used by %s", p.Audience, u.Issuer)
	}
	if refusal := v.check(p, u); refusal != nil {
		return nil, refusal
	}
	var failed *RefusedError
	for _, exact := range []bool{true, false} { // who names a thing means it more than who means everything
		for i := range p.Capabilities {
			if exact != (p.Capabilities[i].With == c.with) {
				continue
			}
			granted, refusal := derive(&p.Capabilities[i], c)
			if refusal == nil {
				var path []step
				if path, refusal = v.prove(p, i, granted, depth+1); refusal == nil {
					return path, nil
				}
			}
			failed = worse(failed, refusal)
		}
	}
	if failed == nil {
		failed = refuse(UnauthorizedRoot, "a proof grants nothing")
	}
	return nil, failed
}

// derive returns the claim that the granting side makes in turn, when the grant
// covers c.
func derive(granted *Capability, c claim) (claim, *RefusedError) {
	if !AbilityCovers(granted.Can, c.can) {
		return claim{}, refuse(EscalationAbility, "%q is not covered by %q", c.can, granted.Can)
	}
	res, err := ParseResource(granted.With)
	if err != nil || !res.Covers(c.res) {
		return claim{}, refuse(EscalationResource, "%q is not covered by %q", clip(c.res.Text), clip(granted.With))
	}
	if !caveatsKept(granted.NB, c.nb) {
		return claim{}, refuse(EscalationResource, "a caveat of %q was dropped", clip(granted.With))
	}
	if res.any {
		res = c.res
	}
	return claim{can: granted.Can, with: granted.With, res: res, nb: granted.NB}, nil
}

// proof decodes a block once.
func (v *verifier) proof(id string) (*UCAN, *RefusedError) {
	if d, ok := v.decoded[id]; ok {
		return d.u, d.err
	}
	u, found, err := v.t.Proof(id)
	d := decoded{u: u}
	switch {
	case !found:
		d.err = refuse(MissingProof, "proof %s did not come along", ipld.CIDText(id))
	case err != nil:
		d.err = &RefusedError{Reason: ReasonOf(err), Detail: "proof", cause: err}
	}
	if v.decoded == nil {
		v.decoded = make(map[string]decoded)
	}
	v.decoded[id] = d
	return d.u, d.err
}
