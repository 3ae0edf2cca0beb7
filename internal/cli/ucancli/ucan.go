package ucancli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// How the command is called, and what it is for.
const (
	Usage = "delegate|invoke --key F --audience DID --can A --with R [--nb JSON] [--ttl D] [--proof T|@F]… | inspect T | " +
		"verify --audience DID [--can A --with R] [--at UNIX] T | revoke T|--everything-of DID | conformance [--json] DIR"
	Summary = "issue, look into, verify and revoke capability tokens"
)

// Run runs one command line of `castalia ucan`.
func Run(ctx context.Context, args []string, s shell.IO) error {
	switch name, rest := shell.CutFirst(args); name {
	case "delegate":
		return runUCANIssue(name, 24*time.Hour, rest, s)
	case "invoke":
		return runUCANIssue(name, 5*time.Minute, rest, s)
	case "inspect":
		return runUCANInspect(rest, s)
	case "verify":
		return runUCANVerify(ctx, rest, s)
	case "revoke":
		return runUCANRevoke(ctx, rest, s)
	case "conformance":
		return runUCANConformance(rest, s)
	}
	return shell.NoSubcommand(args, "delegate", "invoke", "inspect", "verify", "revoke", "conformance")
}

func runUCANIssue(name string, ttl time.Duration, args []string, s shell.IO) error {
	fs := shell.NewFlags("ucan "+name, s)
	var cans, withs, nbs, proofs, facts shell.List
	key := fs.String("key", "", "key `FILE` of the issuer")
	issuer := fs.String("issuer", "", "sign as this `DID`, whose document lists the key; default is the key's did:key")
	audience := fs.String("audience", "", "`DID` that the token is for")
	fs.Var(&cans, "can", "`ABILITY`, such as fs/read; may be repeated")
	fs.Var(&withs, "with", "`RESOURCE`, such as vfs://did%3Akey%3Az…/path; one for all, or one for each --can")
	fs.Var(&nbs, "nb", "caveats as `JSON`, such as {\"cids\":[]}; one for all, or one for each --can")
	life := fs.String("ttl", ttl.String(), "lifetime as `DURATION` (90s, 15m, 7d), or never")
	start := fs.Int64("not-before", 0, "`UNIX` second after which the token counts")
	nonce := fs.String("nonce", "", "`TEXT` that keeps equal tokens apart")
	fs.Var(&facts, "fact", "fact as `JSON` map; may be repeated")
	fs.Var(&proofs, "proof", "`TOKEN`, or @FILE with one; may be repeated")
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	switch {
	case *key == "" || *audience == "" || len(cans) == 0 || len(withs) == 0:
		return shell.Usagef("--key, --audience, --can and --with are needed")
	}
	signer, err := shell.ReadSigner(*key, s)
	if err != nil {
		return err
	}
	if *issuer != "" {
		d, err := did.Parse(*issuer)
		if err != nil {
			return fmt.Errorf("--issuer: %w", err)
		}
		signer = signer.As(d)
	}
	statement := ucan.Statement{Nonce: *nonce}
	if statement.Audience, err = did.Parse(*audience); err != nil {
		return fmt.Errorf("--audience: %w", err)
	}
	if statement.Expires, err = shell.ExpiresAfter(*life, time.Now()); err != nil {
		return err
	}
	if *start != 0 {
		statement.NotBefore = time.Unix(*start, 0)
	}
	if statement.Capabilities, err = capabilities(cans, withs, nbs); err != nil {
		return err
	}
	for _, text := range facts {
		fact, err := ipld.DecodeJSON([]byte(text))
		if err != nil || fact.Kind != ipld.Map {
			return shell.Usagef("--fact %s is not a JSON map", text)
		}
		statement.Facts = append(statement.Facts, fact)
	}
	for _, text := range proofs {
		proof, err := shell.ReadToken(text, s)
		if err != nil {
			return fmt.Errorf("--proof: %w", err)
		}
		statement.Proofs = append(statement.Proofs, proof)
	}
	token, err := ucan.Issue(signer, statement)
	if err != nil {
		return err
	}
	warnIssued(token, s)
	_, err = fmt.Fprintln(s.Out, token.Encode())
	return err
}

// capabilities pairs the flags: a single resource or caveat serves all abilities.
func capabilities(cans, withs, nbs shell.List) ([]ucan.Capability, error) {
	pick := func(values shell.List, i int) string {
		if len(values) == 1 {
			return values[0]
		}
		return values[i]
	}
	if len(withs) != 1 && len(withs) != len(cans) || len(nbs) > 1 && len(nbs) != len(cans) {
		return nil, shell.Usagef("give one --with and one --nb, or one of each for every --can")
	}
	caps := make([]ucan.Capability, len(cans))
	for i, can := range cans {
		var nb ipld.Node
		if len(nbs) > 0 {
			var err error
			if nb, err = ipld.DecodeJSON([]byte(pick(nbs, i))); err != nil || nb.Kind != ipld.Map {
				return nil, shell.Usagef("--nb %s is not a JSON map", pick(nbs, i))
			}
		}
		caps[i] = ucan.NewCapability(can, pick(withs, i), nb)
	}
	return caps, nil
}

// warnIssued says what a verifier will not like. The token is printed all the same.
func warnIssued(token *ucan.Token, s shell.IO) {
	leaf := token.Leaf
	if len(leaf.Proofs) == 0 {
		return
	}
	_, err := verifyOwned(token, ucan.Query{Now: time.Now()})
	if err != nil && ucan.ReasonOf(err) != ucan.DIDUnresolved {
		_, _ = fmt.Fprintf(s.Err, "castalia ucan: warning: a verifier will refuse this token: %v\n", err)
	}
}

// capabilityJSON is a capability as people read it.
type capabilityJSON struct {
	Can  string          `json:"can"`
	With string          `json:"with"`
	NB   json.RawMessage `json:"nb,omitempty"`
}

func showCapabilities(caps []ucan.Capability) []capabilityJSON {
	shown := make([]capabilityJSON, len(caps))
	for i, c := range caps {
		shown[i] = capabilityJSON{Can: c.Can, With: c.With}
		if c.NB.Kind != ipld.Null {
			shown[i].NB = ipld.AppendJSON(nil, c.NB)
		}
	}
	return shown
}

// tokenJSON is what inspect prints.
type tokenJSON struct {
	CID          string            `json:"cid"`
	Issuer       string            `json:"issuer"`
	Audience     string            `json:"audience"`
	Capabilities []capabilityJSON  `json:"capabilities"`
	Expiration   *int64            `json:"expiration"`
	NotBefore    int64             `json:"notBefore,omitempty"`
	Nonce        string            `json:"nonce,omitempty"`
	Facts        []json.RawMessage `json:"facts,omitempty"`
	Algorithm    string            `json:"algorithm"`
	Proofs       []any             `json:"proofs"`
}

func runUCANInspect(args []string, s shell.IO) error {
	fs := shell.NewFlags("ucan inspect", s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return shell.Usagef("expected one token (the text, @FILE or -)")
	}
	token, err := shell.ReadToken(rest[0], s)
	if err != nil {
		return err
	}
	return writeIndented(s, inspect(token, token.Leaf, 0))
}

// inspect shows a block and, below it, its proofs. Nothing is verified.
func inspect(token *ucan.Token, u *ucan.UCAN, depth int) tokenJSON {
	shown := tokenJSON{
		CID: u.CID(), Issuer: string(u.Issuer), Audience: string(u.Audience), Capabilities: showCapabilities(u.Capabilities),
		NotBefore: u.NotBefore, Nonce: u.Nonce, Algorithm: u.Algorithm(), Proofs: []any{},
	}
	if !u.NoExpiry {
		shown.Expiration = &u.Expires
	}
	for _, fact := range u.Facts {
		shown.Facts = append(shown.Facts, ipld.AppendJSON(nil, fact))
	}
	for _, id := range u.Proofs {
		p, found, err := token.Proof(id)
		switch {
		case !found:
			shown.Proofs = append(shown.Proofs, map[string]string{"cid": ipld.CIDText(id), "missing": "the block did not come along"})
		case err != nil || depth >= ucan.MaxDepth:
			shown.Proofs = append(shown.Proofs, map[string]string{"cid": ipld.CIDText(id), "unreadable": fmt.Sprint(err)})
		default:
			shown.Proofs = append(shown.Proofs, inspect(token, p, depth+1))
		}
	}
	return shown
}

func writeIndented(s shell.IO, v any) error {
	e := json.NewEncoder(s.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
