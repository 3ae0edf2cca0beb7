package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// maxControllers bounds the look-ups for one entity.
const maxControllers = 16

// ownerError marks a look-up that failed, which is no answer.
type ownerError struct{ cause error }

func (e *ownerError) Error() string { return "look up owner: " + e.cause.Error() }
func (e *ownerError) Unwrap() error { return e.cause }

func isOwnerFailure(err error) bool {
	_, ok := errors.AsType[*ownerError](err)
	return ok
}

// owns reports whether the DID may be the root of grants on a place in the file
// store: a DID owns its own namespace, an account's DID and the keys resolved
// for it own the address, and an entity belongs to its controllers. When that
// cannot be looked up the answer is an error, never a guess.
func owns(ctx context.Context, from Resolver, root did.DID, r ucan.Resource) (bool, error) {
	if !r.File {
		return false, nil
	}
	if r.Personal() {
		return true, nil
	}
	ns := NamespaceOf(r.Namespace)
	if ns == NamespaceOf(string(root)) {
		return true, nil
	}
	if isAccount(ns) {
		return hasKey(ctx, from, accountOf(ns), root)
	}
	entity, err := did.Parse(ns)
	if err != nil || entity.Method() == "key" {
		return false, nil //nolint:nilerr // a name that is no DID belongs to nobody
	}
	return controls(ctx, from, root, entity)
}

// hasKey reports whether root is the did:key of one of the DID's keys.
func hasKey(ctx context.Context, from Resolver, d, root did.DID) (bool, error) {
	if root.Method() != "key" {
		return false, nil
	}
	keys, err := from.Keys(ctx, d)
	if err != nil {
		return false, &ownerError{fmt.Errorf("keys of %s: %w", d, err)}
	}
	return slices.ContainsFunc(keys, func(k did.Key) bool { return k.DID() == root }), nil
}

func controls(ctx context.Context, from Resolver, root, entity did.DID) (bool, error) {
	controllers, err := from.Controllers(ctx, entity)
	if err != nil {
		return false, &ownerError{fmt.Errorf("controllers of %s: %w", entity, err)}
	}
	if slices.ContainsFunc(controllers, func(c did.DID) bool {
		return NamespaceOf(string(c)) == NamespaceOf(string(root))
	}) {
		return true, nil
	}
	if root.Method() != "key" {
		return false, nil
	}
	for i, c := range controllers {
		if i == maxControllers {
			break
		}
		if c.Method() == "key" {
			continue
		}
		has, err := hasKey(ctx, from, c, root)
		if errors.Is(err, ErrUnknownDID) {
			continue // the others may be known
		}
		if err != nil || has {
			return has, err
		}
	}
	return false, nil
}
