package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/test/testenv"
)

// The model knows capabilities as sets of atoms, each one thing that can be
// done in one place, and chains as trees of such sets. It shares nothing with
// the verifier but the words.

var (
	atomAbilities = []string{"fs/list", "fs/read", "fs/write", "fs/delete", "fs/other", "mcp/call", "any fs", "anything"}
	abilitySets   = map[string][]string{
		"*":         atomAbilities,
		"fs/*":      atomAbilities[:5],
		"fs/list":   {"fs/list"},
		"fs/read":   {"fs/list", "fs/read"},
		"fs/write":  {"fs/list", "fs/read", "fs/write"},
		"fs/delete": {"fs/list", "fs/read", "fs/delete"},
		"mcp/call":  {"mcp/call"},
	}
	paths = []string{"", "/a", "/a/b", "/a/b/c", "/ab", "/d", "/%61/b"}
	// twisted resources are nobody's: they neither grant nor claim.
	twisted = []string{"/a/../d", "/a/%2e%2e/d", "/a//b", "/a/..%2fd", "/a?x", "/a#x"}
)

// modelSets is abilitySets with the marker of a whole family, which only fs/* and * hold.
func modelSets() map[string][]string {
	sets := maps.Clone(abilitySets)
	sets["fs/*"] = append(slices.Clone(sets["fs/*"]), "any fs")
	return sets
}

// places lists what a resource covers, in a world that has a leaf below every path.
func places(namespace, path string, below bool) map[string]bool {
	set := make(map[string]bool)
	path = strings.ReplaceAll(path, "%61", "a")
	for _, p := range paths {
		p = strings.ReplaceAll(p, "%61", "a")
		for _, place := range []string{p, p + "/leaf"} {
			if place == path && !below || strings.HasPrefix(place, path+"/") {
				set[namespace+"|"+place] = true
			}
		}
	}
	return set
}

type modelCapability struct {
	can    string
	with   string
	places map[string]bool // nil: twisted
	cids   []string        // nil: no caveat
}

func (c modelCapability) covers(sets map[string][]string, claimed modelCapability) bool {
	if c.places == nil || claimed.places == nil {
		return false
	}
	for _, a := range sets[claimed.can] {
		if !slices.Contains(sets[c.can], a) {
			return false
		}
	}
	for p := range claimed.places {
		if !c.places[p] {
			return false
		}
	}
	return true
}

type modelToken struct {
	issuer, audience int
	expired          bool
	caps             []modelCapability
	proofs           []*modelToken
	token            *ucan.Token
}

func (m *modelToken) provable(sets map[string][]string, c modelCapability, owner string, signers []did.Signer) bool {
	if m.expired || c.places == nil {
		return false
	}
	if string(signers[m.issuer].DID()) == owner {
		return true
	}
	for _, p := range m.proofs {
		if p.audience != m.issuer {
			continue
		}
		for _, granted := range p.caps {
			if granted.covers(sets, c) && p.provable(sets, granted, owner, signers) {
				return true
			}
		}
	}
	return false
}

// cids intersects the caveats of a token and all below it.
func (m *modelToken) cids() (set []string, scoped bool) {
	all := func(part []string) {
		if !scoped {
			set, scoped = slices.Clone(part), true
			return
		}
		set = slices.DeleteFunc(set, func(c string) bool { return !slices.Contains(part, c) })
	}
	for _, c := range m.caps {
		if c.cids != nil {
			all(c.cids)
		}
	}
	for _, p := range m.proofs {
		if below, ok := p.cids(); ok {
			all(below)
		}
	}
	return set, scoped
}

func genCapability(t *rapid.T, owner string) modelCapability {
	c := modelCapability{can: rapid.SampledFrom(slices.Sorted(maps.Keys(abilitySets))).Draw(t, "can")}
	home := rapid.SampledFrom([]string{"vfs:///" + owner, "vfs://" + strings.ReplaceAll(owner, ":", "%3A")}).Draw(t, "spelling")
	if rapid.IntRange(0, 19).Draw(t, "twist") == 0 {
		c.with = home + rapid.SampledFrom(twisted).Draw(t, "twisted")
	} else {
		path := rapid.SampledFrom(paths).Draw(t, "path")
		below := rapid.IntRange(0, 3).Draw(t, "below") == 0
		c.with, c.places = home+path, places(owner, path, below)
		if below {
			c.with += "/*"
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "scoped") == 0 {
		c.cids = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3, rapid.ID).Draw(t, "cids")
		slices.Sort(c.cids)
	}
	return c
}

func (m *modelToken) issue(t *rapid.T, signers []did.Signer, now time.Time) {
	s := ucan.Statement{Audience: signers[m.audience].DID(), Expires: now.Add(time.Hour)}
	if m.expired {
		s.Expires = now
	}
	for _, c := range m.caps {
		var nb ipld.Node
		if c.cids != nil {
			list := ipld.ListNode()
			for _, id := range c.cids {
				list.List = append(list.List, ipld.TextNode(id))
			}
			nb = ipld.MapNode(ipld.Entry{Key: "cids", Value: list})
		}
		s.Capabilities = append(s.Capabilities, ucan.NewCapability(c.can, c.with, nb))
	}
	for _, p := range m.proofs {
		s.Proofs = append(s.Proofs, p.token)
	}
	var err error
	if m.token, err = ucan.Issue(signers[m.issuer], s); err != nil {
		t.Fatalf("issue: %v", err)
	}
}

// genTokens builds levels of tokens, each naming some of the level above it as
// proofs, and returns the leaf.
func genTokens(t *rapid.T, signers []did.Signer, owner string, now time.Time) *modelToken {
	service := len(signers) - 1
	var above []*modelToken
	levels := rapid.IntRange(1, 4).Draw(t, "levels")
	for level := range levels {
		width := 1
		if level < levels-1 {
			width = rapid.IntRange(1, 2).Draw(t, "width")
		}
		var row []*modelToken
		for range width {
			m := &modelToken{issuer: min(level, 3), audience: min(level+1, 3)}
			if rapid.IntRange(0, 9).Draw(t, "stranger") == 0 {
				m.issuer = 4
			}
			if level == levels-1 {
				m.audience = service
			} else if rapid.IntRange(0, 9).Draw(t, "misdirected") == 0 {
				m.audience = 4
			}
			m.expired = rapid.IntRange(0, 14).Draw(t, "expired") == 0
			for range rapid.IntRange(1, 2).Draw(t, "capabilities") {
				m.caps = append(m.caps, genCapability(t, owner))
			}
			for _, p := range above {
				if rapid.IntRange(0, 4).Draw(t, "named") > 0 {
					m.proofs = append(m.proofs, p)
				}
			}
			m.issue(t, signers, now)
			row = append(row, m)
		}
		above = row
	}
	return above[0]
}

// checkChains draws token trees and holds the verifier against the model: what
// asks for more than it was given never verifies, and the rest does.
func checkChains(t *testing.T, perCheck int) {
	t.Helper()
	sets := modelSets()
	now := time.Unix(1_800_000_000, 0)
	signers := make([]did.Signer, 6)
	for i := range signers {
		seed := make([]byte, 32)
		seed[0] = byte(i + 1)
		var err error
		if signers[i], err = did.SignerFromSeed(seed); err != nil {
			t.Fatal(err)
		}
	}
	owner := string(signers[0].DID())
	valid := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range perCheck {
			leaf := genTokens(rt, signers, owner, now)
			want := make([]bool, len(leaf.caps))
			for i, c := range leaf.caps {
				want[i] = leaf.provable(sets, c, owner, signers)
			}
			parsed, err := ucan.Parse(leaf.token.Encode())
			if err != nil {
				rt.Fatalf("parse: %v", err)
			}
			r, err := ucan.Verify(parsed, ucan.Query{
				Audience: signers[len(signers)-1].DID(), Now: now,
				Owner: func(root did.DID, res ucan.Resource) (bool, error) { return string(root) == res.Namespace, nil },
			})
			got := make([]bool, len(leaf.caps))
			for _, g := range r.Grants {
				for i, c := range leaf.caps {
					got[i] = got[i] || c.can == g.Can && c.with == g.With
				}
			}
			// Two equal capabilities of a leaf hold or fall together.
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("%v\n%s(-model +verifier):\n%s", err, describe(leaf, 0), diff)
			}
			if err != nil {
				continue
			}
			valid++
			cids, scoped := leaf.cids()
			if (r.CIDs != nil) != scoped || scoped && !slices.Equal(cids, r.CIDs.Sorted()) {
				rt.Fatalf("CIDs %v, model %v\n%s", r.CIDs.Sorted(), cids, describe(leaf, 0))
			}
		}
	})
	if valid == 0 {
		t.Error("no generated token was valid: the property says nothing")
	}
}

func describe(m *modelToken, depth int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d -> %d expired=%t", strings.Repeat("  ", depth), m.issuer, m.audience, m.expired)
	for _, c := range m.caps {
		fmt.Fprintf(&b, " [%s %s %v]", c.can, c.with[strings.LastIndex(c.with, "z6Mk")+44:], c.cids)
	}
	b.WriteString("\n")
	for _, p := range m.proofs {
		b.WriteString(describe(p, depth+1))
	}
	return b.String()
}

// TestNoChainWidens draws 2,000 trees of tokens.
func TestNoChainWidens(t *testing.T) {
	t.Parallel()
	checkChains(t, 20)
}

// TestNoChainWidensLong draws 100,000.
func TestNoChainWidensLong(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "long")
	checkChains(t, 1000)
}
