package filestore

import (
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// AccessOf reads what a verified caller may do (ADR 0032).
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
		namespace, areas, err := p.Areas(ability.String())
		if err != nil {
			refused = err
			continue
		}
		if a.Namespace != "" && a.Namespace != namespace {
			return Access{}, fault.New(fault.Forbidden, "The token names more than one namespace.").WithCode("ambiguous_namespace")
		}
		a.Namespace = namespace
		for _, area := range areas {
			a.grant(ability, area)
		}
	}
	if len(a.Grants) == 0 {
		return Access{}, refused
	}
	for _, root := range p.Roots() { // another capability of the token may be somebody else's
		if identity.NamespaceOf(root) == a.Namespace {
			a.Actor = root
		}
	}
	return a, nil
}

// grant adds an ability in an area. Grants that differ in their ability alone are
// one, so that a token that gives everything is seen to.
func (a *Access) grant(ability Ability, area vfspath.Area) {
	for i := range a.Grants {
		if a.Grants[i].Equal(area) {
			a.Grants[i].Abilities |= ability
			return
		}
	}
	a.Grants = append(a.Grants, Grant{Abilities: ability, Area: area})
}
