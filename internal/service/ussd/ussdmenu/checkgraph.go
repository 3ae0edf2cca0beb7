package ussdmenu

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ways returns the names that a screen or an action may lead to. What a :same
// of an action means depends on the caller, so callers is asked.
func (c *checker) ways(id string, callers map[string][]string) []string {
	var out []string
	add := func(n Next) {
		for _, t := range n {
			if !c.work.spend(1) {
				return
			}
			if t.To == ToSame {
				if !c.work.spend(kept * len(callers[id])) {
					return
				}
				out = append(out, callers[id]...)
				continue
			}
			out = append(out, c.target(id, t.To))
		}
	}
	if s := c.src.Screens[id]; s != nil {
		for i := range s.Options {
			add(s.Options[i].Next)
		}
		if s.Input != nil {
			add(s.Input.Next)
		}
		add(s.Back)
		if s.CanExit {
			out = append(out, c.src.Exit)
		}
	}
	if a := c.src.Actions[id]; a != nil {
		for _, outcome := range slices.Sorted(maps.Keys(a.On)) {
			add(a.On[outcome])
		}
	}
	return out
}

// callers lists, for every screen and action, the screens that :same may mean
// there: the screen itself, or those that run the action, at once or behind
// another one.
func (c *checker) callers() map[string][]string {
	callers := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(c.src.Screens)) {
		run := c.closure(c.ways(id, nil), func(to string) []string {
			if c.src.Actions[to] == nil {
				return nil
			}
			return c.ways(to, nil)
		})
		if !c.work.spend(kept * len(run)) {
			return callers
		}
		for to := range run {
			if c.src.Actions[to] != nil {
				callers[to] = append(callers[to], id)
			}
		}
		callers[id] = append(callers[id], id)
	}
	return callers
}

// checkGraph finds screens that nothing reaches, dead ends, traps from which no
// end can be reached, and actions that call each other in a circle.
func (c *checker) checkGraph() {
	ids := slices.Concat(slices.Sorted(maps.Keys(c.src.Screens)), slices.Sorted(maps.Keys(c.src.Actions)))
	callers := c.callers()
	for id, a := range c.src.Actions {
		for _, n := range a.On {
			for _, t := range n {
				if t.To != ToSame || len(t.Notice) == 0 {
					continue
				}
				if !c.work.spend(kept * len(callers[id])) {
					return
				}
				for _, caller := range callers[id] {
					c.notices[caller] = append(c.notices[caller], t.Notice)
				}
			}
		}
	}
	reached := c.closure([]string{c.src.Start, c.src.Exit, c.src.Resume, c.src.Language}, func(id string) []string {
		return c.ways(id, callers)
	})
	back := map[string][]string{}
	var ends []string
	for _, id := range ids {
		for _, to := range c.ways(id, callers) {
			back[to] = append(back[to], id)
		}
		if s := c.src.Screens[id]; s != nil && s.End {
			ends = append(ends, id)
		}
	}
	leaves := c.closure(ends, func(id string) []string { return back[id] })
	for _, id := range ids {
		path, what := "screens."+id, "screen"
		if c.src.Actions[id] != nil {
			path, what = "actions."+id, "action"
		}
		switch {
		case !reached[id]:
			c.report(path, "%s %q is unreachable", what, id)
		case c.deadEnd(id):
			c.report(path, "%s %q is a dead end", what, id)
		case !leaves[id]:
			c.report(path, "no way leads from %s %q to the end of the session", what, id)
		}
	}
	if !c.work.spend(len(ids)) {
		return // what was seen of the ways is not all
	}
	row := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(c.src.Actions)) {
		c.checkRow(id, nil, row)
	}
}

// deadEnd reports whether a user on the screen may have nothing to answer.
func (c *checker) deadEnd(id string) bool {
	s := c.src.Screens[id]
	if s == nil || s.End || s.Input != nil || len(s.Back) > 0 || s.CanExit {
		return false
	}
	for i := range s.Options {
		if s.Options[i].When.Always() {
			return false
		}
	}
	return true
}

func (c *checker) closure(from []string, next func(string) []string) map[string]bool {
	seen := map[string]bool{}
	for len(from) > 0 && c.work.spend(1) {
		id := from[len(from)-1]
		from = from[:len(from)-1]
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		from = append(from, next(id)...)
	}
	return seen
}

// maxCircle is how many actions of a circle are named.
const maxCircle = 12

// MaxActions is how many actions one input may run, one after the other.
const MaxActions = 8

// checkRow finds actions that call each other in a circle, and rows of them that
// are longer than a session runs. It returns the longest row that begins with
// the action, and keeps it in row: each action is looked at once.
func (c *checker) checkRow(id string, above []string, row map[string]int) int {
	const open = -1
	switch n, seen := row[id]; {
	case n == open:
		circle := append(slices.Clone(above[slices.Index(above, id):]), id)
		if len(circle) > maxCircle {
			circle = slices.Concat(circle[:maxCircle-1], []string{"…", id})
		}
		c.report("actions."+id, "actions call each other in a circle: %s", strings.Join(circle, " > "))
		return 0
	case seen:
		return n
	}
	row[id] = open
	a, longest := c.src.Actions[id], 0
	for _, outcome := range slices.Sorted(maps.Keys(a.On)) {
		for _, t := range a.On[outcome] {
			if c.src.Actions[t.To] != nil {
				longest = max(longest, c.checkRow(t.To, append(above, id), row))
			}
		}
	}
	longest++
	if longest == MaxActions+1 {
		c.report("actions."+id, "action %q may be the first of %d in a row; %d run at most", id, longest, MaxActions)
	}
	row[id] = longest
	return longest
}

// checkSize finds texts that may not fit into one message, or onto the pages of one.
func (c *checker) checkSize(s *Screen) {
	path := "screens." + s.id
	for _, lang := range c.src.Languages {
		z := s.texts[lang].worst(c.src)
		for i := range s.Options {
			if !s.Options[i].Hidden {
				z.add("\n" + s.Options[i].Key + ". ")
				z.plus(s.Options[i].labels[lang].worst(c.src))
			}
		}
		frame := c.pinned(s, lang)
		z.plus(frame)
		// Each notice for itself: the longest need not be the one that takes most.
		worst, ucs2 := z, z.UCS2
		for _, notice := range c.noticeSizes(s, lang) {
			ucs2 = ucs2 || notice.UCS2
			if notice.plus(z); c.limit.Over(notice) > c.limit.Over(worst) {
				worst = notice
			}
		}
		if !c.work.spend(len(s.Options) + worst.Units) {
			return
		}
		switch {
		case worst.Units > maxScreen:
			c.report(path+".text", "screen %q can have %d characters over all its pages in %q; %d are the most", s.id, worst.Units, lang, maxScreen)
		case s.Paged:
			c.checkPaged(s, lang, frame, ucs2)
		case c.limit.Over(worst) > 0:
			c.report(path+".text", "screen %q can exceed one message in %q and is not paged: %s", s.id, lang, c.tooLong(worst))
		}
	}
}

// noticeSizes are the sizes of what may stand above the screen, or nothing.
func (c *checker) noticeSizes(s *Screen, lang string) []Size {
	sizes := []Size{{}}
	for _, text := range c.notices[s.id] {
		if !c.work.spend(1 + len(text[lang])) {
			return sizes
		}
		sizes = append(sizes, Measure(text[lang]+"\n"))
	}
	return sizes
}

func (c *checker) tooLong(z Size) string {
	if z.UCS2 {
		return fmt.Sprintf("%d characters where %d fit, because some are not in the GSM alphabet", z.Units, c.limit.Units)
	}
	return fmt.Sprintf("%d septets where %d fit", z.Septets, c.limit.Septets)
}

// pinned is the size of the lines that every page of the screen repeats.
func (c *checker) pinned(s *Screen, lang string) Size {
	var z Size
	if len(s.Back) > 0 {
		z.add("\n" + c.src.Keys.Back + ". " + c.src.Labels.Back[lang])
	}
	if s.CanExit {
		z.add("\n" + c.src.Keys.Exit + ". " + c.src.Labels.Exit[lang])
	}
	return z
}

// checkPaged makes sure that each option, and some of the text, has a page to
// stand on. A notice goes on from page to page, as the text does.
func (c *checker) checkPaged(s *Screen, lang string, frame Size, ucs2 bool) {
	next, previous := c.src.Labels.Next[lang], c.src.Labels.Previous[lang]
	if !c.work.spend(len(next) + len(previous)) {
		return
	}
	frame.add("\n" + c.src.Keys.Next + ". " + next)
	frame.add("\n" + c.src.Keys.Previous + ". " + previous)
	frame.UCS2 = frame.UCS2 || ucs2
	text := frame
	text.add(strings.Repeat("x", 10))
	if c.limit.Over(text) > 0 {
		c.report("screens."+s.id+".text", "screen %q has no room for its text between the lines of every page in %q", s.id, lang)
	}
	for i := range s.Options {
		z := frame
		z.add("\n" + s.Options[i].Key + ". ")
		z.plus(s.Options[i].labels[lang].worst(c.src))
		if !s.Options[i].Hidden && c.limit.Over(z) > 0 {
			c.report(fmt.Sprintf("screens.%s.options[%d].label", s.id, i), "option %q of screen %q does not fit on a page in %q", s.Options[i].Key, s.id, lang)
		}
	}
}
