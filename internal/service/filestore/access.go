package filestore

import (
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// Ability is a set of things that a grant lets its holder do.
type Ability uint8

// The abilities. What a written grant covers is decided where tokens are read.
const (
	List Ability = 1 << iota
	Read
	Write
	Delete

	All = List | Read | Write | Delete
)

// abilityNames are how tokens write the abilities, in order.
var abilityNames = [...]string{"fs/list", "fs/read", "fs/write", "fs/delete"}

// String names the abilities as a token would.
func (a Ability) String() string {
	var names []string
	for i, name := range abilityNames {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// Grant is what may be done in an area.
type Grant struct {
	Abilities Ability
	vfspath.Area
}

// Access is what a caller may do, and who it is. It is computed once per
// request, from a verified token.
type Access struct {
	Namespace string
	Grants    []Grant
	// CIDs, when not nil, is the set of contents that may be reached, and nothing
	// but reading by CID is allowed. An empty set reaches nothing.
	CIDs []string
	// Scoped says that CIDs counts, so that an empty set is not "everything".
	Scoped bool
	// Invoker signed the request; Actor is whose authority it uses; Proof is the
	// token's CID. They are kept with every change.
	Invoker, Actor, Proof string
	// Chain lists the tokens of a delegated access, so that a share link among
	// them can be counted and ended.
	Chain []string
	// Claims are what changes need free of locks; they are asked for where the change is
	// made, since a lock may come while a body is on its way.
	Claims LockClaims
}

// LockClaims are the places that a change needs free of the locks of others.
type LockClaims struct {
	Places []LockPlace
	// Tokens are the locks that the maker of the change names. They count when they
	// are its own.
	Tokens map[string]bool
}

// LockPlace is a path, with all below it where that is set. It need not be free when
// there is a file at Unless.
type LockPlace struct {
	Path   string
	Below  bool
	Unless string
}

// CodeLockInTheWay is the code of the refusal of a change in whose way a lock is.
const CodeLockInTheWay = "lock_in_the_way"

// Owner returns the access of a namespace's owner.
func Owner(namespace string) Access {
	return Access{
		Namespace: namespace, Invoker: namespace, Actor: namespace,
		Grants: []Grant{{Abilities: All, Area: vfspath.Whole()}},
	}
}

// Has reports whether some grant gives the ability.
func (a Access) Has(need Ability) bool {
	return slices.ContainsFunc(a.Grants, func(g Grant) bool { return g.Abilities&need == need })
}

// Scope is an Access narrowed to one ability: what a query may see. Stores put
// it into the query itself. It is a type of its own so that no query gets an
// Access whose abilities nobody has looked at.
type Scope struct {
	Namespace string
	// Areas name contents only where content is read by CID.
	Areas []vfspath.Area
	// CIDs limits the scope to these contents when Limited is set.
	CIDs    []string
	Limited bool
	// Claims are those of the access.
	Claims LockClaims
}

// Scope narrows the access to an ability by path. A token that is limited to
// CIDs has no such scope.
func (a Access) Scope(need Ability) (Scope, error) {
	if a.Scoped {
		return Scope{}, fault.New(fault.Forbidden, "this token reaches files by CID only").WithCode("cid_scoped")
	}
	return a.narrow(need)
}

// ContentScope narrows the access to reading by what files contain. A token that is
// limited to CIDs reaches files with these contents.
func (a Access) ContentScope() (Scope, error) {
	s, err := a.narrow(Read)
	if err != nil || !a.Scoped {
		return s, err
	}
	s.CIDs, s.Limited = canonical(a.CIDs), true
	s.Areas = nil
	for _, g := range a.Grants {
		if g.Abilities&Read == Read {
			s.Areas = append(s.Areas, vfspath.Area{Root: g.Root, Reveal: g.Reveal, Named: canonical(g.Named)})
		}
	}
	return s, nil
}

func (a Access) narrow(need Ability) (Scope, error) {
	s := Scope{Namespace: a.Namespace, Claims: a.Claims}
	for _, g := range a.Grants {
		if g.Abilities&need == need {
			s.Areas = append(s.Areas, vfspath.Area{Root: g.Root, Reveal: g.Reveal})
		}
	}
	if len(s.Areas) == 0 || a.Namespace == "" {
		return Scope{}, fault.New(fault.Forbidden, "the token does not grant "+need.String()).WithCode("ability_not_granted")
	}
	return s, nil
}

// BlindWriter reports whether the caller may write somewhere without reading there.
func (a Access) BlindWriter() bool {
	return slices.ContainsFunc(a.Grants, func(g Grant) bool { return g.Abilities&(Write|Read) == Write })
}

// Carry refuses to move what the caller may not read to where the caller may: it
// would be read there.
func (a Access) Carry(from, to string) error {
	scope, err := a.Scope(Read)
	if err != nil {
		return nil //nolint:nilerr // who may read nowhere reads nothing there
	}
	into := func(area vfspath.Area) bool { return area.Allows(to) || vfspath.Root(to).Contains(string(area.Root)) }
	if scope.Allows(from) || !slices.ContainsFunc(scope.Areas, into) {
		return nil
	}
	return fault.New(fault.Forbidden, "the token does not grant "+Read.String()+" of what is moved").WithCode("ability_not_granted")
}

// Allows reports whether the scope reaches a path.
func (s Scope) Allows(path string) bool {
	return slices.ContainsFunc(s.Areas, func(a vfspath.Area) bool { return a.Allows(path) })
}

// Writable fails when the scope does not reach the path that is to be written.
func (s Scope) Writable(path string) error {
	if !s.Allows(path) {
		return fault.New(fault.Forbidden, "the token does not reach this path").WithCode("out_of_scope")
	}
	return nil
}
