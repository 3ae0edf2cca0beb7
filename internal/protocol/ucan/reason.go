package ucan

import (
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// Reason says why a token was refused, in one word of a closed set.
type Reason string

// The closed set of reasons.
const (
	Malformed           Reason = "malformed"
	MalformedCapability Reason = "malformed_capability"
	CIDMismatch         Reason = "cid_mismatch"
	NonCanonical        Reason = "noncanonical"
	InvalidSignature    Reason = "invalid_signature"
	Expired             Reason = "expired"
	NotYetValid         Reason = "not_yet_valid"
	WrongAudience       Reason = "wrong_audience"
	BrokenChain         Reason = "broken_chain"
	MissingProof        Reason = "missing_proof"
	UnauthorizedRoot    Reason = "unauthorized_root"
	AbilityMismatch     Reason = "ability_mismatch"
	ResourceMismatch    Reason = "resource_mismatch"
	EscalationAbility   Reason = "escalation_ability"
	EscalationResource  Reason = "escalation_resource"
	DIDUnresolved       Reason = "did_unresolved"
	Revoked             Reason = "revoked"
	Replay              Reason = "replay"
	TTLExceedsMax       Reason = "ttl_exceeds_max"
	NoExpiry            Reason = "no_expiry"
)

// Reasons lists the closed set, for tables that must be complete.
func Reasons() []Reason {
	return []Reason{
		Malformed, MalformedCapability, CIDMismatch, NonCanonical, InvalidSignature, Expired, NotYetValid,
		WrongAudience, BrokenChain, MissingProof, UnauthorizedRoot, AbilityMismatch, ResourceMismatch,
		EscalationAbility, EscalationResource, DIDUnresolved, Revoked, Replay, TTLExceedsMax, NoExpiry,
	}
}

// rank orders the reasons of several failed proofs: what is wrong with a proof
// itself says more than that another proof grants something else.
func (r Reason) rank() int {
	switch r {
	case UnauthorizedRoot:
		return 1
	case EscalationAbility:
		return 2
	case EscalationResource:
		return 3
	case MissingProof:
		return 4
	case BrokenChain:
		return 5
	case Malformed, NonCanonical:
		return 6
	case DIDUnresolved:
		return 7
	case InvalidSignature:
		return 8
	case NotYetValid:
		return 9
	case Expired:
		return 10
	case Revoked:
		return 11
	}
	return 12
}

// RefusedError is the error of a token that does not hold.
type RefusedError struct {
	Reason Reason
	// Detail says it in words. It may quote the token's DIDs and resources,
	// never the token.
	Detail string
	cause  error
}

// Error returns the reason and its detail.
func (r *RefusedError) Error() string {
	text := string(r.Reason)
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	if r.cause != nil {
		text += ": " + r.cause.Error()
	}
	return text
}

// Unwrap returns the cause, such as a resolver's failure.
func (r *RefusedError) Unwrap() error { return r.cause }

// ReasonOf returns the reason of a refusal, and Malformed for any other error.
func ReasonOf(err error) Reason {
	if r, ok := errors.AsType[*RefusedError](err); ok {
		return r.Reason
	}
	return Malformed
}

func refuse(reason Reason, format string, args ...any) *RefusedError {
	return &RefusedError{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// unreadable gives an error of the lower decoders its reason.
func unreadable(what string, err error) *RefusedError {
	reason := Malformed
	switch {
	case errors.Is(err, car.ErrMismatch):
		reason = CIDMismatch
	case errors.Is(err, ipld.ErrNonCanonical):
		reason = NonCanonical
	}
	return &RefusedError{Reason: reason, Detail: what, cause: err}
}

// worse returns whichever refusal says more.
func worse(a, b *RefusedError) *RefusedError {
	if a == nil || b != nil && b.Reason.rank() > a.Reason.rank() {
		return b
	}
	return a
}
