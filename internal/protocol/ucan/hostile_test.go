package ucan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

var (
	noon = time.Unix(1_800_000_000, 0)
	read = ucan.NewCapability("fs/read", "vfs://ixo1a", ipld.Node{})
)

func issue(tb testing.TB, from byte, to did.DID, change func(*ucan.Statement), proofs ...*ucan.Token) *ucan.Token {
	tb.Helper()
	s := ucan.Statement{Audience: to, Capabilities: []ucan.Capability{read}, Expires: noon.Add(time.Hour), Proofs: proofs}
	if change != nil {
		change(&s)
	}
	t, err := ucan.Issue(signerOf(tb, from), s)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// owned says that the key of the first signer owns everything.
func owned(tb testing.TB) ucan.Query {
	owner := signerOf(tb, 1).DID()
	return ucan.Query{Now: noon, Owner: func(root did.DID, _ ucan.Resource) (bool, error) { return root == owner, nil }}
}

func wantReason(tb testing.TB, err error, want ucan.Reason) {
	tb.Helper()
	if err == nil || ucan.ReasonOf(err) != want {
		tb.Errorf("got %v, want %s", err, want)
	}
}

// respell returns the token with its leaf's block changed and the CIDs made
// right again: the signature still covers the statement.
func respell(tb testing.TB, token *ucan.Token, change func(n *ipld.Node)) string {
	tb.Helper()
	archive, err := car.Read(string(token.Archive()), ucan.MaxBlocks)
	if err != nil {
		tb.Fatal(err)
	}
	n, err := ipld.Decode(archive.Blocks[len(archive.Blocks)-2].Data)
	if err != nil {
		tb.Fatal(err)
	}
	change(&n)
	return asToken(string(ipld.AppendCBOR(nil, n)))
}

// TestOneStatementHasOneToken tries every known way to give a signed statement
// a second CID.
func TestOneStatementHasOneToken(t *testing.T) {
	t.Parallel()
	token := issue(t, 1, "did:web:s.test", nil)
	add := func(key string, v ipld.Node) func(*ipld.Node) {
		return func(n *ipld.Node) { n.Entries = append(n.Entries, ipld.Entry{Key: key, Value: v}) }
	}
	edit := func(key string, f func(*ipld.Node)) func(*ipld.Node) {
		return func(n *ipld.Node) {
			for i := range n.Entries {
				if n.Entries[i].Key == key {
					f(&n.Entries[i].Value)
				}
			}
		}
	}
	for name, change := range map[string]func(*ipld.Node){
		"unknown field": add("x", ipld.IntNode(1)),
		"empty facts":   add("fct", ipld.ListNode()),
		"nbf of zero":   add("nbf", ipld.IntNode(0)),
		"empty nonce":   add("nnc", ipld.TextNode("")),
		"bytes behind":  edit("s", func(v *ipld.Node) { v.Str += "x" }),
		"upper case":    edit("att", func(v *ipld.Node) { v.List[0].Entries[0].Value.Str = "FS/Read" }),
		"long length":   edit("s", func(v *ipld.Node) { v.Str = v.Str[:3] + "\xc0\x00" + v.Str[4:] }),
		"no proofs":     func(n *ipld.Node) { n.Entries = n.Entries[:len(n.Entries)-1] },
		"issuer as did": edit("iss", func(v *ipld.Node) {
			v.Str = "\x9d\x1a" + strings.TrimPrefix(string(token.Leaf.Issuer), "did:")
		}),
		"audience as text":  edit("aud", func(v *ipld.Node) { v.Kind = ipld.Text }),
		"another version":   edit("v", func(v *ipld.Node) { v.Str = "0.9.0" }),
		"facts are no list": add("fct", ipld.MapNode()),
		"nbf is text":       add("nbf", ipld.TextNode("1")),
		"nonce is a number": add("nnc", ipld.IntNode(1)),
		"fact is a number":  add("fct", ipld.ListNode(ipld.IntNode(1))),
		"proof is a text":   edit("prf", func(v *ipld.Node) { v.List = []ipld.Node{ipld.TextNode("x")} }),
	} {
		_, err := ucan.ParseCAR(respell(t, token, change))
		if reason := ucan.ReasonOf(err); err == nil || reason != ucan.NonCanonical && reason != ucan.Malformed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ucan.ParseCAR(respell(t, token, func(*ipld.Node) {})); err != nil {
		t.Errorf("the unchanged token: %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	many := func(n int) func(*ucan.Statement) {
		return func(s *ucan.Statement) {
			s.Capabilities = nil
			for range n {
				s.Capabilities = append(s.Capabilities, read)
			}
		}
	}
	if _, err := ucan.Issue(signerOf(t, 1),
		ucan.Statement{Audience: "did:web:s.test", Capabilities: make([]ucan.Capability, 1)}); err == nil {
		t.Error("an empty capability is issued")
	}
	if _, err := ucan.Parse(issue(t, 1, "did:web:s.test", many(ucan.MaxCapabilities)).Encode()); err != nil {
		t.Errorf("as many capabilities as allowed: %v", err)
	}
	s := ucan.Statement{Audience: "did:web:s.test"}
	many(ucan.MaxCapabilities + 1)(&s)
	_, err := ucan.Issue(signerOf(t, 1), s)
	wantReason(t, err, ucan.Malformed)
	_, err = ucan.Parse(strings.Repeat("A", 3*ucan.MaxBytes))
	wantReason(t, err, ucan.Malformed)
	_, err = ucan.ParseCAR(strings.Repeat("\x00", ucan.MaxBytes+1))
	wantReason(t, err, ucan.Malformed)

	// A chain that is too long, and the longest that is not.
	for _, hops := range []int{12, ucan.MaxDepth, ucan.MaxDepth + 1} {
		token := issue(t, 1, signerOf(t, 2).DID(), nil)
		for i := range hops {
			token = issue(t, byte(i+2), signerOf(t, byte(i+3)).DID(), nil, token)
		}
		_, err := ucan.Verify(token, owned(t))
		if hops <= ucan.MaxDepth && err != nil {
			t.Errorf("%d hops: %v", hops, err)
		}
		if hops > ucan.MaxDepth {
			wantReason(t, err, ucan.Malformed)
		}
	}
}

// TestLookUpsAreBounded uses many proofs of as many DIDs that have to be asked for.
func TestLookUpsAreBounded(t *testing.T) {
	t.Parallel()
	var proofs []*ucan.Token
	for i := range 20 {
		proofs = append(proofs, issueAs(t, did.DID(fmt.Sprintf("did:web:h%d.test", i)), signerOf(t, 2).DID()))
	}
	asked := 0
	q := owned(t)
	q.Keys = func(did.DID) ([]did.Key, error) {
		asked++
		return nil, errors.New("away")
	}
	leaf := issue(t, 2, "did:web:s.test", nil, proofs...)
	if _, err := ucan.Verify(leaf, q); err == nil || asked > ucan.MaxLookups {
		t.Errorf("%d questions, %v", asked, err)
	}
	asked = 0
	if _, err := ucan.VerifyDelegation(leaf, q); err == nil || asked > ucan.MaxLookups {
		t.Errorf("delegation: %d questions, %v", asked, err)
	}
}

// TestBranchingCostsLittle walks a graph with two proofs on each of twelve
// levels, in which there are 4096 paths and no root: signatures are checked
// once per token, and questions about owners asked once per claim.
func TestBranchingCostsLittle(t *testing.T) {
	t.Parallel()
	row := []*ucan.Token{
		issue(t, 9, signerOf(t, 10).DID(), nil),
		issue(t, 9, signerOf(t, 10).DID(), func(s *ucan.Statement) { s.Nonce = "b" }),
	}
	for range 11 {
		a := issue(t, 10, signerOf(t, 10).DID(), nil, row...)
		b := issue(t, 10, signerOf(t, 10).DID(), func(s *ucan.Statement) { s.Nonce = "b" }, row...)
		row = []*ucan.Token{a, b}
	}
	leaf := issue(t, 10, "did:web:s.test", nil, row...)
	asked := 0
	_, err := ucan.Verify(leaf, ucan.Query{Now: noon, Owner: func(did.DID, ucan.Resource) (bool, error) {
		asked++
		return false, nil
	}})
	wantReason(t, err, ucan.UnauthorizedRoot)
	if asked > 25 {
		t.Errorf("the owner was asked for %d times", asked)
	}
}

func TestFailedProofIsOneOfMany(t *testing.T) {
	t.Parallel()
	good := issue(t, 1, signerOf(t, 2).DID(), nil)
	bad := map[string]*ucan.Token{
		"expired":      issue(t, 1, signerOf(t, 2).DID(), func(s *ucan.Statement) { s.Expires = noon }),
		"early":        issue(t, 1, signerOf(t, 2).DID(), func(s *ucan.Statement) { s.NotBefore = noon }),
		"for another":  issue(t, 1, signerOf(t, 3).DID(), nil),
		"of another":   issue(t, 4, signerOf(t, 2).DID(), nil),
		"of no key":    issueAs(t, "did:web:gone.test", signerOf(t, 2).DID()),
		"other things": issue(t, 1, signerOf(t, 2).DID(), func(s *ucan.Statement) { s.Capabilities = nil }),
	}
	for name, proof := range bad {
		if _, err := ucan.Verify(issue(t, 2, "did:web:s.test", nil, proof), owned(t)); err == nil {
			t.Errorf("%s: alone it proves", name)
		}
		for _, proofs := range [][]*ucan.Token{{proof, good}, {good, proof}} {
			if _, err := ucan.Verify(issue(t, 2, "did:web:s.test", nil, proofs...), owned(t)); err != nil {
				t.Errorf("%s beside a good one: %v", name, err)
			}
		}
	}
}

func issueAs(tb testing.TB, issuer, to did.DID) *ucan.Token {
	tb.Helper()
	t, err := ucan.Issue(signerOf(tb, 1).As(issuer), ucan.Statement{
		Audience: to, Capabilities: []ucan.Capability{read}, Expires: noon.Add(time.Hour),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestUnknownCaveatIsKeptOrRefused(t *testing.T) {
	t.Parallel()
	limited := func(n int64) ucan.Capability {
		return ucan.NewCapability("fs/read", "vfs://ixo1a", ipld.MapNode(ipld.Entry{Key: "max", Value: ipld.IntNode(n)}))
	}
	set := func(c ucan.Capability) func(*ucan.Statement) {
		return func(s *ucan.Statement) { s.Capabilities = []ucan.Capability{c} }
	}
	grant := issue(t, 1, signerOf(t, 2).DID(), set(limited(5)))
	if _, err := ucan.Verify(issue(t, 2, "did:web:s.test", set(limited(5)), grant), owned(t)); err != nil {
		t.Errorf("the same caveat: %v", err)
	}
	_, err := ucan.Verify(issue(t, 2, "did:web:s.test", nil, grant), owned(t))
	wantReason(t, err, ucan.EscalationResource)
	_, err = ucan.Verify(issue(t, 2, "did:web:s.test", set(limited(6)), grant), owned(t))
	wantReason(t, err, ucan.EscalationResource)
}

func TestBareNamespaceIsTolerated(t *testing.T) {
	t.Parallel()
	// No library issues it, so the block is written by hand and signed again.
	owner := signerOf(t, 1)
	token := issue(t, 1, "did:web:s.test", func(s *ucan.Statement) {
		s.Capabilities = []ucan.Capability{ucan.NewCapability("fs/read", "vfs:///"+string(owner.DID())+"/x", ipld.Node{})}
	})
	if _, err := ucan.Verify(token, owned(t)); err != nil {
		t.Fatal(err)
	}
	bare := "vfs://" + string(owner.DID()) + "/x"
	r, err := ucan.ParseResource(bare)
	if err != nil || r.Namespace != string(owner.DID()) || r.Path != "/x" || r.Unsafe() {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = ucan.Issue(owner,
		ucan.Statement{Audience: "did:web:s.test", Capabilities: []ucan.Capability{ucan.NewCapability("fs/read", bare, ipld.Node{})}})
	wantReason(t, err, ucan.Malformed)
}

// TestRevocationSurvivesTheJWTForm writes a revoked grant as JWT text, which
// gives its block another CID, and uses that as the proof.
func TestRevocationSurvivesTheJWTForm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"proof-as-jwt-block", "chain-1-hop"} {
		data, err := os.ReadFile("../../../spec/vectors/ucan/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var v struct{ Token string }
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		token, err := ucan.Parse(v.Token)
		if err != nil {
			t.Fatal(err)
		}
		links := token.Links()
		grant := links[len(links)-1].CID
		if !strings.HasPrefix(grant, "bafyrei") {
			t.Errorf("%s: the grant is called %s", name, grant)
		}
		q := ucan.Query{Now: noon}
		if _, err := ucan.Verify(token, q); err != nil {
			t.Fatal(err)
		}
		q.Revoked = func(cid string, _ did.DID) bool { return cid == grant }
		_, err = ucan.Verify(token, q)
		wantReason(t, err, ucan.Revoked)
	}
}

func TestOwnerThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	_, err := ucan.Verify(issue(t, 1, "did:web:s.test", nil),
		ucan.Query{Now: noon, Owner: func(did.DID, ucan.Resource) (bool, error) { return false, away }})
	wantReason(t, err, ucan.DIDUnresolved)
	if !errors.Is(err, away) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestVerifyDelegationChecksTheWholeTree(t *testing.T) {
	t.Parallel()
	q := ucan.Query{Now: noon, Audience: "did:web:s.test"}
	root := issue(t, 1, signerOf(t, 2).DID(), nil)
	d, err := ucan.VerifyDelegation(issue(t, 2, "did:web:s.test", nil, root), q)
	if err != nil || d.Root != signerOf(t, 1).DID() || len(d.Links) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	for want, proof := range map[ucan.Reason]*ucan.Token{
		ucan.Expired:     issue(t, 1, signerOf(t, 2).DID(), func(s *ucan.Statement) { s.Expires = noon }),
		ucan.NotYetValid: issue(t, 1, signerOf(t, 2).DID(), func(s *ucan.Statement) { s.NotBefore = noon }),
		ucan.BrokenChain: issue(t, 1, signerOf(t, 3).DID(), nil),
	} {
		// The second proof counts as well as the first.
		_, err := ucan.VerifyDelegation(issue(t, 2, "did:web:s.test", nil, root, proof), q)
		wantReason(t, err, want)
	}
	key := signerOf(t, 2)
	q.Keys = func(d did.DID) ([]did.Key, error) {
		if d == "did:ixo:ixo1oracle" {
			return []did.Key{key.Key()}, nil
		}
		return nil, fmt.Errorf("no keys of %s", d)
	}
	byKey, err := ucan.Issue(key.As("did:ixo:ixo1oracle"), ucan.Statement{
		Audience: "did:web:s.test", Capabilities: []ucan.Capability{read}, Expires: noon.Add(time.Hour), Proofs: []*ucan.Token{root},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ucan.VerifyDelegation(byKey, q); err != nil {
		t.Errorf("a proof addressed to the issuer's key: %v", err)
	}
}

func TestVerifyAllocatesLittle(t *testing.T) {
	service := signerOf(t, 200).DID()
	text := chain(t, 0, service)
	q := ucan.Query{Audience: service, Now: time.Now()}
	n := testing.AllocsPerRun(100, func() {
		token, err := ucan.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ucan.Verify(token, q); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 40 {
		t.Errorf("%v allocations, the bar is under 40", n)
	}
}
