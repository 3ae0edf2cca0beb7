package identity

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Binding says in whose name a key signs, and whether it still may (ADR 0256). A did:key
// without one signs in its own name.
//
// A person whose key was lost keeps the DID that it was made from: that is whose files and
// conversations they are. The new key signs in its name, and what the lost one signed is
// refused, whenever it was signed: nobody can tell what a thief dated back.
type Binding struct {
	Feed int64
	// Key is the DID of a key, Person the DID in whose name it signs.
	Key, Person string
	// Lost says that nothing that the key signed counts any more.
	Lost bool
	// Before is the key whose place this one took; "" of the one that the person began with.
	Before string
	// By is who bound it, At when.
	By string
	At time.Time
}

// The refusals of a new binding.
var (
	// ErrKeyTaken says that the key belongs to somebody, or did, or was a person's own.
	ErrKeyTaken = fault.New(fault.Conflict, "That key was bound before: make a new one.").WithCode("key_taken")
	// ErrNotBound says that the key is not the one that signs for the person now.
	ErrNotBound = fault.New(fault.Conflict, "Another key took its place since, or it was undone already.").WithCode("not_bound")
	// ErrNotAKey says that a DID is not made from one key. Whoever has another kind changes
	// the keys in its document.
	ErrNotAKey = fault.New(fault.Conflict, "Only a did:key can be bound to another: change the keys in the document of the DID.").WithCode("not_did_key")
)

// IsKey reports whether the DID is made from one key, in its one spelling.
func IsKey(text string) bool {
	d, err := did.Parse(text)
	if err != nil || d.Method() != "key" || string(d) != text {
		return false
	}
	_, err = did.ParseKey(d)
	return err == nil
}

// bindings is what a node knows of them. It is never changed once it is there.
type bindings struct {
	keys map[did.DID]bound
	live map[did.DID]did.DID // by person
}

type bound struct {
	person did.DID
	lost   bool
	feed   int64
}

// person is in whose name a key signs.
func (b *bindings) person(key did.DID) did.DID {
	if b != nil {
		if one, ok := b.keys[key]; ok {
			return one.person
		}
	}
	return key
}

func (b *bindings) lost(key did.DID) bool { return b != nil && b.keys[key].lost }

// with returns what is known after news.
func (b *bindings) with(news []Binding) *bindings {
	next := &bindings{keys: make(map[did.DID]bound), live: make(map[did.DID]did.DID)}
	if b != nil {
		maps.Copy(next.keys, b.keys)
		maps.Copy(next.live, b.live)
	}
	for _, n := range news {
		key, person := did.DID(n.Key), did.DID(n.Person)
		if known, ok := next.keys[key]; ok && known.feed > n.Feed { // read before, told later
			continue
		}
		next.keys[key] = bound{person: person, lost: n.Lost, feed: n.Feed}
		if !n.Lost {
			next.live[person] = key
		}
	}
	return next
}

// loadBindings reads what is new of bindings.
func (s *Service) loadBindings(ctx context.Context) error {
	for {
		limited, cancel := context.WithTimeout(ctx, readLimit)
		news, err := s.store.Bindings(limited, s.revoked.boundUpTo(), pollPage)
		cancel()
		if err != nil {
			return fmt.Errorf("load bindings of keys: %w", err)
		}
		s.revoked.bind(news)
		if len(news) < pollPage {
			return nil
		}
	}
}

// KeysChanged makes a binding that was just stored count here at once, and within a
// second on the other nodes, as it would anyway.
func (s *Service) KeysChanged(ctx context.Context) {
	s.warn(ctx, s.Load(ctx))
	if s.hints == nil {
		return
	}
	if err := s.hints.Publish(ctx, hintRevoked, nil); err != nil {
		s.log.LogAttrs(ctx, slog.LevelDebug, "hint of a bound key not sent", slog.Any("error", err))
	}
}

// PersonOf returns in whose name the DID signs, as far as this node knows.
func (s *Service) PersonOf(key string) string { return string(s.revoked.bound().person(did.DID(key))) }

// KeyOf returns the DID of the key that signs for a person now.
func (s *Service) KeyOf(person string) string {
	if b := s.revoked.bound(); b != nil {
		if key, ok := b.live[did.DID(person)]; ok {
			return string(key)
		}
	}
	return person
}

// owner is who may be the root of grants on files: see owns. Whoever writes the namespace
// of a key means that of its person.
func (s *Service) owner(ctx context.Context, from Resolver) func(did.DID, ucan.Resource) (bool, error) {
	known := s.revoked.bound()
	return func(root did.DID, r ucan.Resource) (bool, error) {
		return owns(ctx, from, root, known.place(r))
	}
}

// place is the resource in the namespace that is meant.
func (b *bindings) place(r ucan.Resource) ucan.Resource {
	if b != nil && r.File && strings.HasPrefix(r.Namespace, didKey) {
		r.Namespace = string(b.person(did.DID(r.Namespace)))
	}
	return r
}
