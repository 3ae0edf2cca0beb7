package search

import (
	"maps"
	"slices"
)

// Opened are the ids of a namespace's segments that are open, or that a reading has.
func (s *Service) Opened(ns string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]bool{}
	for _, id := range s.opened.Of(ns) {
		open[id] = true
	}
	for _, r := range s.readings {
		if r.namespace == ns && len(open) == 0 {
			open["a reading"] = true
		}
	}
	return slices.Sorted(maps.Keys(open))
}
