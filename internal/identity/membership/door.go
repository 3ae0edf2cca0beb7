package membership

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/recent"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/feed"
)

// hintLeft is the subject on which a node tells the others that somebody left.
const hintLeft = "identity.left"

const (
	departurePage = 1000
	// rememberedMembers bounds how many DIDs a node knows to be members.
	rememberedMembers = 100_000
)

// The texts of refusals.
const (
	textInvite  = "This oracle takes members by invitation: ask its operator for a link."
	textClosed  = "This oracle is closed to newcomers: ask its operator to add your DID."
	textUnknown = "Whether you are a member cannot be found out at the moment."
)

// CodeNotMember is the machine word of a refusal at the door.
const CodeNotMember = "not_a_member"

// Config says how a Door decides.
type Config struct {
	// Mode says who may come in now; it is asked each time.
	Mode func() Mode
	// ServiceDID is the service's own name: what it does with its own authority
	// alone is let in.
	ServiceDID string
	Hints      feed.Hints // nil: only the poll
	Head       *feed.Head // that of departures; nil: each poll reads them
	Logger     *slog.Logger
}

// Door is an identity.Door over a Book.
type Door struct {
	cfg  Config
	book *Book
	news *feed.Follower

	// cursor is how far the feed was read; only the follower's reading moves it.
	cursor int64
	// recorded is the mode as it was last noted for a start without the document; only
	// the follower's reading moves it.
	recorded Mode
	// members are DIDs that were looked up. The map is replaced when somebody
	// leaves, so that an answer that was looked up before is not remembered.
	members atomic.Pointer[recent.Map[string, struct{}]]

	// blocked is who is kept out, all of them, by the feed. The map is never changed, but
	// replaced.
	blocked atomic.Pointer[map[string]bool]

	mu      sync.Mutex
	watches map[*watch]struct{}
}

var _ identity.Door = (*Door)(nil)

type watch struct {
	p   identity.Principal
	end func()
	// unsure says that the principal must be looked at, whoever left.
	unsure bool
}

// NewDoor returns a door. Run must run for connections to end when somebody leaves.
func NewDoor(book *Book, cfg Config) (*Door, error) {
	if cfg.Mode == nil || !cfg.Mode().Known() {
		return nil, errors.New("membership: no mode")
	}
	d := &Door{cfg: cfg, book: book, recorded: cfg.Mode(), watches: make(map[*watch]struct{})}
	d.members.Store(recent.New[string, struct{}](rememberedMembers))
	d.news = feed.New(feed.Config{
		Subject: hintLeft, Read: d.read, Unknown: textUnknown, Hints: cfg.Hints, Head: cfg.Head, Logger: cfg.Logger,
	})
	return d, nil
}

// Mode says who may come in.
func (d *Door) Mode() Mode { return d.cfg.Mode() }

// Run follows who leaves until the context ends.
func (d *Door) Run(ctx context.Context) error { return d.news.Run(ctx) }

// Announce makes every node look who left, at once here.
func (d *Door) Announce(ctx context.Context) {
	d.news.Tell(ctx)
	if err := d.news.Load(ctx); err != nil && d.cfg.Logger != nil {
		d.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "who left is read later", slog.Any("error", err))
	}
}

// Admit implements identity.Door. A principal is let in by its own membership,
// or when every authority that it has proved is a member's.
func (d *Door) Admit(ctx context.Context, p identity.Principal) (sponsor string, err error) {
	if err := d.news.Current(ctx); err != nil {
		return "", err
	}
	return d.allow(ctx, p)
}

// allow lets in whom nobody keeps out and for whom somebody answers.
func (d *Door) allow(ctx context.Context, p identity.Principal) (sponsor string, err error) {
	if err := d.Bar(p); err != nil {
		return "", err
	}
	if d.cfg.Mode() == Open {
		return p.DID, nil
	}
	return d.vouch(ctx, p)
}

// vouch finds the member by whose word the principal may come in.
func (d *Door) vouch(ctx context.Context, p identity.Principal) (sponsor string, err error) {
	if p.DID != d.cfg.ServiceDID { // which answers with its own authority alone
		if is, err := d.isMember(ctx, p.DID); err != nil || is {
			return p.DID, err
		}
	}
	for _, root := range p.Roots() {
		if root != d.cfg.ServiceDID {
			is, err := d.isMember(ctx, root)
			if err != nil {
				return "", err
			}
			if !is {
				return "", d.refusal(p.DID)
			}
		}
		if sponsor == "" || sponsor == d.cfg.ServiceDID {
			sponsor = root
		}
	}
	if sponsor == "" {
		return "", d.refusal(p.DID)
	}
	return sponsor, nil
}

// AdmitDID is Admit for work that is done in the name of somebody who has shown
// no token now, such as a message from a linked team chat.
func (d *Door) AdmitDID(ctx context.Context, did string) error {
	_, err := d.Admit(ctx, identity.Principal{DID: did, Root: did, Kind: identity.ByDelegation})
	return err
}

// IsMember reports whether a DID is a member, whoever else may come in.
func (d *Door) IsMember(ctx context.Context, did string) (bool, error) {
	if err := d.news.Current(ctx); err != nil {
		return false, err
	}
	return d.isMember(ctx, did)
}

// refusal says what to do. The DID is the caller's own: the operator needs it.
func (d *Door) refusal(did string) error {
	text := textInvite
	if d.cfg.Mode() == Closed {
		text = textClosed
	}
	return fault.New(fault.Forbidden, text).WithCode(CodeNotMember).WithField("reason", CodeNotMember).WithField("did", did)
}

func (d *Door) isMember(ctx context.Context, did string) (bool, error) {
	if d.book.named[did] {
		return true, nil
	}
	known := d.members.Load()
	if _, ok := known.Get(did, time.Time{}); ok {
		return true, nil
	}
	is, err := d.book.store.IsMember(ctx, did)
	if err != nil {
		return false, fault.Wrap(fault.Unavailable, textUnknown, err)
	}
	if is {
		known.Put(did, struct{}{}, time.Time{}, 1)
	}
	return is, nil
}

// read takes in who left, and whether others may come in than before.
func (d *Door) read(ctx context.Context) (more bool, err error) {
	d.noteMode(ctx)
	gone, err := d.book.store.Departures(ctx, d.cursor, departurePage)
	if err != nil {
		return false, err
	}
	left := make([]string, len(gone))
	for i, g := range gone {
		left[i] = g.DID
	}
	d.keepOut(gone)
	if len(gone) > 0 {
		d.members.Store(recent.New[string, struct{}](rememberedMembers))
		d.cursor = gone[len(gone)-1].Feed
	}
	d.showOut(ctx, left)
	return len(gone) == departurePage, nil
}

// noteMode looks who may come in now: those who are here are looked at again. The choice
// is recorded where a start finds it that knows no document, as one of an earlier release.
func (d *Door) noteMode(ctx context.Context) {
	mode := d.cfg.Mode()
	if mode == d.recorded {
		return
	}
	d.mu.Lock()
	for w := range d.watches {
		w.unsure = true
	}
	d.mu.Unlock()
	if err := d.book.store.Choose(ctx, mode, d.book.now()); err != nil { // the next reading tries again
		if d.cfg.Logger != nil {
			d.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "who may come in is noted later", slog.Any("error", err))
		}
		return
	}
	d.recorded = mode
}

// showOut ends what was let in by the word of those who left, unless another
// word lets it in. When nobody can tell it ends too: it may come again.
func (d *Door) showOut(ctx context.Context, left []string) {
	d.mu.Lock()
	var concerned []*watch
	for w := range d.watches {
		if w.unsure || concerns(w.p, left) {
			w.unsure = false
			concerned = append(concerned, w)
		}
	}
	d.mu.Unlock()
	for _, w := range concerned {
		if _, err := d.allow(ctx, w.p); err == nil {
			continue
		}
		d.mu.Lock()
		_, waiting := d.watches[w]
		delete(d.watches, w)
		d.mu.Unlock()
		if waiting {
			w.end()
		}
	}
}

func concerns(p identity.Principal, left []string) bool {
	return slices.ContainsFunc(wordsOf(p), func(did string) bool { return slices.Contains(left, did) })
}

// OnLeave implements identity.Door.
func (d *Door) OnLeave(p identity.Principal, end func()) (stop func()) {
	// Somebody may have left, or have been blocked, since the principal was let in: the
	// next reading looks again.
	w := &watch{p: p, end: end, unsure: true}
	d.mu.Lock()
	d.watches[w] = struct{}{}
	d.mu.Unlock()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watches, w)
	}
}
