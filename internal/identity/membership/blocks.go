package membership

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// CodeBlocked is the machine word of a refusal of somebody whom operators keep out.
const CodeBlocked = "blocked"

// errBlocked names nobody and no reason: operators know both.
var errBlocked = fault.New(fault.Forbidden, "The operator of this oracle has blocked you.").WithCode(CodeBlocked).WithField("reason", CodeBlocked)

// Block is that operators keep somebody out, whoever else may come in: them, and what is
// done by their word.
type Block struct {
	DID string
	// Note says why, for operators.
	Note string
	// By is the operator.
	By string
	At time.Time
}

// Block keeps a DID out. Every node refuses it within a second, and what is open ends.
func (b *Book) Block(ctx context.Context, text, note, by string) (Block, error) {
	d, err := parseMember(text)
	if err != nil {
		return Block{}, err
	}
	if err := checkNote(note); err != nil {
		return Block{}, err
	}
	block := Block{DID: d, Note: note, By: by, At: b.now()}
	if err := b.store.Block(ctx, block); err != nil {
		return Block{}, fmt.Errorf("block: %w", err)
	}
	return block, nil
}

// Unblock lets a DID come in again, as others do.
func (b *Book) Unblock(ctx context.Context, text string) error {
	d, err := parseMember(text)
	if err != nil {
		return err
	}
	ended, err := b.store.Unblock(ctx, d, b.now())
	if err != nil {
		return fmt.Errorf("unblock: %w", err)
	}
	if !ended {
		return fault.New(fault.NotFound, "The DID is not blocked.")
	}
	return nil
}

// Standing is what the book has of a DID: nil is no member, and no block.
func (b *Book) Standing(ctx context.Context, did string) (*Member, *Block, error) {
	m, err := b.store.Member(ctx, did)
	if err != nil {
		return nil, nil, err
	}
	block, err := b.store.Blocked(ctx, did)
	return m, block, err
}

// BlockedDIDs lists who is kept out in order of DID, after one.
func (b *Book) BlockedDIDs(ctx context.Context, after string, limit int) ([]string, error) {
	return b.store.BlockedDIDs(ctx, after, limit)
}

// Below is a text that is smaller than all that begin with another, and larger than nearly all
// that do not: no sign of a DID is larger than a tilde.
func Below(prefix string) string {
	if prefix == "" {
		return ""
	}
	last := len(prefix) - 1
	if prefix[last] >= utf8.RuneSelf { // no DID has such a sign
		return prefix
	}
	return prefix[:last] + string(rune(prefix[last]-1)) + "~"
}

// MembersNamed lists members whose DID begins with something, in order of DID, after one.
func (b *Book) MembersNamed(ctx context.Context, begins, after string, limit int) ([]Member, error) {
	list, err := b.store.Members(ctx, max(after, Below(begins)), limit)
	return slices.DeleteFunc(list, func(m Member) bool { return !strings.HasPrefix(m.DID, begins) }), err
}

// MembersNoted lists members whose note begins with something, whatever its case.
func (b *Book) MembersNoted(ctx context.Context, begins string, limit int) ([]Member, error) {
	return b.store.MembersNoted(ctx, strings.TrimSpace(begins), limit)
}

// keepOut takes in who is blocked and who is not any more.
func (d *Door) keepOut(news []Departure) {
	if !slices.ContainsFunc(news, func(n Departure) bool { return n.Blocked || n.Unblocked }) {
		return
	}
	next := map[string]bool{}
	if known := d.blocked.Load(); known != nil {
		maps.Copy(next, *known)
	}
	for _, n := range news {
		switch {
		case n.Blocked:
			next[n.DID] = true
		case n.Unblocked:
			delete(next, n.DID)
		}
	}
	d.blocked.Store(&next)
}

// Bar implements identity.Door: it fails where somebody is kept out by whose word the
// principal comes.
func (d *Door) Bar(p identity.Principal) error {
	blocked := d.blocked.Load()
	if blocked == nil || len(*blocked) == 0 {
		return nil
	}
	if slices.ContainsFunc(wordsOf(p), func(did string) bool { return (*blocked)[did] }) {
		return errBlocked
	}
	return nil
}

// wordsOf are all by whose word a principal comes: itself, whose authority it has, and
// whoever passed that on.
func wordsOf(p identity.Principal) []string {
	words := append([]string{p.DID, p.Key, p.Root}, p.Roots()...)
	for _, link := range p.Chain {
		words = append(words, string(link.Issuer), string(link.Person))
	}
	return words
}
