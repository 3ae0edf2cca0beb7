package ussdlist

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Reader reads lists. It is asked within a hop, and must not wait for long.
type Reader interface {
	// Table returns the rows of a list as they are now.
	Table(ctx context.Context, l List) (*Table, error)
}

// Screen knows what the variables of a menu show.
type Screen interface {
	// Fitting returns as many of the lines, from the first on, as a variable shows whole.
	Fitting(variable string, lines []string) []string
	// Shows reports whether a variable shows a value whole.
	Shows(variable, value string) bool
}

// Ask is what a session asks of a list.
type Ask struct {
	From     Reader // nil: there are no lists
	Name     string
	List     List
	Language string
	Vars     map[string]string
	Screen   Screen
}

// The outcomes of asking. The error beside Failed is for the log.
const (
	OK     = "ok"
	None   = "none"   // no row has the words
	Wrong  = "wrong"  // no such number was shown
	Gone   = "gone"   // the row that was shown is not there any more, or is another
	Failed = "failed" // the list cannot be read, or does not fit the menu
)

// varShown keeps, among a session's variables, of which list the rows are that it shows, and
// the id of each: like the rows they are what was read, whatever the list says by now.
const varShown = "rows:"

// Read finds the rows that have the word that the caller typed. They are the session's from
// then on: its pages do not move when the list changes. Where one of them can be chosen, each
// has a number.
func (a Ask) Read(ctx context.Context) (outcome string, set map[string]string, err error) {
	if a.From == nil {
		return Failed, nil, nil
	}
	t, err := a.From.Table(ctx, a.List)
	if err != nil {
		return Failed, nil, fmt.Errorf("list %s: %w", a.Name, err)
	}
	page, err := t.Find(a.List, a.Language, a.Vars)
	switch {
	case err != nil:
		return Failed, nil, fmt.Errorf("list %s: %w", a.Name, err)
	case page.Found == 0:
		return None, nil, nil
	case len(a.List.Take) > 0:
		for i := range page.Rows {
			page.Rows[i] = fmt.Sprintf("%d. %s", i+1, page.Rows[i])
		}
	}
	rows := a.Screen.Fitting(varRows, page.Rows)
	set = map[string]string{varRows: strings.Join(rows, "\n"), varFound: strconv.Itoa(page.Found), varShown: ""}
	if len(a.List.Take) > 0 {
		set[varShown] = strings.Join(append([]string{a.Name}, page.IDs[:len(rows)]...), " ")
	}
	return OK, set, nil
}

// Choose takes the row whose number the caller typed, as it is now: its columns fill the
// variables that the list names. What an earlier choice filled is not this one's.
func (a Ask) Choose(ctx context.Context) (outcome string, set map[string]string, err error) {
	set = make(map[string]string, len(a.List.Take))
	for variable := range a.List.Take {
		set[variable] = ""
	}
	shown := strings.Fields(a.Vars[varShown])
	n, err := strconv.Atoi(a.Vars[varRow])
	if err != nil || n < 1 || n >= len(shown) || shown[0] != a.Name {
		return Wrong, set, nil //nolint:nilerr // not a number is not a choice
	}
	if a.From == nil {
		return Failed, set, nil
	}
	t, err := a.From.Table(ctx, a.List)
	if err != nil {
		return Failed, set, fmt.Errorf("list %s: %w", a.Name, err)
	}
	row, err := t.row(a.List, shown[n])
	switch {
	case errors.Is(err, errGone):
		return Gone, set, nil
	case err != nil:
		return Failed, set, fmt.Errorf("list %s: %w", a.Name, err)
	}
	taken := make(map[string]string, len(set))
	for variable, column := range a.List.Take {
		taken[variable] = t.cell(row, column)
		if !a.Screen.Shows(variable, taken[variable]) {
			return Failed, set, fmt.Errorf("list %s: what the column %q has is longer than the variable %q", a.Name, column, variable)
		}
	}
	return OK, taken, nil
}
