package ussdmenu_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const formMenu = `name: Forms
languages: [en]
start: ask
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {name: {max: 24}, pin: {max: 8}}
screens:
  ask: {text: {en: "Name?"}, exit: true, input: {var: name, kind: name, max: 24, errors: {invalid: {en: Letters.}}, next: pin}}
  pin: {text: {en: "PIN?"}, exit: true, input: {var: pin, kind: pin, min: 4, max: 6, errors: {invalid: {en: Digits.}}, next: keep}}
  bye: {end: true, text: {en: Goodbye}}
actions:
  keep: {run: keep, form: names, on: {ok: bye}}
forms:
  names:
    fields:
      - {name: name, var: name, kind: text}
`

// TestAFormThatCouldNotBeKeptIsRefused, with its line.
func TestAFormThatCouldNotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	specs := map[string]ussdmenu.ActionSpec{"keep": {Outcomes: []string{"ok"}, Form: true}, "save": {Outcomes: []string{"ok"}}}
	for _, tc := range []struct{ from, to, want string }{
		{"", "", ""},
		{"form: names", "form: nobody", `m.yaml:12: action "keep" needs the name of a form`},
		{"run: keep, form: names", "run: keep", `needs the name of a form`},
		{"run: keep", "run: save", `m.yaml:12: action "save" keeps no form`},
		{"var: name, kind: text", "var: pin, kind: text", `m.yaml:15: "pin" is a secret: a form keeps none`},
		{"var: name, kind: text", "var: other, kind: text", `m.yaml:15: unknown variable "other"`},
		{"kind: text", "kind: colour", `has the kind "colour": write one of text, number, date, choice`},
		{"kind: text", "kind: choice", `a choice has 1 to 64 choices`},
		{"kind: text", "kind: text, choices: [a]", `others have none`},
		{"{name: name, var", "{name: Name, var", `needs a name of its own`},
		{"    fields:", "    consent: agreed\n    fields:", `m.yaml:15: unknown variable "agreed"`},
		{"    fields:", "    notify: me\n    fields:", `m.yaml:15: write the DID`},
		{"    fields:\n      - {name: name, var: name, kind: text}\n", "    fields: []\n", `m.yaml:15: a form has 1 to 24 fields`},
	} {
		_, err := ussdmenu.Parse("m.yaml", []byte(strings.Replace(formMenu, tc.from, tc.to, 1)), specs, ussdmenu.Limit{})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q as %q: %v, want %s", tc.from, tc.to, err, tc.want)
		}
	}
}
