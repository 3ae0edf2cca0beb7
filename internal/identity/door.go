package identity

import (
	"context"
	"slices"
	"sync"
)

// Door decides who may come in, of those who proved who they are. It is asked
// for every request, whatever is remembered of the token. Implementations answer
// from memory nearly always.
type Door interface {
	// Admit returns the DID that answers for the principal. A refusal is
	// Forbidden and says what to do; Unavailable means that nobody can tell now.
	Admit(ctx context.Context, p Principal) (sponsor string, err error)
	// Bar fails when somebody keeps the principal out. It is asked at surfaces that
	// take people whom the Door does not know.
	Bar(p Principal) error
	// OnLeave calls end when the principal is not let in any more, unless stop
	// was called before. end must not block and may be called at once.
	OnLeave(p Principal, end func()) (stop func())
}

// Roots returns whose authority the principal's grants are, each once. A
// bare delegation proves no capability, so it has none.
func (p Principal) Roots() []string {
	if p.Kind == ByDelegation {
		return nil
	}
	var roots []string
	for i := range p.Grants {
		if root := string(p.Grants[i].Root); !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// openDoor lets everybody in.
type openDoor struct{}

func (openDoor) Admit(_ context.Context, p Principal) (string, error) { return p.DID, nil }

func (openDoor) Bar(Principal) error { return nil }

func (openDoor) OnLeave(Principal, func()) (stop func()) { return func() {} }

// enter asks the door on behalf of a principal that was verified.
func (s *Service) enter(ctx context.Context, surface Surface, p Principal) (Principal, error) {
	if surface.IsOpen() {
		if err := s.door.Bar(p); err != nil {
			return Principal{}, err
		}
		p.Sponsor = p.DID
		return p, nil
	}
	sponsor, err := s.door.Admit(ctx, p)
	if err != nil {
		return Principal{}, err
	}
	p.Sponsor = sponsor
	return p, nil
}

// Stands fails when a principal that was let in would not be any more, but for the time
// that has passed: transfers may take longer than a token lives.
func (s *Service) Stands(ctx context.Context, p Principal) error {
	if err := s.current(ctx); err != nil {
		return err
	}
	if s.revoked.hits(p.Chain) {
		return ErrEnded
	}
	return s.door.Bar(p)
}

// OnEnd is Watch without a goroutine that waits: end is called once, when the
// principal's token is revoked or expires or its owner is shown the door, unless
// stop was called before. It must not block; it may run before OnEnd returns.
func (s *Service) OnEnd(p Principal, end func()) (stop func()) {
	end = sync.OnceFunc(end)
	expired, withdrawn := s.onExpired(p, end), s.OnWithdrawn(p, end)
	return func() {
		expired()
		withdrawn()
	}
}

// OnWithdrawn is OnEnd for what ends by itself, such as an answer: whoever was
// let in hears it out, also when the token expires meanwhile.
func (s *Service) OnWithdrawn(p Principal, end func()) (stop func()) {
	end = sync.OnceFunc(end)
	revoked, left := s.OnRevoked(p, end), s.door.OnLeave(p, end)
	return func() {
		revoked()
		left()
	}
}
