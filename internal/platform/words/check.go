package words

import (
	"maps"
	"slices"
)

// Keys are the names of all texts, sorted.
func (l *Language) Keys() []string { return slices.Sorted(maps.Keys(l.texts)) }

// Places are the values that a text takes, sorted.
func (l *Language) Places(key string) []string {
	found := map[string]bool{}
	places(l.texts[key], found)
	return slices.Sorted(maps.Keys(found))
}

func places(text []node, found map[string]bool) {
	for _, n := range text {
		if n.name != "" {
			found[n.name] = true
		}
		for _, form := range n.forms {
			places(form, found)
		}
	}
}
