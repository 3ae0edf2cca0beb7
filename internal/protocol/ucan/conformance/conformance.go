// Package conformance holds this verifier against test vectors: one JSON object
// per token, with everything that the verdict depends on.
//
// It is pure: whoever has files reads them. Vectors may state a result for a
// verifier that knows the lattice of file abilities (lattice_expect) or
// subtrees (subtree_expect); ours does, so that is what it is held against.
package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Vector is one case.
type Vector struct {
	Name    string `json:"name"`
	Token   string `json:"token"`
	Service string `json:"service"`
	// ServiceKey is the did:key whose attestations count, if any.
	ServiceKey string   `json:"service_key"`
	Now        int64    `json:"now"`
	Request    *Request `json:"request"`
	// Owners lists the roots of namespaces; without it the end of any chain is one.
	Owners   map[string][]string `json:"owners"`
	Resolver map[string][]string `json:"resolver"`
	Revoked  []string            `json:"revoked"`
	Seen     []string            `json:"seen"`
	MaxTTL   int64               `json:"max_ttl_seconds"`

	Expect        string   `json:"expect"`
	LatticeExpect string   `json:"lattice_expect"`
	SubtreeExpect string   `json:"subtree_expect"`
	EffectiveCIDs []string `json:"effective_cids"`
	Ambiguous     bool     `json:"ambiguous"`
}

// Request is the capability that the vector asks for.
type Request struct {
	Can  string `json:"can"`
	With string `json:"with"`
}

// Result is what our verifier says. CIDs is nil when the token is refused or
// not restricted.
type Result struct {
	Name   string   `json:"name"`
	Valid  bool     `json:"valid"`
	Reason string   `json:"reason"`
	CIDs   []string `json:"effective_cids"`
}

// Parse reads one vector. An empty token is one, and does not hold.
func Parse(data []byte) (Vector, error) {
	var v Vector
	if err := json.Unmarshal(data, &v); err != nil {
		return Vector{}, fmt.Errorf("parse vector: %w", err)
	}
	if v.Name == "" {
		return Vector{}, errors.New("parse vector: no name")
	}
	return v, nil
}

// Stated returns the result that the vector demands of a verifier like ours:
// "valid" or a reason.
func (v Vector) Stated() string {
	switch {
	case v.LatticeExpect != "":
		return v.LatticeExpect
	case v.SubtreeExpect != "":
		return v.SubtreeExpect
	}
	return v.Expect
}

// Agrees reports whether the result is the stated one, and how it differs. A
// vector that states nothing agrees with everything; one that is ambiguous
// leaves the set of CIDs open.
func (v Vector) Agrees(r Result) (bool, string) {
	switch stated := v.Stated(); {
	case stated == "":
		return true, ""
	case r.Valid != (stated == valid):
		return false, fmt.Sprintf("stated %s, got %s", stated, r.Reason)
	case r.Valid && !v.Ambiguous &&
		(!slices.Equal(r.CIDs, v.EffectiveCIDs) || (r.CIDs == nil) != (v.EffectiveCIDs == nil)):
		return false, fmt.Sprintf("stated CIDs %v, got %v", v.EffectiveCIDs, r.CIDs)
	}
	return true, ""
}

const valid = "valid"

// Run verifies the vector's token.
func Run(v Vector) Result {
	r := Result{Name: v.Name}
	granted, err := run(v)
	if err != nil {
		r.Reason = string(ucan.ReasonOf(err))
		return r
	}
	r.Valid, r.Reason = true, valid
	r.CIDs = granted.CIDs.Sorted()
	return r
}

func run(v Vector) (ucan.Result, error) {
	token, err := ucan.Parse(v.Token)
	if err != nil {
		return ucan.Result{}, err
	}
	q := ucan.Query{
		Audience: did.DID(v.Service),
		Now:      time.Unix(v.Now, 0),
		Keys:     v.keys,
		Revoked:  func(cid string, _ did.DID) bool { return slices.Contains(v.Revoked, cid) },
		Seen:     func(cid string) bool { return slices.Contains(v.Seen, cid) },
		MaxTTL:   time.Duration(v.MaxTTL) * time.Second,
	}
	if v.Owners != nil {
		q.Owner = v.owner
	}
	if v.Request != nil {
		q.Want = &ucan.Want{Can: v.Request.Can, With: v.Request.With}
	}
	if v.ServiceKey != "" {
		key, err := did.ParseKey(did.DID(v.ServiceKey))
		if err != nil {
			return ucan.Result{}, fmt.Errorf("service_key: %w", err)
		}
		q.Authority = ucan.Authority{DID: did.DID(v.Service), Key: key}
	}
	return ucan.Verify(token, q)
}

func (v Vector) keys(d did.DID) ([]did.Key, error) {
	var keys []did.Key
	for _, text := range v.Resolver[string(d)] {
		if key, err := did.ParseKey(did.DID(text)); err == nil {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// owner looks the root up under the namespace as written, its decoded form, or
// the whole resource. Nobody has to be listed for what it says of itself: a DID is
// the root of the resource that it names, and the service of its own namespace.
func (v Vector) owner(root did.DID, r ucan.Resource) (bool, error) {
	if r.Text == string(root) || r.File && r.Namespace == v.Service && string(root) == v.Service {
		return true, nil
	}
	_, rest, _ := strings.Cut(r.Text, "://")
	authority, _, _ := strings.Cut(rest, "/")
	names := []string{r.Text, decode(r.Text)}
	if rest != "" {
		names = append(names, authority, decode(authority), r.Namespace)
	}
	for name, roots := range v.Owners {
		if slices.Contains(names, name) || slices.Contains(names, decode(name)) {
			if slices.Contains(roots, string(root)) {
				return true, nil
			}
		}
	}
	return false, nil
}

func decode(s string) string {
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
}
