package ucan_test

import (
	"crypto/ed25519"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

func signerOf(tb testing.TB, n byte) did.Signer {
	tb.Helper()
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	s, err := did.SignerFromSeed(seed)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// chain returns an encoded token with the given number of proofs above it.
func chain(tb testing.TB, hops int, service did.DID) string {
	tb.Helper()
	resource := "vfs:///" + string(signerOf(tb, 1).DID())
	var proofs []*ucan.Token
	for i := range hops + 1 {
		audience := signerOf(tb, byte(i+2)).DID()
		if i == hops {
			audience = service
		}
		t, err := ucan.Issue(signerOf(tb, byte(i+1)), ucan.Statement{
			Audience: audience, Expires: time.Now().Add(time.Hour), Proofs: proofs,
			Capabilities: []ucan.Capability{ucan.NewCapability("fs/read", resource, ipld.Node{})},
		})
		if err != nil {
			tb.Fatal(err)
		}
		proofs = []*ucan.Token{t}
	}
	return proofs[0].Encode()
}

// benchmarkVerify measures whole verifications and bare Ed25519 ones in turn, so
// that whatever else the machine does burdens both, and compares medians.
func benchmarkVerify(b *testing.B, hops int) {
	service := signerOf(b, 200).DID()
	text := chain(b, hops, service)
	owner := func(root did.DID, r ucan.Resource) (bool, error) { return string(root) == r.Namespace, nil }
	q := ucan.Query{
		Audience: service, Now: time.Now(),
		Want: &ucan.Want{Can: "fs/read", With: "vfs:///" + string(signerOf(b, 1).DID())}, Owner: owner,
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	message := make([]byte, 360) // of a token's size
	signature := ed25519.Sign(private, message)
	var whole, bare []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		t, err := ucan.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := ucan.Verify(t, q); err != nil {
			b.Fatal(err)
		}
		whole = append(whole, time.Since(began))
		began = time.Now()
		if !ed25519.Verify(public, message, signature) {
			b.Fatal("signature does not verify")
		}
		bare = append(bare, time.Since(began))
	}
	ours, theirs := median(whole), median(bare)
	b.ReportMetric(float64(ours), "ns/op")
	b.ReportMetric(float64(time.Second)/float64(ours), "verifications/s")
	b.ReportMetric(float64(time.Second)/float64(theirs), "bare-ed25519/s")
	b.ReportMetric(float64(ours)/float64(theirs*time.Duration(hops+1)), "x-bare")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkVerifySelfIssued parses and verifies an invocation without proofs.
// The bar: x-bare at most 1.3, under 40 allocations.
func BenchmarkVerifySelfIssued(b *testing.B) { benchmarkVerify(b, 0) }

// BenchmarkVerifyThreeHops parses and verifies a chain of four tokens.
func BenchmarkVerifyThreeHops(b *testing.B) { benchmarkVerify(b, 3) }
