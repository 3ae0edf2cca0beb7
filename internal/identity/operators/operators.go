// Package operators knows who runs the deployment, and what each of them may do.
//
// An operator is a DID with a role: a viewer looks, an operator changes what the
// deployment does, an owner also says who the operators are. A role is given by an
// owner, on the command line, or by opening a setup link. Whoever has one may give
// part of it away by a UCAN delegation for OperatorResource: the role of a request is that
// of the root of its chain of proofs, and no more than the chain grants.
//
// It promises that a role that was taken away counts on no node any more, at once:
// nothing is remembered. A setup link makes exactly one DID an owner, on however many
// nodes it is opened, within its hour; opening it again with the same DID is fine,
// and all other links end with it. It refuses to keep the code of a link: only
// its hash is stored.
//
// The package does no HTTP and no SQL: operatorshttp has the routes, operatorssql
// keeps the records.
//
// Decision: ADR 0243.
package operators

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// OperatorResource is what capabilities of operators are about.
const OperatorResource = "ixo:operator"

// Role is what an operator may do.
type Role string

// The roles. Each has what those before it have.
const (
	None     Role = ""
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Owner    Role = "owner"
)

// ladder has the roles from the least to the highest, with the ability that a
// capability must have for each.
var ladder = []struct {
	role    Role
	ability string
}{{Viewer, "operator/view"}, {Operator, "operator/change"}, {Owner, "operator/own"}}

// ParseRole reads a role.
func ParseRole(text string) (Role, error) {
	for _, step := range ladder {
		if text == string(step.role) {
			return step.role, nil
		}
	}
	return None, fault.New(fault.Invalid, "role must be one of: viewer, operator, owner")
}

// Record is somebody who has a role.
type Record struct {
	DID  string
	Role Role
	Note string
	// By is who gave the role: an owner's DID, or which way it came.
	By    string
	Added time.Time
}

// Link is a setup link.
type Link struct {
	// Digest is the hash of the code, which is kept nowhere.
	Digest           string
	Created, Expires time.Time
}

// Store keeps operators and setup links. All of it is shared by the nodes of a fleet.
type Store interface {
	// RoleOf returns the role of a DID, or None.
	RoleOf(ctx context.Context, who string) (Role, error)
	// Operators lists records in order of DID, after one.
	Operators(ctx context.Context, after string, limit int) ([]Record, error)
	// HasOwner reports whether anybody is an owner.
	HasOwner(ctx context.Context) (bool, error)
	// PutOperator adds a record, or changes it. By a DID that is no owner, in the same
	// transaction, it is ErrNoOwner.
	PutOperator(ctx context.Context, r Record) error
	// RemoveOperator takes a role away, by the same rule; false says that there was none.
	RemoveOperator(ctx context.Context, who, by string) (bool, error)
	// AddLink stores a link.
	AddLink(ctx context.Context, l Link) error
	// OpenLink makes the DID an owner if the link counts, and ends all links, both
	// or neither. Whoever opened it before and still is an owner gets the same answer.
	OpenLink(ctx context.Context, digest, who string, at time.Time) (Record, error)
}

// ErrNoOwner is for who gives or takes roles, and lost their own meanwhile: two owners who
// remove each other at the same time leave one.
var ErrNoOwner = fault.New(fault.Forbidden, "Roles are given and taken by owners, and you are none any more.").WithCode("role_too_low")

// ByRole reports whether somebody who gives or takes a role does so by a role of their
// own, and not by OPERATOR_TOKEN, on the command line or by a setup link.
func ByRole(by string) bool { return strings.HasPrefix(by, "did:") }

// The refusals of OpenLink.
var (
	ErrNoLink = fault.New(fault.NotFound, "There is no such setup link: check that it is whole, or print a new one with `castalia setup-link`.").
			WithCode("setup_link_unknown")
	ErrLinkOver = fault.New(fault.Gone, "The setup link was used or has expired: print a new one with `castalia setup-link`.").
			WithCode("setup_link_over")
)

// BySetupLink is how records name the way by a link.
const BySetupLink = "setup link"

// maxNote bounds what an owner writes about an operator.
const maxNote = 200

// Book keeps operators. Its methods may be called from many goroutines and processes.
type Book struct {
	store Store
	now   func() time.Time
}

// NewBook returns a book; now may be nil.
func NewBook(store Store, now func() time.Time) *Book {
	if now == nil {
		now = time.Now
	}
	return &Book{store: store, now: now}
}

// maxRoots bounds how many chains of one request are looked up.
const maxRoots = 8

// RoleOf returns what a request may do and the DID whose role that is, and None for one that
// proves nothing here.
func (b *Book) RoleOf(ctx context.Context, p identity.Principal) (role Role, from string, err error) {
	if p.Kind != identity.ByInvocation {
		return None, "", nil
	}
	best, looked := -1, 0
	for i := range p.Grants {
		g := &p.Grants[i]
		limit := granted(g)
		if limit <= best {
			continue
		}
		if looked++; looked > maxRoots {
			break
		}
		held, err := b.Held(ctx, string(g.Root))
		if err != nil {
			return None, "", err
		}
		if reached := min(limit, step(held)); reached > best {
			best, from = reached, string(g.Root)
		}
	}
	if best < 0 {
		return None, "", nil
	}
	return ladder[best].role, from, nil
}

// Held returns the role that a DID has itself, whatever others lend it.
func (b *Book) Held(ctx context.Context, who string) (Role, error) {
	role, err := b.store.RoleOf(ctx, who)
	if err != nil {
		return None, fault.Wrap(fault.Unavailable, "Your role cannot be looked up at the moment.", err)
	}
	return role, nil
}

// granted is the highest step that a capability reaches, or -1. Every link of its
// chain must name OperatorResource: a delegation of everything, as people give it to
// the programs that chat for them, is not meant to hand over the deployment.
func granted(g *ucan.Grant) int {
	if g.With != OperatorResource || !g.Exact {
		return -1
	}
	for i, s := range slices.Backward(ladder) {
		if ucan.AbilityCovers(g.Can, s.ability) {
			return i
		}
	}
	return -1
}

func step(r Role) int {
	for i := range ladder {
		if ladder[i].role == r {
			return i
		}
	}
	return -1
}

// Operators lists who has a role, in order of DID, after one.
func (b *Book) Operators(ctx context.Context, after string, limit int) ([]Record, error) {
	return b.store.Operators(ctx, after, limit)
}

// Give gives a DID a role, in place of the one that it has.
func (b *Book) Give(ctx context.Context, who string, role Role, note, by string) (Record, error) {
	d, err := parseDID(who)
	if err != nil {
		return Record{}, err
	}
	if utf8.RuneCountInString(note) > maxNote || strings.ContainsRune(note, 0) {
		return Record{}, fault.Newf(fault.Invalid, "note must be shorter than or equal to %d characters", maxNote)
	}
	r := Record{DID: d, Role: role, Note: note, By: by, Added: b.now()}
	if err := b.store.PutOperator(ctx, r); err != nil {
		return Record{}, fmt.Errorf("store operator: %w", err)
	}
	return r, nil
}

// Take takes a role away.
func (b *Book) Take(ctx context.Context, who, by string) error {
	d, err := parseDID(who)
	if err != nil {
		return err
	}
	removed, err := b.store.RemoveOperator(ctx, d, by)
	if err != nil {
		return fmt.Errorf("remove operator: %w", err)
	}
	if !removed {
		return fault.New(fault.NotFound, "The DID has no role.")
	}
	return nil
}

func parseDID(text string) (string, error) {
	d, err := did.Parse(text)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, fmt.Sprintf("%.80q is not a DID, such as did:key:z6Mk…", text), err)
	}
	return string(d), nil
}
