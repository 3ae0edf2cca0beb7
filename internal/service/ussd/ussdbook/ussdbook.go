// Package ussdbook holds the menus of a gateway: one for every service code, or for
// each its own.
//
// A text has one menu, or several behind lines of ---. A menu says for which codes it
// is; the one without codes is for all others. Parts with a name under shared are no
// menus: menus include them. It promises that a code leads to the menu of its longest
// beginning, and that a Shelf has every menu stored before a session names it, so
// that any node can continue the session. It refuses texts in which a code has two
// menus or none is for the others.
//
// Decision: ADR 0234.
package ussdbook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// The bounds of a text, in bytes and in menus and shared parts.
const (
	maxSource = 1 << 20
	maxParts  = 64
)

// Book is the menus of a gateway. It does not change.
type Book struct {
	fallback *ussdmenu.Menu
	routes   []route // the longest code first
}

type route struct {
	code string
	menu *ussdmenu.Menu
}

// Of is the book of a menu for all codes.
func Of(m *ussdmenu.Menu) *Book { return &Book{fallback: m} }

// Default is the menu of codes that have none of their own.
func (b *Book) Default() *ussdmenu.Menu { return b.fallback }

// For is the menu of a service code.
func (b *Book) For(code string) *ussdmenu.Menu {
	for _, r := range b.routes {
		if ussdmenu.CodeUnder(r.code, code) {
			return r.menu
		}
	}
	return b.fallback
}

// Same reports whether every code has the same menu in both books.
func (b *Book) Same(other *Book) bool {
	return b.fallback.Version() == other.fallback.Version() &&
		slices.EqualFunc(b.routes, other.routes, func(x, y route) bool {
			return x.code == y.code && x.menu.Version() == y.menu.Version()
		})
}

// Menus lists the menus, the default first.
func (b *Book) Menus() []*ussdmenu.Menu {
	out := []*ussdmenu.Menu{b.fallback}
	for _, r := range b.routes {
		if !slices.Contains(out, r.menu) {
			out = append(out, r.menu)
		}
	}
	return out
}

// Entry is a menu and the codes that lead to it; none are all others.
type Entry struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Codes   []string `json:"codes"`
}

// Entries lists the menus with their codes: the default first, then by their first codes.
func (b *Book) Entries() []Entry {
	out := []Entry{{Name: b.fallback.Name(), Version: b.fallback.Version(), Codes: []string{}}}
	for _, m := range b.Menus()[1:] {
		entry := Entry{Name: m.Name(), Version: m.Version()}
		for _, r := range b.routes {
			if r.menu == m {
				entry.Codes = append(entry.Codes, r.code)
			}
		}
		slices.Sort(entry.Codes)
		out = append(out, entry)
	}
	slices.SortFunc(out[1:], func(x, y Entry) int { return strings.Compare(x.Codes[0], y.Codes[0]) })
	return out
}

// head is what a part says of itself.
type head struct {
	Shared  string   `yaml:"shared"`
	Include []string `yaml:"include"`
	Codes   []string `yaml:"codes"`
}

// part is one of the documents of a text.
type part struct {
	head
	ussdmenu.Part
}

// Parse reads the menus of a text and checks each for the networks of its codes. The
// error is that of the context, or a *ussdmenu.CheckError that lists every issue.
func Parse(ctx context.Context, name string, text []byte, actions map[string]ussdmenu.ActionSpec,
	limits ussdmenu.Limits,
) (*Book, error) {
	issue := func(line int, format string, args ...any) error {
		return &ussdmenu.CheckError{Issues: []ussdmenu.Issue{{File: name, Line: line, Message: fmt.Sprintf(format, args...)}}}
	}
	if len(text) > maxSource {
		return nil, issue(1, "the file is larger than 1 MiB")
	}
	split := ussdmenu.Split(text)
	if len(split) > maxParts {
		return nil, issue(1, "the file has more than %d parts", maxParts)
	}
	work := ussdmenu.NewWork(ctx.Err)
	shared := map[string]part{}
	var menus []part
	for _, p := range split {
		if len(split) > 1 && len(bytes.TrimSpace(p.Text)) == 0 {
			continue // in front of the first line of ---, or behind the last
		}
		if err := work.Err(); err != nil {
			return nil, err
		}
		var h head
		if err := yamlfile.Unmarshal(p.Text, &h, maxSource); err != nil {
			return nil, ussdmenu.SyntaxError(name, p.Line, err)
		}
		switch _, twice := shared[h.Shared]; {
		case h.Shared == "":
			menus = append(menus, part{h, p})
		case twice:
			return nil, issue(p.Line, "there are two shared parts %q", h.Shared)
		default:
			shared[h.Shared] = part{h, p}
		}
	}
	var all []ussdmenu.Issue
	b, seen := &Book{}, map[string]bool{}
	for _, p := range menus {
		parts := []ussdmenu.Part{p.Part}
		for _, wanted := range p.Include {
			s, ok := shared[wanted]
			if !ok {
				return nil, issue(p.Line, "there is no shared part %q", wanted)
			}
			parts = append(parts, s.Part)
		}
		for _, code := range p.Codes {
			base, ok := ussdmenu.CodeBase(code)
			switch {
			case !ok:
				return nil, issue(p.Line, "%q is no service code, such as \"*384#\" or \"*384*7#\"", code)
			case seen[base]:
				return nil, issue(p.Line, "the code %q has two menus", code)
			}
			seen[base] = true
		}
		m, err := ussdmenu.ParseParts(work, name, parts, actions, limits.LeastOf(p.Codes))
		if refused, ok := errors.AsType[*ussdmenu.CheckError](err); ok {
			all = append(all, refused.Issues...)
			continue
		}
		if err != nil {
			return nil, err
		}
		switch {
		case len(p.Codes) > 0:
			for _, code := range p.Codes {
				b.routes = append(b.routes, route{code, m})
			}
		case b.fallback != nil:
			return nil, issue(p.Line, "two menus have no codes: say for which codes one of them is")
		default:
			b.fallback = m
		}
	}
	if len(all) > 0 {
		slices.SortStableFunc(all, func(x, y ussdmenu.Issue) int { return x.Line - y.Line })
		return nil, &ussdmenu.CheckError{Issues: slices.Compact(all)} // a shared part has the same in every menu
	}
	if b.fallback == nil {
		return nil, issue(1, "every menu has codes: leave them out of the one for all other codes")
	}
	slices.SortStableFunc(b.routes, func(x, y route) int { return len(y.code) - len(x.code) })
	return b, nil
}
