package oracle

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// VersionKind says how a version of a turn came to be.
type VersionKind string

// A turn is first asked as it is; later versions ask the same again, or something
// else in its place.
const (
	Original    VersionKind = "original"
	Regenerated VersionKind = "regenerated"
	Edited      VersionKind = "edited"
)

// MaxVersions bounds the versions of one turn.
const MaxVersions = 64

// VersionOf makes a turn a version of another one: it stands in its place, behind
// what came before it, and hides what followed it.
type VersionOf struct {
	// Root is the first version of the turn.
	Root int64       `json:"root"`
	Kind VersionKind `json:"kind"`
}

// Refusals around versions. A message of somebody else is not there.
var (
	ErrMessageNotFound = fault.New(fault.NotFound, "Message not found")
	ErrTooManyVersions = fault.New(fault.Conflict, "This message has too many versions").WithCode("too_many_versions")
	ErrChoosing        = fault.New(fault.Conflict, "A run is going on in this session: wait for it, or stop it").WithCode("run_active")
)

// TurnNode is a turn's place among the branches of a session.
type TurnNode struct {
	Turn int64
	// Parent is the turn before it on its branch; 0 for the first.
	Parent int64
	// Root is the first version of the turn: itself, when there is no other.
	Root int64
	Kind VersionKind
	// Chosen says that among its versions it is the one to show.
	Chosen bool
	// Hidden says that it, or a turn before it, is not the chosen one.
	Hidden bool
}

// Branches are the turns of a session, in the order of their numbers. A session in
// which nothing was asked anew is one line, and keeps no branches.
type Branches []TurnNode

func (b Branches) find(turn int64) *TurnNode {
	i, ok := slices.BinarySearchFunc(b, turn, func(n TurnNode, turn int64) int { return int(n.Turn - turn) })
	if !ok {
		return nil
	}
	return &b[i]
}

// Adopt adds turns that were asked since the branches last changed: they follow
// each other behind the end of what is shown. turns are all that the session has.
func (b Branches) Adopt(turns []int64) Branches {
	var last int64
	for _, n := range b {
		if !n.Hidden {
			last = n.Turn
		}
	}
	for _, turn := range turns {
		if b.find(turn) == nil {
			b = append(b, TurnNode{Turn: turn, Parent: last, Root: turn, Kind: Original, Chosen: true})
			last = turn
		}
	}
	return b
}

// Fork adds a turn, with the highest number of all, as the chosen version of
// another.
func (b Branches) Fork(turn int64, v VersionOf) (Branches, error) {
	root := b.find(v.Root)
	if root == nil || root.Root != root.Turn {
		return nil, ErrMessageNotFound
	}
	n := 0
	for i := range b {
		if b[i].Root == v.Root {
			n++
		}
	}
	if n >= MaxVersions {
		return nil, ErrTooManyVersions
	}
	b = append(b, TurnNode{Turn: turn, Parent: root.Parent, Root: v.Root, Kind: v.Kind, Chosen: true})
	return b, b.show(turn)
}

// Choose shows a turn: it and the turns before it become the chosen ones of their
// versions, and what follows it is what was last shown there.
func (b Branches) Choose(turn int64) error {
	if b.find(turn) == nil {
		return ErrMessageNotFound
	}
	return b.show(turn)
}

func (b Branches) show(turn int64) error {
	chosen := map[int64]int64{} // by root
	for at := turn; at != 0; {
		n := b.find(at)
		if n == nil || n.Parent >= at {
			return errors.New("a turn's branch does not lead to the beginning of its session")
		}
		chosen[n.Root] = at
		at = n.Parent
	}
	for i := range b { // parents have lower numbers, and come first
		if at, ok := chosen[b[i].Root]; ok {
			b[i].Chosen = b[i].Turn == at
		}
		parent := b.find(b[i].Parent)
		b[i].Hidden = !b[i].Chosen || parent != nil && parent.Hidden
	}
	return nil
}

// Diverge is the first turn that two states of the branches do not both show or
// hide; 0 when there is none.
func (b Branches) Diverge(before Branches) int64 {
	for _, n := range b {
		if old := before.find(n.Turn); (old == nil || old.Hidden) != n.Hidden {
			return n.Turn
		}
	}
	return 0
}

// Version is one version of a turn, as its user sees it.
type Version struct {
	// MessageID is the human message's.
	MessageID string
	Turn      int64
	Root      int64
	Kind      VersionKind
	Chosen    bool
	// Content is the human message's, in lists of one turn's versions: as much of it as
	// tells it from the others. Shortened says that there is more.
	Content   string
	Shortened bool
	CreatedAt time.Time
}

// VersionText is how many characters of a message are in a list of versions, behind
// which an ellipsis stands for the rest.
const VersionText = 2000

// VersionPlace says which of several versions of its turn a message belongs to.
type VersionPlace struct {
	// Number counts from 1; MessageIDs are the human messages of all versions.
	Number     int
	MessageIDs []string
	Kind       VersionKind
}

// Asked is a turn that is to be asked anew: what was sent, and what it is a
// version of.
type Asked struct {
	Request TurnRequest
	// Read is the message's files with what was read from them.
	Read []Attachment
	Root int64
}

// LastTurn names the last turn of what is shown, where a message is asked for.
const LastTurn = "last"

// Asked returns the turn of one of the user's messages; LastTurn is one, too.
func (s *Service) Asked(ctx context.Context, owner, sessionID, messageID string) (Asked, error) {
	if !PlausibleID(sessionID) {
		return Asked{}, ErrSessionNotFound
	}
	if !PlausibleID(messageID) {
		return Asked{}, ErrMessageNotFound
	}
	return s.store.Asked(ctx, owner, sessionID, messageID)
}

// Versions lists the versions of the turn of one of the user's messages, oldest
// first.
func (s *Service) Versions(ctx context.Context, owner, sessionID, messageID string) ([]Version, error) {
	asked, err := s.Asked(ctx, owner, sessionID, messageID)
	if err != nil {
		return nil, err
	}
	return s.store.Versions(ctx, owner, sessionID, asked.Root)
}

// mark adds to messages what is known about them beside the transcript: which
// version each turn is, and what the user thinks of answers.
func (s *Service) mark(ctx context.Context, session Session, list []Message) error {
	feedback, err := s.store.Feedback(ctx, session.Owner, session.ID)
	if err != nil {
		return err
	}
	for i := range list {
		if f, ok := feedback[list[i].ID]; ok {
			list[i].Feedback = &f
		}
	}
	if session.Branch == 0 {
		return nil
	}
	all, err := s.store.Versions(ctx, session.Owner, session.ID, 0)
	if err != nil {
		return err
	}
	versions, roots := map[int64]VersionPlace{}, map[int64]int64{}
	for _, v := range all {
		at := versions[v.Root]
		at.MessageIDs = append(at.MessageIDs, v.MessageID)
		versions[v.Root], roots[v.Turn] = at, v.Root
	}
	kinds := map[int64]VersionKind{}
	for _, v := range all {
		kinds[v.Turn] = v.Kind
	}
	for i, m := range list {
		root, ok := roots[m.Turn]
		if !ok || m.Role != Human {
			continue
		}
		at := versions[root]
		at.Number, at.Kind = slices.Index(at.MessageIDs, m.ID)+1, kinds[m.Turn]
		list[i].Version = &at
	}
	return nil
}

// Choose shows the branch of one of the user's messages.
func (s *Service) Choose(ctx context.Context, owner, sessionID, messageID string) error {
	if !PlausibleID(sessionID) {
		return ErrSessionNotFound
	}
	if !PlausibleID(messageID) {
		return ErrMessageNotFound
	}
	return s.store.Choose(ctx, owner, sessionID, messageID)
}
