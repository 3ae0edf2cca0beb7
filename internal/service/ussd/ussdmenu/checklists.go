package ussdmenu

import (
	"maps"
	"slices"
	"strconv"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

// checkLists checks the lists that the menu declares. What is in their files is not
// the menu's: it changes by itself.
func (c *checker) checkLists() {
	secrets := c.secrets()
	for _, name := range slices.Sorted(maps.Keys(c.src.Lists)) {
		path, l := "lists."+name, c.src.Lists[name]
		if !formName.MatchString(name) {
			c.report(path, "a list's name has 1 to 40 of a-z, 0-9, - and _, and begins with a letter")
		}
		for _, p := range l.Check() {
			c.report(join(path, p.Field), "%s", p.Message)
		}
		c.checkText(path+".show", l.Show)
		for _, v := range slices.Concat(slices.Sorted(maps.Keys(l.Take)), slices.Sorted(maps.Values(l.Where))) {
			c.checkKept(path, v, secrets, "no list fills it, or is narrowed by it")
		}
	}
}

// checkRows reports keys of a screen that are numbers of rows which are chosen there: the key
// would win, and the row could not be had.
func (c *checker) checkRows(s *Screen, keys map[string]bool) {
	chosen := slices.ContainsFunc(s.Input.Next, func(t Target) bool {
		a := c.src.Actions[t.To]
		return a != nil && c.actions[a.Run].Row
	})
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if n, err := strconv.Atoi(key); chosen && err == nil && n >= 1 && n <= ussdlist.MaxShown {
			c.report("screens."+s.id, "the key %q of screen %q is the number of a row too: rows have 1 to %d", key, s.id, ussdlist.MaxShown)
		}
	}
}

// Lists returns the lists that the menu declares, by name.
func (m *Menu) Lists() map[string]ussdlist.List { return m.src.Lists }

// List returns the name of the list that a Call reads, and the list.
func (m *Menu) List(call string) (string, ussdlist.List) {
	a := m.src.Actions[call]
	if a == nil {
		return "", ussdlist.List{}
	}
	return a.List, m.src.Lists[a.List]
}

// Fitting returns as many of the lines, from the first on, as a variable shows whole.
func (m *Menu) Fitting(variable string, lines []string) []string {
	room := m.src.Variables[variable].Max
	for i, line := range lines {
		z := Measure(line + "\n")
		if room -= max(z.Septets, z.Units); room < 0 {
			return lines[:max(i, 1)]
		}
	}
	return lines
}
