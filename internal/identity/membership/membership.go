// Package membership decides who may come in, of those who proved who they are.
//
// A deployment is open to everybody, takes people by invitation, or is closed
// but for a list. A member is a DID: named by a setting, added by the operator,
// or bound to an invitation that its owner redeemed. Whoever uses the proved
// authority of a member is let in with it, so that links and agents of members
// work; what a member shared opens nothing else.
//
// It promises that an invitation is never used more often than it says, on
// however many nodes; that redeeming it twice with one DID is using it once; and
// that a member who was removed is refused on every node within a second, also
// where a connection is open. A node that cannot find out who left lets nobody
// in. It refuses to keep the code of an invitation: only its hash is stored.
//
// The package does no HTTP and no SQL: membershiphttp has the routes,
// membershipsql keeps the records.
//
// Decision: ADR 0150.
package membership

import (
	"context"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// Mode says who may come in.
type Mode string

// The modes.
const (
	// Open: everybody who has a key.
	Open Mode = "open"
	// Invite: members, and whoever redeems an invitation.
	Invite Mode = "invite"
	// Closed: members alone.
	Closed Mode = "closed"
)

// Known reports whether the mode is one of the three.
func (m Mode) Known() bool { return m == Open || m == Invite || m == Closed }

// String says it in words, for people.
func (m Mode) String() string {
	switch m {
	case Open:
		return "open: everybody who makes a key"
	case Invite:
		return "invite: members, and who has an invitation"
	case Closed:
		return "closed: members alone"
	}
	return "unknown"
}

// Member is a DID that may come in.
type Member struct {
	DID  string
	Note string
	// Invite is the id of the invitation that the member came by, or "".
	Invite string
	Added  time.Time
}

// Departure is a member that was removed, in the order of the feed.
type Departure struct {
	Feed int64
	DID  string
	// Blocked and Unblocked say that it is a block, or the end of one.
	Blocked, Unblocked bool
}

// Invitation lets a number of people in for a while.
type Invitation struct {
	ID   string
	Note string
	// Hash is that of the code, which is kept nowhere.
	Hash    string
	MaxUses int64
	Uses    int64
	Created time.Time
	Expires time.Time
	Revoked time.Time // zero: not
}

// Over says why an invitation does not count any more, or "".
func (i Invitation) Over(at time.Time) string {
	switch {
	case !i.Revoked.IsZero():
		return "was withdrawn"
	case !at.Before(i.Expires):
		return "has expired"
	case i.Uses >= i.MaxUses:
		return "has been used up"
	}
	return ""
}

// Redemption is an attempt to come in with a code.
type Redemption struct {
	Hash string
	DID  string
	At   time.Time
}

// Store keeps members and invitations. All of it is shared by the nodes of a fleet.
type Store interface {
	// AddMember adds or brings back a member; false says that it was one already.
	AddMember(ctx context.Context, m Member) (added bool, err error)
	// RemoveMember ends a membership and enters it into the feed; false says
	// that there was none.
	RemoveMember(ctx context.Context, member string, at time.Time) (removed bool, err error)
	// IsMember reports whether the DID is a member now.
	IsMember(ctx context.Context, name string) (bool, error)
	// Members lists members in order of DID, after one.
	Members(ctx context.Context, after string, limit int) ([]Member, error)
	// CountMembers returns how many there are.
	CountMembers(ctx context.Context) (int64, error)
	// Departures lists who was removed, blocked or unblocked with a higher number, in order of number.
	// One that becomes visible has a higher number than all that were visible.
	Departures(ctx context.Context, after int64, limit int) ([]Departure, error)
	// Block keeps a DID out and enters that into the feed; a later one replaces it.
	Block(ctx context.Context, b Block) error
	// Unblock ends a block and enters that into the feed; false says that there was none.
	Unblock(ctx context.Context, name string, at time.Time) (ended bool, err error)
	// Blocked returns the block of a DID; nil: there is none.
	Blocked(ctx context.Context, name string) (*Block, error)
	// BlockedDIDs lists who is kept out in order of DID, after one.
	BlockedDIDs(ctx context.Context, after string, limit int) ([]string, error)
	// Member returns a member; nil: the DID is none.
	Member(ctx context.Context, name string) (*Member, error)
	// MembersNoted lists members whose note begins with a text, whatever the case of its
	// English letters, in order of note.
	MembersNoted(ctx context.Context, begins string, limit int) ([]Member, error)
	// SetQuota stores what a DID may have and enters that into the feed of quotas.
	SetQuota(ctx context.Context, q Quota) error
	// Quota returns what was set last for a DID; nil: nothing was.
	Quota(ctx context.Context, name string) (*Quota, error)
	// QuotaChanges lists quotas with a higher number, in order of number, those among them
	// that were taken back. One that becomes visible has a higher number than all that were.
	QuotaChanges(ctx context.Context, after int64, limit int) ([]Quota, error)
	// AddInvitation stores an invitation.
	AddInvitation(ctx context.Context, i Invitation) error
	// Invitations lists invitations, the newest first, before a time.
	Invitations(ctx context.Context, before time.Time, limit int) ([]Invitation, error)
	// RevokeInvitation withdraws one; false says that there is none that counts.
	RevokeInvitation(ctx context.Context, id string, at time.Time) (bool, error)
	// Redeem makes the DID a member if the invitation counts, and counts the use,
	// both or neither. A DID that has redeemed it, or is a member already, uses
	// nothing up. Whoever was removed after the invitation was made does not come
	// back by it.
	Redeem(ctx context.Context, r Redemption) (Member, error)
	// Choice returns the mode that was chosen last, or "".
	Choice(ctx context.Context) (Mode, error)
	// Choose records the mode.
	Choose(ctx context.Context, m Mode, at time.Time) error
}

// The refusals of Redeem.
var (
	ErrNoInvitation = fault.New(fault.NotFound, "There is no such invitation: check that the link is whole, or ask the operator for a new one.").
			WithCode("invitation_unknown")
	ErrRemoved = fault.New(fault.Forbidden, "Your membership was ended by the operator: ask them for a new invitation.").
			WithCode("member_removed")
)

// ErrOver is the refusal of an invitation that does not count any more.
func ErrOver(why string) error {
	return fault.New(fault.Gone, "The invitation "+why+": ask the operator for a new one.").WithCode("invitation_over")
}

// parseMember checks the DID of a member: tokens name it in the same spelling.
func parseMember(text string) (string, error) {
	d, err := did.Parse(text)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, fmt.Sprintf("%.80q is not a DID, such as did:key:z6Mk…", text), err)
	}
	return string(d), nil
}
