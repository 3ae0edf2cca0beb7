package ussd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// menuShelf holds the menu that new sessions begin on and the versions that
// older sessions finish on.
type menuShelf struct {
	store   Store
	mu      sync.RWMutex
	current *ussdmenu.Menu
	stored  bool // the store has the current one
	known   map[string]*ussdmenu.Menu
}

// maxMenus bounds how many versions stay parsed.
const maxMenus = 64

func newMenuShelf(store Store, m *ussdmenu.Menu) *menuShelf {
	return &menuShelf{store: store, current: m, known: map[string]*ussdmenu.Menu{m.Version(): m}}
}

// now returns the menu for a new session. The version is in the store before a
// session names it, so that any node can continue the session.
func (s *menuShelf) now(ctx context.Context, at time.Time) (*ussdmenu.Menu, error) {
	s.mu.RLock()
	m, stored := s.current, s.stored
	s.mu.RUnlock()
	if stored {
		return m, nil
	}
	if err := s.store.SaveMenu(ctx, m.Version(), m.Source(), at); err != nil {
		return nil, fmt.Errorf("store menu %s: %w", m.Version(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == m {
		s.stored = true
	}
	return m, nil
}

// swap makes m the menu of new sessions.
func (s *menuShelf) swap(m *ussdmenu.Menu) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Version() == m.Version() {
		return
	}
	s.current, s.stored = m, false
	s.remember(m)
}

func (s *menuShelf) peek() *ussdmenu.Menu {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

func (s *menuShelf) remember(m *ussdmenu.Menu) {
	if len(s.known) >= maxMenus {
		for version := range s.known {
			if version != s.current.Version() {
				delete(s.known, version)
				break
			}
		}
	}
	s.known[m.Version()] = m
}

// version returns the menu that a session began on; ErrNoMenu when it is gone
// or a newer program's checker refuses it.
func (s *menuShelf) version(ctx context.Context, version string) (*ussdmenu.Menu, error) {
	s.mu.RLock()
	m := s.known[version]
	s.mu.RUnlock()
	if m != nil {
		return m, nil
	}
	source, err := s.store.Menu(ctx, version)
	if err != nil {
		return nil, fmt.Errorf("load menu %s: %w", version, err)
	}
	// It was checked for the networks of its time; what they do not show is paged.
	m, err = ParseMenu("menu "+version, source, ussdmenu.Message())
	if err != nil {
		return nil, errors.Join(ErrNoMenu, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(m)
	return m, nil
}
