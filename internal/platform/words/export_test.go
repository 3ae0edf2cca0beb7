package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Faults says what the languages lack beside English, for who translates.
func (b *Book) Faults() []string {
	var found []string
	english := b.English()
	for _, l := range b.all {
		for _, key := range l.Keys() {
			if english.texts[key] == nil {
				found = append(found, fmt.Sprintf("%s: %s: English has no such text", l.Code, key))
			}
		}
		for _, key := range english.Keys() {
			if l.texts[key] == nil {
				found = append(found, fmt.Sprintf("%s: %s is missing", l.Code, key))
				continue
			}
			if has, needs := l.Places(key), english.Places(key); !slices.Equal(has, needs) {
				found = append(found, fmt.Sprintf("%s: %s takes %s, and in English %s", l.Code, key, list(has), list(needs)))
			}
			found = append(found, l.lackingForms(key, l.texts[key], english.texts[key])...)
		}
	}
	return found
}

// lackingForms says which forms of plurals and choices a text does not have.
func (l *Language) lackingForms(key string, text, original []node) []string {
	var found []string
	for _, n := range text {
		if n.kind == "" {
			continue
		}
		wanted := l.forms()
		if n.kind == "select" {
			wanted = nil
			for _, o := range original {
				if o.kind == n.kind && o.name == n.name {
					wanted = slices.Sorted(maps.Keys(o.forms))
				}
			}
		}
		for _, form := range wanted {
			if n.forms[form] == nil {
				found = append(found, fmt.Sprintf("%s: %s: {%s, %s} lacks %s", l.Code, key, n.name, n.kind, form))
			}
		}
	}
	return found
}

// forms are the plural forms that whole numbers have in the language.
func (l *Language) forms() []string {
	found := map[string]bool{}
	for n := range int64(1001) {
		found[l.form(n)] = true
	}
	found[l.form(1_000_000)] = true
	return slices.Sorted(maps.Keys(found))
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
