package ussdeditor

import (
	"context"
	"maps"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdaction"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const (
	maxInputs = 200
	// maxCalls bounds how many actions follow one input, which may lead in a circle.
	maxCalls = 16
)

// Attempt is a call to a draft: all that was typed since it was dialled.
type Attempt struct {
	Code     string   `json:"code,omitempty" jsonschema:"the service code that is dialled"`
	Language string   `json:"language,omitempty"`
	Inputs   []string `json:"inputs"`
	// Facts are the guards that hold, such as authenticated.
	Facts []string `json:"facts,omitempty"`
	// Answers are what actions are to answer, by their names in the menu; others answer
	// with the first of their outcomes.
	Answers map[string]string `json:"answers,omitempty"`
}

// Called is an action that was passed through, and what it was pretended to answer.
type Called struct {
	Action   string   `json:"action"`
	Run      string   `json:"run"`
	Outcome  string   `json:"outcome"`
	Outcomes []string `json:"outcomes"`
}

// Shown is what the telephone shows at the end of an attempt.
type Shown struct {
	Text     string   `json:"text"`
	End      bool     `json:"end"`
	Screen   string   `json:"screen"`
	Page     int      `json:"page" jsonschema:"counted from 0"`
	Language string   `json:"language"`
	Size     Size     `json:"size"`
	Facts    []string `json:"facts"`
	// Called has the actions between the last input and this screen.
	Called []Called `json:"called"`
}

// Try plays an attempt on a text of menus. Nothing is done: what an action would set
// shows its own name instead.
func (e Editor) Try(ctx context.Context, text []byte, a Attempt) (Shown, error) {
	if len(a.Inputs) > maxInputs {
		return Shown{}, fault.Newf(fault.Invalid, "A call has at most %d inputs", maxInputs)
	}
	book, err := e.bookOf(ctx, text)
	if err != nil {
		return Shown{}, err
	}
	facts, unknown := ussdmenu.FactsOf(a.Facts)
	if unknown != "" {
		return Shown{}, fault.Newf(fault.Invalid, "There is no guard %q", unknown)
	}
	c := &call{menu: book.For(a.Code), facts: facts, answers: a.Answers, specs: ussdaction.Specs()}
	c.at = c.menu.Begin(a.Language)
	c.at.Limit = e.limits.Of("", a.Code).OrDefault()
	screen, end := c.menu.Render(c.at, c.facts)
	for _, input := range a.Inputs {
		if end {
			break
		}
		if len(input) > ussdmenu.MaxSeptets {
			return Shown{}, fault.Newf(fault.Invalid, "An input has at most %d bytes", ussdmenu.MaxSeptets)
		}
		if ctx.Err() != nil {
			return Shown{}, ctx.Err()
		}
		if err := c.step(input); err != nil {
			return Shown{}, err
		}
		screen, end = c.menu.Render(c.at, c.facts)
	}
	return Shown{
		Text: screen, End: end, Screen: c.at.Screen, Page: c.at.Page, Language: c.at.Lang,
		Size: sizeOf(ussdmenu.Measure(screen), c.at.Limit), Facts: c.facts.Names(), Called: append([]Called{}, c.called...),
	}, nil
}

// call is an attempt on its way.
type call struct {
	menu    *ussdmenu.Menu
	at      ussdmenu.State
	facts   ussdmenu.Facts
	answers map[string]string
	specs   map[string]ussdmenu.ActionSpec
	called  []Called
}

func (c *call) step(input string) error {
	c.called = nil
	for rest := input; ; {
		move := c.menu.Step(c.at, rest, c.facts)
		c.at = move.State
		for move.Call != "" {
			if len(c.called) == maxCalls {
				return fault.Newf(fault.Invalid, "More than %d actions follow each other here; let one answer otherwise", maxCalls)
			}
			move = c.act(move)
			c.at = move.State
		}
		if rest = move.Rest; rest == "" {
			return nil
		}
	}
}

// act pretends that an action was done.
func (c *call) act(move ussdmenu.Move) ussdmenu.Move {
	run := c.menu.Action(move.Call)
	spec := c.specs[run]
	outcome := c.answers[move.Call]
	if !slices.Contains(spec.Outcomes, outcome) {
		outcome = spec.Outcomes[0]
	}
	c.called = append(c.called, Called{Action: move.Call, Run: run, Outcome: outcome, Outcomes: spec.Outcomes})
	set := map[string]string{}
	if outcome == "ok" {
		for _, name := range c.sets(move.Call, spec) {
			if move.State.Vars[name] == "" {
				set[name] = "(" + name + ")"
			}
		}
		c.effect(run, &move.State)
	}
	return c.menu.Resolve(move.State, move.Call, outcome, set, c.facts)
}

// sets are the variables that an action fills, those too that the menu itself names.
func (c *call) sets(name string, spec ussdmenu.ActionSpec) []string {
	_, list := c.menu.List(name)
	_, hook := c.menu.Webhook(name)
	if !spec.Row {
		list.Take = nil
	}
	return slices.Concat(spec.Sets, hook.Take, slices.Sorted(maps.Keys(list.Take)))
}

// The actions that change what guards see, or the language.
var (
	logIn       = []string{"createAccount", "verifyPin", "resetPin"}
	logOut      = "logOut"
	setLanguage = "setLanguage"
)

// effect is what the menu itself notices of an action.
func (c *call) effect(run string, st *ussdmenu.State) {
	switch {
	case slices.Contains(logIn, run):
		c.facts |= ussdmenu.Authenticated
	case run == logOut:
		c.facts &^= ussdmenu.Authenticated
	case run == setLanguage:
		st.Lang = c.menu.Language(st.Vars["language"])
	}
}
