package ussdbook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// Store keeps the sources of menus by their versions.
type Store interface {
	SaveMenu(ctx context.Context, version string, source []byte, now time.Time) error
	Menu(ctx context.Context, version string) ([]byte, error)
}

// Shelf holds the menus that new sessions begin on and the versions that older
// sessions finish on. It is safe for concurrent use.
type Shelf struct {
	store Store
	parse func(version string, source []byte) (*ussdmenu.Menu, error)

	mu      sync.RWMutex
	current *Book
	stored  map[string]bool // versions of the current book that the store has
	known   map[string]*ussdmenu.Menu
}

// maxKnown bounds how many versions stay parsed.
const maxKnown = 64

// NewShelf returns a shelf with the book on it. parse reads a stored version.
func NewShelf(store Store, b *Book, parse func(version string, source []byte) (*ussdmenu.Menu, error)) *Shelf {
	s := &Shelf{store: store, parse: parse, known: map[string]*ussdmenu.Menu{}}
	s.put(b)
	return s
}

// Now returns the menu for a new session of a service code. The version is in the
// store before a session names it.
func (s *Shelf) Now(ctx context.Context, code string, at time.Time) (*ussdmenu.Menu, error) {
	s.mu.RLock()
	m := s.current.For(code)
	stored := s.stored[m.Version()]
	s.mu.RUnlock()
	if stored {
		return m, nil
	}
	if err := s.store.SaveMenu(ctx, m.Version(), m.Source(), at); err != nil {
		return nil, fmt.Errorf("store menu %s: %w", m.Version(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[m.Version()] = true // versions are contents: it is stored, whatever book is current
	return m, nil
}

// Swap makes b the menus of new sessions.
func (s *Shelf) Swap(b *Book) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(b)
}

func (s *Shelf) put(b *Book) {
	s.current, s.stored = b, map[string]bool{}
	for _, m := range b.Menus() {
		s.remember(m)
	}
}

// Book returns the menus of new sessions.
func (s *Shelf) Book() *Book {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

func (s *Shelf) remember(m *ussdmenu.Menu) {
	if len(s.known) >= maxKnown {
		for version := range s.known {
			delete(s.known, version) // the store has it, or the book
			break
		}
	}
	s.known[m.Version()] = m
}

// Version returns the menu that a session began on, or what parse or the store say.
func (s *Shelf) Version(ctx context.Context, version string) (*ussdmenu.Menu, error) {
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
	if m, err = s.parse(version, source); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(m)
	return m, nil
}
