package ucan_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// vectorTokens returns the tokens of all vectors, as seeds.
func vectorTokens(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("../../../spec/vectors/ucan/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no vectors: %v", err)
	}
	var tokens []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var v struct{ Token string }
		if err := json.Unmarshal(data, &v); err != nil {
			tb.Fatal(err)
		}
		tokens = append(tokens, v.Token)
	}
	return tokens
}

// judge parses and verifies in every way there is; what is refused has a
// reason out of the closed set.
func judge(t *testing.T, token *ucan.Token) {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	for _, q := range []ucan.Query{
		{Now: now},
		{Now: now, Audience: "did:web:vfs.test", Want: &ucan.Want{Can: "fs/read", With: "vfs://ixo1alice"}, MaxTTL: time.Hour},
		{
			Now: now, Owner: func(did.DID, ucan.Resource) (bool, error) { return false, errors.New("away") },
			Keys: func(did.DID) ([]did.Key, error) { return nil, errors.New("away") },
		},
	} {
		_, err := ucan.Verify(token, q)
		_, errDelegation := ucan.VerifyDelegation(token, q)
		for _, err := range []error{err, errDelegation} {
			if err != nil && !slices.Contains(ucan.Reasons(), ucan.ReasonOf(err)) {
				t.Fatalf("refused for no known reason: %v", err)
			}
		}
	}
	_ = token.Links()
	_, _ = ucan.RevocationTarget(token, "")
}

func FuzzParse(f *testing.F) {
	for _, token := range vectorTokens(f) {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ucan.Parse(text)
		if err != nil {
			if !slices.Contains(ucan.Reasons(), ucan.ReasonOf(err)) {
				t.Fatalf("refused for no known reason: %v", err)
			}
			return
		}
		judge(t, token)
		again, err := ucan.Parse(token.Encode())
		if err != nil || again.CID() != token.CID() {
			t.Fatalf("what was read is not read again: %v", err)
		}
	})
}

// FuzzParseCAR spares the fuzzer the base64.
func FuzzParseCAR(f *testing.F) {
	for _, text := range vectorTokens(f) {
		if token, err := ucan.Parse(text); err == nil {
			f.Add(token.Archive())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if token, err := ucan.ParseCAR(string(data)); err == nil {
			judge(t, token)
		}
	})
}

func FuzzParseResource(f *testing.F) {
	for _, seed := range []string{"vfs://ixo1a/x", "vfs:///did:key:z/a/*", "ixo:filesystem/did:ixo:e/x", "ucan:*", "vfs://a%2Fb/%2e%2e", "ixo:oracle:x:mcp/*"} {
		f.Add(seed, seed+"/y")
	}
	f.Fuzz(func(t *testing.T, granted, claimed string) {
		g, err := ucan.ParseResource(granted)
		if err != nil {
			return
		}
		c, err := ucan.ParseResource(claimed)
		if err != nil || !g.Covers(c) {
			return
		}
		if g.Unsafe() || c.Unsafe() {
			t.Fatalf("%q covers %q although one is unsafe", granted, claimed)
		}
		if g.File && (g.Namespace != c.Namespace || len(c.Path) < len(g.Path)) {
			t.Fatalf("%q covers %q", granted, claimed)
		}
	})
}

// FuzzBlock wraps any bytes as the leaf under its right CID, so that the fuzzer
// gets past the hashes.
func FuzzBlock(f *testing.F) {
	for _, text := range vectorTokens(f) {
		if token, err := ucan.Parse(text); err == nil {
			if archive, err := car.Read(string(token.Archive()), ucan.MaxBlocks); err == nil {
				f.Add([]byte(archive.Blocks[len(archive.Blocks)-2].Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		token, err := ucan.ParseCAR(asToken(string(block)))
		if err != nil {
			return
		}
		judge(t, token)
		if again, err := ucan.Parse(token.Encode()); err != nil || again.CID() != token.CID() {
			t.Fatalf("what was read is not read again: %v", err)
		}
	})
}

// asToken wraps blocks as an archive whose leaf is the last of them.
func asToken(blocks ...string) string {
	a := car.Archive{}
	for _, b := range blocks {
		a.Blocks = append(a.Blocks, car.Block{CID: ipld.SumDagCBOR(b), Data: b})
	}
	leaf := a.Blocks[len(a.Blocks)-1].CID
	variant := string(ipld.AppendCBOR(nil, ipld.MapNode(ipld.Entry{Key: "ucan@" + ucan.Version, Value: ipld.LinkNode(leaf)})))
	root := ipld.SumDagCBOR(variant)
	a.Roots, a.Blocks = []string{root}, append(a.Blocks, car.Block{CID: root, Data: variant})
	return string(car.Append(nil, a))
}
