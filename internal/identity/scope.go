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

// revealed returns the intersection of the nb.hidden lists along a chain: what
// every token of it covers, by the path, a folder above it, or "*". A token
// without the list reveals nothing. Subtrees are nested or apart, so the
// intersection is made of those entries that every list covers.
func revealed(chain [][]string) []vfspath.Root {
	var out []vfspath.Root
	for _, list := range chain {
		for _, entry := range list {
			root := vfspath.Root(strings.TrimSuffix(entry, "/"))
			if entry == "*" || root == "" {
				root = vfspath.Everything
			}
			if !slices.Contains(out, root) && coveredByAll(chain, root) {
				out = append(out, root)
			}
		}
	}
	return out
}

func coveredByAll(chain [][]string, root vfspath.Root) bool {
	for _, list := range chain {
		if !slices.ContainsFunc(list, func(entry string) bool {
			entry = strings.TrimSuffix(entry, "/")
			return entry == "*" || entry == "" || vfspath.Root(entry).Covers(root)
		}) {
			return false
		}
	}
	return true
}

// Areas returns where in the file store the principal may use the ability: the
// namespace, an account address (ixo1…) or a DID, and one area for each
// capability, of which any suffices. No grant for the ability, or grants in
// several namespaces, is Forbidden. A restriction to CIDs is beside it, in CIDs.
func (p Principal) Areas(ability string) (namespace string, areas []vfspath.Area, err error) {
	for i := range p.Grants {
		g := &p.Grants[i]
		if !g.Resource.File || !ucan.AbilityCovers(g.Can, ability) {
			continue
		}
		ns := NamespaceOf(string(g.Root))
		// That of a key is its person's, who is the root: see owns.
		if !g.Resource.Personal() && !strings.HasPrefix(g.Resource.Namespace, didKey) {
			ns = NamespaceOf(g.Resource.Namespace)
		}
		if namespace != "" && namespace != ns {
			return "", nil, fault.New(fault.Forbidden, "The token names more than one namespace.").WithCode("ambiguous_namespace")
		}
		namespace = ns
		reveal := revealed(g.Hidden)
		if string(g.Root) == p.DID {
			reveal = []vfspath.Root{vfspath.Everything}
		}
		areas = append(areas, vfspath.Area{Root: g.Resource.Root(), Reveal: reveal, Named: g.Named})
	}
	if namespace == "" {
		return "", nil, fault.Newf(fault.Forbidden, "The token does not grant %s.", ability).WithCode(string(ucan.AbilityMismatch))
	}
	return namespace, areas, nil
}

const (
	accountDID = "did:ixo:"
	didKey     = "did:key:"
)

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
