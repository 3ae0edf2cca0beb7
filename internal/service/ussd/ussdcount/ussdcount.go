// Package ussdcount adds up what happens in telephone sessions, and says what the sums
// mean for operators.
package ussdcount

import (
	"cmp"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// Count is one line of the daily statistics: a screen shown, a move from one to
// another, a session left or ended on a screen.
type Count struct{ Menu, Kind, From, To string }

// The kinds of counts.
const (
	CountShown = "shown"
	CountMove  = "move"
	CountLeft  = "left"
	CountEnded = "ended"
	// CountRefused has a dialect, a field and a rule in the place of menu and screens.
	CountRefused = "refused"
)

// FunnelStep is how many sessions saw a screen, left the service there without
// an end, or ended there.
type FunnelStep struct {
	Screen string `json:"screen"`
	State  string `json:"state"`
	Shown  int64  `json:"shown"`
	Left   int64  `json:"left"`
	Ended  int64  `json:"ended"`
	// DropOff is left by shown, between 0 and 1.
	DropOff float64 `json:"dropOff"`
}

// Of leaves out what was counted on the other menus of a text. What older versions counted is
// not known to be of one of them, and stays.
func Of(m *ussdmenu.Menu, all []*ussdmenu.Menu, counts map[Count]int64) map[Count]int64 {
	others := map[string]bool{}
	for _, other := range all {
		others[other.Version()] = other != m
	}
	out := make(map[Count]int64, len(counts))
	for c, n := range counts {
		if !others[c.Menu] {
			out[c] = n
		}
	}
	return out
}

// Funnel returns the screens of a menu, the most shown first, with their counts.
func Funnel(m *ussdmenu.Menu, counts map[Count]int64) []FunnelStep {
	byScreen := map[string]*FunnelStep{}
	for _, id := range m.Screens() {
		byScreen[id] = &FunnelStep{Screen: id, State: m.StateName(id)}
	}
	for c, n := range counts {
		step := byScreen[c.From]
		if step == nil {
			continue
		}
		switch c.Kind {
		case CountShown:
			step.Shown += n
		case CountLeft:
			step.Left += n
		case CountEnded:
			step.Ended += n
		}
	}
	out := make([]FunnelStep, 0, len(byScreen))
	for _, step := range byScreen {
		if step.Shown > 0 {
			step.DropOff = float64(step.Left) / float64(step.Shown)
		}
		out = append(out, *step)
	}
	slices.SortFunc(out, func(a, b FunnelStep) int {
		if a.Shown != b.Shown {
			return int(b.Shown - a.Shown)
		}
		return strings.Compare(a.Screen, b.Screen)
	})
	return out
}

// Graph returns a menu as a graph, with how often each edge was taken.
func Graph(m *ussdmenu.Menu, counts map[Count]int64) ussdmenu.Graph {
	g := m.Graph()
	shown, moved := map[string]int64{}, map[[2]string]int64{}
	for c, n := range counts {
		switch c.Kind {
		case CountShown:
			shown[c.From] += n
		case CountMove:
			moved[[2]string{c.From, c.To}] += n
		}
	}
	for i := range g.Nodes {
		g.Nodes[i].Count = shown[g.Nodes[i].ID]
	}
	for i := range g.Edges {
		g.Edges[i].Count = moved[[2]string{g.Edges[i].From, g.Edges[i].To}]
	}
	return g
}

// Refusal is how often requests of a dialect broke a rule. Field and Rule are
// words of the program: what was sent may be a number or a PIN.
type Refusal struct {
	Dialect string `json:"dialect" jsonschema:"the adapter; empty is the session endpoint"`
	Field   string `json:"field"`
	Rule    string `json:"rule"`
	Count   int64  `json:"count"`
}

// Refusals lists what requests were refused for, the most frequent first.
func Refusals(counts map[Count]int64) []Refusal {
	out := []Refusal{}
	for c, n := range counts {
		if c.Kind == CountRefused {
			out = append(out, Refusal{Dialect: c.Menu, Field: c.From, Rule: c.To, Count: n})
		}
	}
	slices.SortFunc(out, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Field, b.Field),
			cmp.Compare(a.Rule, b.Rule))
	})
	return out
}
