package filestore

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// NewShare registers a link: a delegation that the caller has made and signed.
// The store never sees the key that the link carries.
type NewShare struct {
	TokenCID string
	TwinCID  string // see ucan.UCAN.TwinCID
	Path     string
	Expires  time.Time // zero: never
	MaxUses  int64     // 0: unlimited
}

// Share registers a link, so that its use is counted and can be ended.
func (s *Service) Share(ctx context.Context, a Access, n NewShare) (Share, error) {
	scope, err := a.scope(Read)
	if err != nil {
		return Share{}, err
	}
	path, err := CleanFolder(n.Path)
	if err != nil {
		return Share{}, err
	}
	if !scope.Allows(path) {
		return Share{}, notFound()
	}
	if err := s.something(ctx, scope, path); err != nil {
		return Share{}, err
	}
	if n.MaxUses < 0 {
		return Share{}, fault.New(fault.Invalid, "maxUses must not be negative")
	}
	sh := Share{
		ID: newUUID(), Namespace: a.Namespace, Path: path, TokenCID: n.TokenCID, TwinCID: n.TwinCID, Created: s.now(), Expires: n.Expires, MaxUses: n.MaxUses, By: a.by(),
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
		err = notFound()
	}
	return err
}

// State is what became of a link.
func (sh Share) State(now time.Time) string {
	switch {
	case !sh.Revoked.IsZero():
		return "ended"
	case sh.MaxUses > 0 && sh.Uses >= sh.MaxUses:
		return "used up"
	case !sh.Expires.IsZero() && !sh.Expires.After(now):
		return "expired"
	default:
		return "open"
	}
}

// whose tells which links the caller may see and end: its own, and where it may
// do everything, all of them. Whoever merely reads a file, as by a link, learns of
// no other link to it.
func (a Access) whose() (Whose, error) {
	own, err := a.scope(Read)
	if err != nil {
		return Whose{}, err
	}
	every, err := a.scope(All)
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

// countUse counts one reading of content under every link in the chain. Whatever
// shows text of a file is a reading: content whole or in part, of any version, the
// lines that a search, a grep or a diff found, and an export.
func (s *Service) countUse(ctx context.Context, a Access) error {
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
