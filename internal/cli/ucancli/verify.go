package ucancli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/resolver"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/protocol/ucan/conformance"
)

// verdictJSON is what verify prints.
type verdictJSON struct {
	Valid        bool             `json:"valid"`
	Reason       string           `json:"reason"`
	Detail       string           `json:"detail,omitempty"`
	Issuer       *string          `json:"issuer"`
	Audience     *string          `json:"audience"`
	Root         *string          `json:"root"`
	Capabilities []capabilityJSON `json:"capabilities"`
	Expiration   *int64           `json:"expiration"`
	CIDs         []string         `json:"cids"`
	// Path is the chain that was used, the leaf first.
	Path []string `json:"path,omitempty"`
}

func runUCANVerify(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("ucan verify", s)
	audience := fs.String("audience", "", "`DID` that the token must be for")
	can := fs.String("can", "", "`ABILITY` that is asked for; with --with")
	with := fs.String("with", "", "`RESOURCE` that is asked for; with --can")
	at := fs.Int64("at", 0, "`UNIX` second of the request; default is now")
	resolve := fs.String("resolver", s.Getenv("DID_RESOLVER_URL"), "`URL` of a DID resolver; without it only did:key and did:web have keys")
	rest, err := shell.ParseMixed(fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return shell.Usagef("expected one token (the text, @FILE or -)")
	case *audience == "":
		return shell.Usagef("--audience is needed")
	case (*can == "") != (*with == ""):
		return shell.Usagef("--can and --with belong together")
	}
	look, err := resolver.New(resolver.Config{URL: *resolve})
	if err != nil {
		return err
	}
	q := ucan.Query{
		Audience: did.DID(*audience), Now: time.Now(),
		Keys: func(d did.DID) ([]did.Key, error) { return look.Keys(ctx, d) },
	}
	if *at != 0 {
		q.Now = time.Unix(*at, 0)
	}
	if *can != "" {
		q.Want = &ucan.Want{Can: *can, With: *with}
	}
	verdict := verify(rest[0], q, s)
	if err := writeIndented(s, verdict); err != nil {
		return err
	}
	if !verdict.Valid {
		return shell.ExitError(1)
	}
	return nil
}

func verify(arg string, q ucan.Query, s shell.IO) verdictJSON {
	token, err := shell.ReadToken(arg, s)
	if err != nil {
		return verdictJSON{Reason: string(ucan.ReasonOf(err)), Detail: err.Error(), Capabilities: []capabilityJSON{}}
	}
	leaf := token.Leaf
	issuer, aud := string(leaf.Issuer), string(leaf.Audience)
	v := verdictJSON{Issuer: &issuer, Audience: &aud, Capabilities: showCapabilities(leaf.Capabilities)}
	if !leaf.NoExpiry {
		v.Expiration = &leaf.Expires
	}
	r, err := verifyOwned(token, q)
	if err != nil {
		v.Reason, v.Detail = string(ucan.ReasonOf(err)), err.Error()
		return v
	}
	root := string(r.Grants[0].Root)
	v.Valid, v.Root, v.CIDs = true, &root, r.CIDs.Sorted()
	v.Expiration = nil
	if !r.NoExpiry {
		v.Expiration = &r.Expires
	}
	caps := make([]ucan.Capability, len(r.Grants))
	for i, g := range r.Grants {
		caps[i] = g.Capability
	}
	v.Capabilities = showCapabilities(caps)
	for _, link := range r.Grants[0].Path {
		v.Path = append(v.Path, link.CID)
	}
	return v
}

// verifyOwned asks what can be known about ownership without a service: a
// namespace that bears the name of a did:key belongs to that key alone. Of all
// else the end of a whole chain may be the owner; the caller sees the root.
func verifyOwned(token *ucan.Token, q ucan.Query) (ucan.Result, error) {
	q.Owner = ownerOffline
	r, err := ucan.Verify(token, q)
	if err == nil {
		return r, nil
	}
	q.Owner = nil
	anyRoot, errAny := ucan.Verify(token, q)
	switch {
	case errAny != nil:
		return ucan.Result{}, errAny
	case slices.ContainsFunc(anyRoot.Grants, namesKey):
		return ucan.Result{}, err
	}
	return anyRoot, nil
}

func ownerOffline(root did.DID, r ucan.Resource) (bool, error) {
	return r.File && strings.HasPrefix(r.Namespace, "did:key:") && r.Namespace == string(root), nil
}

func namesKey(g ucan.Grant) bool {
	return g.Resource.File && strings.HasPrefix(g.Resource.Namespace, "did:key:")
}

func runUCANConformance(args []string, s shell.IO) error {
	fs := shell.NewFlags("ucan conformance", s)
	quiet := fs.Bool("json", false, "print the objects and nothing else; the reader judges")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || !shell.IsFolder(rest[0]) {
		return shell.Usagef("expected one folder of vectors")
	}
	files, err := filepath.Glob(filepath.Join(rest[0], "*.json"))
	if err != nil {
		return fmt.Errorf("list vectors: %w", err)
	}
	slices.Sort(files)
	out := json.NewEncoder(s.Out)
	ran, differ := 0, 0
	for _, file := range files {
		v, err := readVector(file)
		if err != nil {
			_, _ = fmt.Fprintf(s.Err, "castalia ucan: %s: %v\n", file, err)
			continue
		}
		r := conformance.Run(v)
		ran++
		if agrees, why := v.Agrees(r); !agrees {
			differ++
			if !*quiet {
				_, _ = fmt.Fprintf(s.Err, "castalia ucan: %s: %s\n", v.Name, why)
			}
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	if *quiet {
		return nil
	}
	_, _ = fmt.Fprintf(s.Err, "%d vectors, %d as stated, %d not.\n", ran, ran-differ, differ)
	if differ > 0 {
		return shell.ExitError(1)
	}
	return nil
}

func readVector(file string) (conformance.Vector, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return conformance.Vector{}, err
	}
	return conformance.Parse(data)
}

func runUCANRevoke(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("ucan revoke", s)
	key := fs.String("key", "", "key `FILE` of an issuer in the token's chain; default is the service's own key (ORACLE_KEY)")
	issuer := fs.String("issuer", "", "sign as this `DID`, whose document lists the key")
	everything := fs.String("everything-of", "", "revoke all that this `DID` ever signed, in place of a token")
	server := shell.ServerFlag(fs, s)
	audience := fs.String("audience", "", "`DID` of the server; default is asked of it")
	dry := fs.Bool("print", false, "print the signed revocation instead of sending it; needs --audience")
	rest, err := shell.ParseMixed(fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 1 || (len(rest) == 1) == (*everything != ""):
		return shell.Usagef("expected one token (the text, @FILE or -), or --everything-of DID")
	case *dry && *audience == "":
		return shell.Usagef("--print needs --audience")
	}
	base := strings.TrimSuffix(*server, "/")
	if *audience == "" {
		if *audience, err = askDID(ctx, base); err != nil {
			return err
		}
	}
	signer, err := revokingSigner(*key, *issuer, did.DID(*audience), s)
	if err != nil {
		return err
	}
	statement := ucan.Statement{Audience: did.DID(*audience), Expires: time.Now().Add(5 * time.Minute)}
	what := *everything
	if what != "" {
		statement.Capabilities = []ucan.Capability{ucan.NewIssuerRevocation(signer.DID(), did.DID(what))}
	} else {
		token, err := shell.ReadToken(rest[0], s)
		if err != nil {
			return err
		}
		what = token.CID()
		statement.Capabilities, statement.Proofs = []ucan.Capability{ucan.NewRevocation(signer.DID(), token)},
			[]*ucan.Token{token}
	}
	revocation, err := ucan.Issue(signer, statement)
	if err != nil {
		return err
	}
	if *dry {
		_, err = fmt.Fprintln(s.Out, revocation.Encode())
		return err
	}
	body, err := json.Marshal(map[string]string{"revocation": revocation.Encode()})
	if err != nil {
		return err
	}
	if _, err := call(ctx, http.MethodPost, base+"/api/revocations", body); err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "%s is revoked.\n", what)
	return err
}

// revokingSigner reads the key that revokes: a user's, or the service's own.
func revokingSigner(key, issuer string, service did.DID, s shell.IO) (did.Signer, error) {
	if key == "" {
		if text := s.Getenv("ORACLE_KEY"); text != "" {
			signer, err := did.ParseSigner(text)
			return signer.As(service), err
		}
		data := s.Getenv("CASTALIA_DATA")
		if data == "" {
			data = "castalia-data"
		}
		signer, err := shell.ReadSigner(filepath.Join(data, "keys", "ORACLE_KEY"), s)
		return signer.As(service), err
	}
	signer, err := shell.ReadSigner(key, s)
	if err != nil || issuer == "" {
		return signer, err
	}
	d, err := did.Parse(issuer)
	return signer.As(d), err
}

func askDID(ctx context.Context, base string) (string, error) {
	body, err := call(ctx, http.MethodGet, base+"/.well-known/did.json", nil)
	if err != nil {
		return "", fmt.Errorf("ask the server for its DID: %w", err)
	}
	var document struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &document); err != nil || document.ID == "" {
		return "", errors.New("ask the server for its DID: it has no DID document")
	}
	return document.ID, nil
}

// call sends one small request and returns the body of a good answer.
func call(ctx context.Context, method, address string, body []byte) (_ []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	reply, err := io.ReadAll(io.LimitReader(response.Body, shell.MaxInput))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %d: %s", response.StatusCode, bytes.TrimSpace(reply))
	}
	return reply, nil
}
