package identity

import (
	"net/url"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// Scope is what a principal may reach in the file store with one ability. It is
// computed once per request and applied inside the query, never after it.
type Scope struct {
	// Namespace owns the files: an account address (ixo1…) or a DID.
	Namespace string
	// Paths are the subtrees that may be reached; any one suffices. "/" is the
	// whole namespace, "/a" is the file or folder /a and all below it, and "/a/"
	// (from a grant of "/a/*") is what lies below /a without /a itself.
	Paths []string
	// CIDs restricts by content in addition; nil is no restriction, and an
	// empty set reaches nothing. A scope with a set may use only the CID routes.
	CIDs *ucan.CIDSet

	areas []Area
}

// Area is the subtree of one capability, with the dot-files that it reveals:
// what one capability reveals does not open another one's subtree.
type Area struct {
	// Path has the form of Scope.Paths.
	Path string
	// Reveal lists the folders and files whose dot-names may be seen; "/" is
	// everything. The owner of a namespace sees everything in it.
	Reveal []string
	// Named are contents that may be seen also where they are dot-files: the owner's
	// own link of the chain names each of them.
	Named []string
}

// Areas returns the subtrees, one for each capability.
func (s Scope) Areas() []Area { return s.areas }

// revealed returns the intersection of the nb.hidden lists along a chain: what
// every token of it covers, by the path, a folder above it, or "*". A token
// without the list reveals nothing. Subtrees are nested or apart, so the
// intersection is made of those entries that every list covers.
func revealed(chain [][]string) []string {
	var out []string
	for _, list := range chain {
		for _, entry := range list {
			root := strings.TrimSuffix(entry, "/")
			if entry == "*" || root == "" {
				root = "/"
			}
			if !slices.Contains(out, root) && coveredByAll(chain, root) {
				out = append(out, root)
			}
		}
	}
	return out
}

func coveredByAll(chain [][]string, path string) bool {
	for _, list := range chain {
		if !slices.ContainsFunc(list, func(p string) bool {
			p = strings.TrimSuffix(p, "/")
			return p == "*" || p == "" || vfspath.Root(p).Covers(vfspath.Root(path))
		}) {
			return false
		}
	}
	return true
}

// Scope returns where the principal may use the ability. No grant for the
// ability, or grants in several namespaces, is Forbidden.
func (p Principal) Scope(ability string) (Scope, error) {
	s := Scope{CIDs: p.CIDs}
	for _, c := range p.Capabilities {
		if !c.resource.File || !ucan.AbilityCovers(c.Can, ability) {
			continue
		}
		ns := NamespaceOf(c.Root)
		if !c.resource.Personal() {
			ns = NamespaceOf(c.resource.Namespace)
		}
		if s.Namespace != "" && s.Namespace != ns {
			return Scope{}, fault.New(fault.Forbidden, "The token names more than one namespace.").WithCode("ambiguous_namespace")
		}
		s.Namespace = ns
		path := string(c.resource.Root())
		s.Paths = append(s.Paths, path)
		reveal := revealed(c.hidden)
		if c.Root == p.DID {
			reveal = []string{"/"}
		}
		s.areas = append(s.areas, Area{Path: path, Reveal: reveal, Named: c.named})
	}
	if s.Namespace == "" {
		return Scope{}, fault.Newf(fault.Forbidden, "The token does not grant %s.", ability).WithCode(string(ucan.AbilityMismatch))
	}
	return s, nil
}

// OwnScope is the scope of a DID in its own namespace without restriction: for
// work that the program does on a user's behalf, such as the oracle's tools
// after the user's delegation was checked.
func OwnScope(owner string) Scope {
	return Scope{Namespace: NamespaceOf(owner), Paths: []string{"/"}, areas: []Area{{Path: "/", Reveal: []string{"/"}}}}
}

const accountDID = "did:ixo:"

// NamespaceOf returns the one name of a DID's own namespace. The DID of an
// account and its address are the same namespace, which bears the address.
func NamespaceOf(owner string) string {
	if address, ok := strings.CutPrefix(owner, accountDID); ok && isAccount(address) {
		return address
	}
	return owner
}

// isAccount reports whether the name is an account address.
func isAccount(name string) bool {
	rest, ok := strings.CutPrefix(name, "ixo1")
	if !ok || rest == "" || len(rest) > 90 {
		return false
	}
	return strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// accountOf returns the DID of an account's address.
func accountOf(address string) did.DID { return did.DID(accountDID + address) }

// FileResource writes a place in the file store as a resource that real
// clients accept: a DID's colons and the path's special characters are
// percent-encoded.
func FileResource(namespace, path string) string {
	var b strings.Builder
	b.WriteString(ucan.SchemeVFS + "://" + strings.ReplaceAll(url.PathEscape(namespace), ":", "%3A"))
	for segment := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if segment != "" {
			b.WriteString("/" + url.PathEscape(segment))
		}
	}
	return b.String()
}
