package ussdmenu

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Graph is a menu as nodes and edges, for drawing.
type Graph struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Start   string `json:"start"`
	Nodes   []Node `json:"nodes"`
	Edges   []Edge `json:"edges"`
}

// Node is a screen or an action.
type Node struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Kind  string `json:"kind"` // menu, input, secret, end or action
	Text  string `json:"text,omitempty"`
	Count int64  `json:"count"`
}

// Edge is a way from one node to another. Through an action the edges of a
// screen go to where the action's outcomes lead, too: their Via names it.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label,omitempty"`
	When  string `json:"when,omitempty"`
	Via   string `json:"via,omitempty"`
	Count int64  `json:"count"`
}

// Screens lists the ids of the menu's screens in order.
func (m *Menu) Screens() []string { return slices.Sorted(maps.Keys(m.src.Screens)) }

// Graph returns the menu as a graph.
func (m *Menu) Graph() Graph {
	g := Graph{Name: m.name, Version: m.version, Start: m.src.Start}
	for _, id := range m.Screens() {
		s := m.src.Screens[id]
		n := Node{ID: id, State: m.StateName(id), Kind: "menu", Text: s.Text[m.languages[0]]}
		switch {
		case s.End:
			n.Kind = "end"
		case s.Input != nil && s.Input.Secret():
			n.Kind = "secret"
		case s.Input != nil:
			n.Kind = "input"
		}
		g.Nodes = append(g.Nodes, n)
		m.screenEdges(&g, s)
	}
	for _, id := range slices.Sorted(maps.Keys(m.src.Actions)) {
		a := m.src.Actions[id]
		state := a.State
		if state == "" {
			state = id
		}
		g.Nodes = append(g.Nodes, Node{ID: id, State: state, Kind: "action", Text: a.Run})
	}
	return g
}

func (m *Menu) screenEdges(g *Graph, s *Screen) {
	lang := m.languages[0]
	for i := range s.Options {
		o := &s.Options[i]
		label := o.Key
		if !o.Hidden {
			label += " " + o.Label[lang]
		}
		m.edges(g, s.id, o.Next, label, o.When, nil)
	}
	if s.Input != nil {
		m.edges(g, s.id, s.Input.Next, s.Input.Var, Guard{}, nil)
	}
	if len(s.Back) > 0 {
		m.edges(g, s.id, s.Back, m.src.Keys.Back+" "+m.labels.back[lang], Guard{}, nil)
	}
	if s.CanExit {
		m.edges(g, s.id, Next{{To: ToExit}}, m.src.Keys.Exit+" "+m.labels.exit[lang], Guard{}, nil)
	}
}

// edges adds the ways of one input. An action is followed to where it leads.
func (m *Menu) edges(g *Graph, from string, n Next, label string, when Guard, via []string) {
	for _, t := range n {
		to := t.To
		switch to {
		case ToStart, ToResume:
			to = m.src.Start
		case ToExit:
			to = m.src.Exit
		case ToSame:
			to = from
		}
		guard := strings.TrimSpace(when.String() + " " + t.When.String())
		a := m.src.Actions[to]
		if a == nil {
			g.Edges = append(g.Edges, Edge{From: from, To: to, Label: label, When: guard, Via: strings.Join(via, " > ")})
			continue
		}
		for _, outcome := range slices.Sorted(maps.Keys(a.On)) {
			m.edges(g, from, a.On[outcome], label+": "+outcome, t.When, append(slices.Clone(via), to))
		}
	}
}

// Mermaid draws the graph as a Mermaid flow chart.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	shape := map[string][2]string{
		"menu": {"[", "]"}, "input": {"[/", "/]"}, "secret": {"[/", "/]"}, "end": {"([", "])"}, "action": {"{{", "}}"},
	}
	used := map[string]bool{}
	for _, e := range g.Edges {
		used[e.From], used[e.To] = true, true
	}
	for _, n := range g.Nodes {
		if n.Kind == "action" || !used[n.ID] && n.ID != g.Start {
			continue
		}
		sh := shape[n.Kind]
		fmt.Fprintf(&b, "  %s%s%s%s\n", n.ID, sh[0], quote(n.ID+"<br/>"+first(n.Text)), sh[1])
	}
	for _, e := range g.Edges {
		label := e.Label
		if e.When != "" {
			label += " (" + e.When + ")"
		}
		fmt.Fprintf(&b, "  %s -->|%s| %s\n", e.From, quote(label), e.To)
	}
	return b.String()
}

func first(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	if r := []rune(line); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return line
}

// quote writes a Mermaid label: everything that Mermaid would read as syntax
// becomes an entity.
func quote(s string) string {
	s = strings.NewReplacer(`"`, "#quot;", "{", "#123;", "}", "#125;", "|", "#124;").Replace(s)
	return `"` + s + `"`
}
