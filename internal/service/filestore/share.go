package filestore

import (
	"context"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// NewShare registers a link: a delegation that the caller has made and signed.
// The store never sees the key that the link carries (ADR 0034).
type NewShare struct {
	TokenCID string
	TwinCID  string // see ucan.UCAN.TwinCID
	Path     string
	Expires  time.Time // zero: never
	MaxUses  int64     // 0: unlimited
}

// Share registers a link, so that its use is counted and can be ended.
func (s *Service) Share(ctx context.Context, a Access, n NewShare) (Share, error) {
	scope, err := a.Scope(Read)
	if err != nil {
		return Share{}, err
	}
	path, err := filename.CleanFolder(n.Path)
	if err != nil {
		return Share{}, err
	}
	if !scope.Allows(path) {
		return Share{}, NotFound()
	}
	if err := s.something(ctx, scope, path); err != nil {
		return Share{}, err
	}
	if n.MaxUses < 0 {
		return Share{}, fault.New(fault.Invalid, "maxUses must not be negative")
	}
	sh := Share{
		ID: filename.New(), Namespace: a.Namespace, Path: path, TokenCID: n.TokenCID, TwinCID: n.TwinCID, Created: s.now(),
		Expires: n.Expires, MaxUses: n.MaxUses, By: a.By(),
	}
	if had, err := s.store.SharesOf(ctx, []string{n.TokenCID}); err != nil || len(had) > 0 {
		if err == nil {
			err = fault.New(fault.Conflict, "the link already exists")
		}
		return Share{}, err
	}
	return sh, s.store.CreateShare(ctx, sh)
}

// something fails unless a file is at or below a path. The root is always there.
func (s *Service) something(ctx context.Context, scope Scope, path string) error {
	if path == "/" {
		return nil
	}
	files, err := s.store.Files(ctx, scope, ListQuery{Under: path, Limit: 1})
	if err == nil && len(files) == 0 {
		err = NotFound()
	}
	return err
}

// State is what became of a link.
func (sh Share) State(now time.Time) string {
	switch {
	case !sh.Revoked.IsZero():
		return "ended"
	case sh.MaxUses > 0 && sh.Uses >= sh.MaxUses, sh.MaxBytes > 0 && sh.Bytes >= sh.MaxBytes:
		return "used up"
	case !sh.Expires.IsZero() && !sh.Expires.After(now):
		return "expired"
	default:
		return "open"
	}
}

// DropFull says that an upload link takes no more bytes.
func DropFull() error {
	return fault.New(fault.TooLarge, "the link does not take that many bytes").WithCode("link_full")
}

// whose tells which links the caller may see and end: its own, and where it may
// do everything, all of them. Whoever merely reads a file, as by a link, learns of
// no other link to it.
func (a Access) whose() (Whose, error) {
	own, err := a.Scope(Read)
	if err != nil {
		return Whose{}, err
	}
	every, err := a.Scope(All)
	if err != nil {
		every = Scope{Namespace: a.Namespace} // nothing
	}
	return Whose{Every: every, Own: own, Maker: a.Invoker}, nil
}

// Shares lists the links, newest first.
func (s *Service) Shares(ctx context.Context, a Access, p Page) ([]Share, error) {
	w, err := a.whose()
	if err != nil {
		return nil, err
	}
	return s.store.Shares(ctx, w, p.Limit, p.Offset)
}

// EndShare ends a link at once.
func (s *Service) EndShare(ctx context.Context, a Access, id string) error {
	w, err := a.whose()
	if err != nil {
		return err
	}
	return s.store.RevokeShare(ctx, w, id, s.now())
}

// Admit refuses an access whose chain has a link that is over. It does not count.
func (s *Service) Admit(ctx context.Context, a Access) error {
	if len(a.Chain) == 0 {
		return nil
	}
	links, err := s.store.SharesOf(ctx, a.Chain)
	if err != nil {
		return err
	}
	for _, l := range links {
		if state := l.State(s.now()); state != "open" {
			return fault.New(fault.Forbidden, "the link is over: it is "+state).WithCode("link_over")
		}
	}
	return nil
}

// CountsUses reports whether a link in the chain is for a number of readings.
func (s *Service) CountsUses(ctx context.Context, a Access) (bool, error) {
	if len(a.Chain) == 0 {
		return false, nil
	}
	links, err := s.store.SharesOf(ctx, a.Chain)
	return slices.ContainsFunc(links, func(l Share) bool { return l.MaxUses > 0 }), err
}

// CountUse counts one reading of content under every link in the chain. Whatever
// shows text of a file is a reading: content whole or in part, of any version, the
// lines that a search, a grep or a diff found, and an export.
func (s *Service) CountUse(ctx context.Context, a Access) error {
	if len(a.Chain) == 0 {
		return nil
	}
	links, err := s.store.SharesOf(ctx, a.Chain)
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(links))
	for _, l := range links {
		ids = append(ids, l.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	return s.store.UseShares(ctx, ids, s.now())
}

// Share is a link: a delegation whose maker wants to count and end its use.
type Share struct {
	ID        string
	Namespace string
	Path      string
	TokenCID  string
	TwinCID   string // of the same delegation with the mirrored signature; empty when it has none
	Created   time.Time
	Expires   time.Time
	MaxUses   int64 // 0 is unlimited
	Uses      int64
	Revoked   time.Time
	By        By
	// MaxBytes is not 0 of an upload link: how much may come by it. Bytes is what came.
	MaxBytes, Bytes int64
}

// Whose says which links are meant: all to what Every reaches, and those to what
// Own reaches that Maker made.
type Whose struct {
	Every, Own Scope
	Maker      string
}

// Shares keeps share links.
type Shares interface {
	CreateShare(ctx context.Context, sh Share) error
	Shares(ctx context.Context, w Whose, limit, offset int) ([]Share, error)
	// SharesOf returns the links that are among the tokens, or whose twins are.
	SharesOf(ctx context.Context, tokens []string) ([]Share, error)
	RevokeShare(ctx context.Context, w Whose, id string, now time.Time) error
	// UseShares counts one use of every link, or, when one of them is over, of none.
	UseShares(ctx context.Context, ids []string, now time.Time) error
}
