package filestore

import (
	"slices"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// AccessOf reads what a verified caller may do.
func AccessOf(p identity.Principal) (Access, error) {
	a := Access{Invoker: p.DID, Actor: p.Root, Proof: p.TokenCID}
	if p.CIDs != nil {
		a.CIDs, a.Scoped = p.CIDs.Sorted(), true
	}
	if p.DID != p.Root {
		for _, link := range p.Chain {
			a.Chain = append(a.Chain, link.CID)
		}
	}
	var refused error
	for _, ability := range []Ability{List, Read, Write, Delete} {
		s, err := p.Scope(ability.String())
		if err != nil {
			refused = err
			continue
		}
		if a.Namespace != "" && a.Namespace != s.Namespace {
			return Access{}, fault.New(fault.Forbidden, "The token names more than one namespace.").WithCode("ambiguous_namespace")
		}
		a.Namespace = s.Namespace
		for _, area := range s.Areas() {
			a.Grants = append(a.Grants, Grant{Abilities: ability, Root: area.Path, Reveal: area.Reveal, Named: area.Named})
		}
	}
	if len(a.Grants) == 0 {
		return Access{}, refused
	}
	a.Grants = merge(a.Grants)
	return a, nil
}

// merge joins grants that differ in their ability alone, so that a token that
// gives everything is seen to.
func merge(grants []Grant) []Grant {
	var out []Grant
next:
	for _, g := range grants {
		for i := range out {
			if out[i].Root == g.Root && slices.Equal(out[i].Reveal, g.Reveal) && slices.Equal(out[i].Named, g.Named) {
				out[i].Abilities |= g.Abilities
				continue next
			}
		}
		out = append(out, g)
	}
	return out
}
