package ratelimit

import "sync"

// Places bounds how many of one key are here at a time. Nobody waits: whoever finds no
// place is refused. A key costs nothing while nobody is here under it. A nil Places has
// room for all.
type Places struct {
	each int

	mu   sync.Mutex
	here map[Key]int
}

// NewPlaces returns Places of which each key has as many; 0 is no limit.
func NewPlaces(each int) *Places {
	if each <= 0 {
		return nil
	}
	return &Places{each: each, here: map[Key]int{}}
}

// Enter takes a place, and reports whether there was one. Whoever got one calls Leave.
func (p *Places) Enter(key Key) bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.here[key] >= p.each {
		return false
	}
	p.here[key]++
	return true
}

// Leave gives a place back.
func (p *Places) Leave(key Key) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.here[key]--; p.here[key] <= 0 {
		delete(p.here, key)
	}
}
