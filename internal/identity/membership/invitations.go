package membership

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Bounds of an invitation.
const (
	DefaultUses = 1
	MaxUses     = 10_000
	DefaultLife = 7 * 24 * time.Hour
	MaxLife     = 90 * 24 * time.Hour
	minLife     = time.Minute
	maxNote     = 200
)

// codeLength is that of crypto/rand's Text: 130 bits in base32.
const codeLength = 26

// codeAlphabet is what a code is written with. There is one spelling: another
// case, padding or blanks make another code, which nobody made.
const codeAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// NewInvitation asks for an invitation. Zero values are the defaults.
type NewInvitation struct {
	Uses int64
	Life time.Duration
	Note string
}

// Book keeps members and invitations for operators, and lets people redeem
// invitations. Its methods may be called from many goroutines and processes.
type Book struct {
	store Store
	now   func() time.Time
	// named are members by a setting, which only the setting can remove.
	named map[string]bool
}

// NewBook returns a book. named are the DIDs of the setting; now may be nil.
func NewBook(store Store, named []string, now func() time.Time) (*Book, error) {
	if now == nil {
		now = time.Now
	}
	b := &Book{store: store, now: now, named: make(map[string]bool, len(named))}
	for _, text := range named {
		d, err := parseMember(text)
		if err != nil {
			return nil, err
		}
		b.named[d] = true
	}
	return b, nil
}

// AddMember adds a DID.
func (b *Book) AddMember(ctx context.Context, text, note string) (Member, bool, error) {
	d, err := parseMember(text)
	if err != nil {
		return Member{}, false, err
	}
	if err := checkNote(note); err != nil {
		return Member{}, false, err
	}
	m := Member{DID: d, Note: note, Added: b.now()}
	added, err := b.store.AddMember(ctx, m)
	if err != nil {
		return Member{}, false, fmt.Errorf("add member: %w", err)
	}
	return m, added, nil
}

// RemoveMember ends a membership; open connections end with it.
func (b *Book) RemoveMember(ctx context.Context, text string) error {
	d, err := parseMember(text)
	if err != nil {
		return err
	}
	if b.named[d] {
		return fault.New(fault.Conflict, "The DID is named by ACCESS_DIDS: take it out of that setting and restart.").WithCode("named_by_setting")
	}
	removed, err := b.store.RemoveMember(ctx, d, b.now())
	if err != nil {
		return fmt.Errorf("remove member: %w", err)
	}
	if !removed {
		return fault.New(fault.NotFound, "The DID is not a member.")
	}
	return nil
}

// IsNamed reports whether the setting names a DID.
func (b *Book) IsNamed(did string) bool { return b.named[did] }

// Named returns how many members the setting names.
func (b *Book) Named() int { return len(b.named) }

// Members lists members in order of DID, after one. Those of the setting are
// not among them.
func (b *Book) Members(ctx context.Context, after string, limit int) ([]Member, error) {
	return b.store.Members(ctx, after, limit)
}

// CountMembers returns how many there are, without those of the setting.
func (b *Book) CountMembers(ctx context.Context) (int64, error) { return b.store.CountMembers(ctx) }

// Invite makes an invitation. The code is told once: it is not kept.
func (b *Book) Invite(ctx context.Context, n NewInvitation) (i Invitation, code string, err error) {
	n.Uses = cmp.Or(n.Uses, DefaultUses)
	n.Life = cmp.Or(n.Life, DefaultLife)
	switch {
	case n.Uses < 1 || n.Uses > MaxUses:
		return Invitation{}, "", fault.Newf(fault.Invalid, "uses must be a whole number from 1 to %d", MaxUses)
	case n.Life < minLife || n.Life > MaxLife:
		return Invitation{}, "", fault.New(fault.Invalid, "an invitation lasts from one minute to 90 days")
	}
	if err := checkNote(n.Note); err != nil {
		return Invitation{}, "", err
	}
	code = rand.Text()
	now := b.now()
	i = Invitation{
		ID: strings.ToLower(rand.Text()[:12]), Note: n.Note, Hash: hashOf(code), MaxUses: n.Uses, Created: now,
		Expires: now.Add(n.Life),
	}
	if err := b.store.AddInvitation(ctx, i); err != nil {
		return Invitation{}, "", fmt.Errorf("store invitation: %w", err)
	}
	return i, code, nil
}

func checkNote(note string) error {
	if utf8.RuneCountInString(note) > maxNote || strings.ContainsRune(note, 0) {
		return fault.Newf(fault.Invalid, "note must be shorter than or equal to %d characters", maxNote)
	}
	return nil
}

// Invitations lists invitations, the newest first, made before a time.
func (b *Book) Invitations(ctx context.Context, before time.Time, limit int) ([]Invitation, error) {
	return b.store.Invitations(ctx, before, limit)
}

// RevokeInvitation withdraws an invitation. Whoever came by it stays.
func (b *Book) RevokeInvitation(ctx context.Context, id string) error {
	revoked, err := b.store.RevokeInvitation(ctx, id, b.now())
	if err != nil {
		return fmt.Errorf("revoke invitation: %w", err)
	}
	if !revoked {
		return fault.New(fault.NotFound, "There is no such invitation that still counts.")
	}
	return nil
}

// Redeem makes the DID a member by the code of an invitation. Doing it again
// with the same DID is fine.
func (b *Book) Redeem(ctx context.Context, d, code string) (Member, error) {
	if b.named[d] {
		return Member{DID: d}, nil
	}
	if len(code) != codeLength || strings.Trim(code, codeAlphabet) != "" {
		return Member{}, ErrNoInvitation
	}
	return b.store.Redeem(ctx, Redemption{Hash: hashOf(code), DID: d, At: b.now()})
}

// hashOf names a code. It has 130 random bits, so that a fast hash does.
func hashOf(code string) string {
	sum := sha256.Sum256([]byte("castalia invitation " + code))
	return hex.EncodeToString(sum[:])
}
