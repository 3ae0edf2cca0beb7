package ucan

import (
	"maps"
	"slices"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// CIDSet is the set of CIDs that a token may reach, as text. The empty set
// grants no CID; a nil *CIDSet means that the token is not restricted.
type CIDSet struct {
	set map[string]struct{}
}

// NewCIDSet returns the set of the given CIDs.
func NewCIDSet(cids ...string) *CIDSet {
	s := &CIDSet{set: make(map[string]struct{}, len(cids))}
	for _, c := range cids {
		s.set[c] = struct{}{}
	}
	return s
}

// Has reports whether the CID may be reached. A nil set has every CID.
func (s *CIDSet) Has(cid string) bool {
	if s == nil {
		return true
	}
	_, ok := s.set[cid]
	return ok
}

// Sorted lists the members in byte order; never nil for a set that exists.
func (s *CIDSet) Sorted() []string {
	if s == nil {
		return nil
	}
	list := make([]string, 0, len(s.set))
	return slices.AppendSeq(list, sortedKeys(s.set))
}

func sortedKeys(m map[string]struct{}) func(yield func(string) bool) {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}

// Len returns the number of members; a nil set has none to count.
func (s *CIDSet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.set)
}

// Intersect returns the CIDs of both; nil stands for all.
func (s *CIDSet) Intersect(other *CIDSet) *CIDSet {
	switch {
	case s == nil:
		return other
	case other == nil:
		return s
	}
	both := NewCIDSet()
	for c := range s.set {
		if other.Has(c) {
			both.set[c] = struct{}{}
		}
	}
	return both
}

// scopeOf intersects every nb.cids of the leaf and of all proofs that it
// reaches, whether or not they are on a path that authorises. A value that is
// not a list of text refuses the token, so that it is never read as "all".
func (v *verifier) scopeOf() (*CIDSet, *RefusedError) {
	var scope *CIDSet
	level := []*UCAN{v.t.Leaf}
	seen := map[string]bool(nil)
	for depth := 0; len(level) > 0; depth++ {
		if depth > MaxDepth {
			return nil, refuse(Malformed, "proofs are nested deeper than %d", MaxDepth)
		}
		var next []*UCAN
		for _, u := range level {
			for i := range u.Capabilities {
				cids, refusal := cidsOf(&u.Capabilities[i])
				if refusal != nil {
					return nil, refusal
				}
				scope = scope.Intersect(cids)
			}
			for _, id := range u.Proofs {
				if seen[id] {
					continue
				}
				if seen == nil {
					seen = make(map[string]bool)
				}
				seen[id] = true
				// A proof that cannot be read proves nothing; whether another
				// one does is for the walk to find out.
				if p, refusal := v.proof(id); refusal == nil {
					next = append(next, p)
				}
			}
		}
		level = next
	}
	return scope, nil
}

func cidsOf(c *Capability) (*CIDSet, *RefusedError) {
	switch c.NB.Kind {
	case ipld.Null:
		return nil, nil
	case ipld.Map:
	default:
		return nil, refuse(MalformedCapability, "nb is %s", c.NB.Kind)
	}
	if _, ok := c.NB.Get("cids"); !ok {
		return nil, nil
	}
	cids, ok := textList(c.NB, "cids")
	if !ok {
		return nil, refuse(MalformedCapability, "nb.cids is not a list of text")
	}
	return NewCIDSet(cids...), nil
}

// textList returns a member of nb that is a list of text, and whether it is one.
func textList(nb ipld.Node, key string) ([]string, bool) {
	v, ok := nb.Get(key)
	if !ok || v.Kind != ipld.List {
		return nil, false
	}
	list := make([]string, len(v.List))
	for i, item := range v.List {
		if item.Kind != ipld.Text {
			return nil, false
		}
		list[i] = item.Str
	}
	return list, true
}

// caveatsKept reports whether the claim carries every caveat of the grant
// unchanged. cids and hidden are exempt: they are intersected along the chain,
// so a claim cannot widen them.
func caveatsKept(granted, claimed ipld.Node) bool {
	for _, e := range granted.Entries {
		if e.Key == "cids" || e.Key == "hidden" {
			continue
		}
		kept, ok := claimed.Get(e.Key)
		if !ok || !ipld.Equal(kept, e.Value) {
			return false
		}
	}
	return true
}
