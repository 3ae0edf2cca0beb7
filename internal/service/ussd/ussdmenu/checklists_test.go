package ussdmenu_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const listMenu = `name: Lists
languages: [en]
start: home
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {rows: {max: 60, rows: true}, found: {max: 5}}
lists:
  prices: {file: prices.csv, show: {en: "{{Crop}}"}}
screens:
  home: {text: {en: Home}, exit: true, options: [{key: "1", label: {en: All}, next: find}]}
  bye: {end: true, text: {en: Bye}}
actions:
  find: {run: readList, list: prices, on: {ok: home}}
`

// What is wrong with a list, or with who reads it, is found before anybody dials.
func TestListsAreChecked(t *testing.T) {
	t.Parallel()
	specs := map[string]ussdmenu.ActionSpec{
		"readList": {Outcomes: []string{"ok"}, Sets: []string{"rows", "found"}, List: true}, "other": {Outcomes: []string{"ok"}},
		"chooseRow": {Outcomes: []string{"ok"}, List: true, Row: true},
	}
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"file: prices.csv", "file: ../prices.csv", "lists.yaml:8: write the name of a file"},
		{"file: prices.csv", "file: prices.txt", "lists.yaml:8: write the name of a file"},
		{"file: prices.csv", "document: a/prices.xlsx, collection: 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f, sheet: May", ""},
		{"file: prices.csv", "document: a/prices.xlsx", "write the id of a collection"},
		{"file: prices.csv", "collection: 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", "write the path of a spreadsheet"},
		{"file: prices.csv", "document: ../prices.xlsx, collection: 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", "write the path of a spreadsheet"},
		{"file: prices.csv", "file: prices.csv, document: prices.xlsx", "a file or a document, not both"},
		{"prices: {", "Prices: {", "a list's name"},
		{`show: {en: "{{Crop}}"}`, "show: {en: plain}", "name at least one column"},
		{`show: {en: "{{Crop}}"}`, `show: {en: "{{Crop"}`, "name at least one column"},
		{`show: {en: "{{Crop}}"}`, `show: {sw: "{{Crop}}"}`, `missing translation "en"`},
		{"list: prices", "list: hours", "needs the name of a list"},
		{"run: readList", "run: other", "reads no list"},
		{`show: {en: "{{Crop}}"}`, `show: {en: "{{Crop}}"}, take: {found: Crop}`, "is what lists themselves use"},
		{`show: {en: "{{Crop}}"}`, `show: {en: "{{Crop}}"}, take: {crop: Crop}`, `lists.yaml:8: unknown variable "crop"`},
		{`show: {en: "{{Crop}}"}`, `show: {en: "{{Crop}}"}, where: {Crop: crop}`, `lists.yaml:8: unknown variable "crop"`},
		{`show: {en: "{{Crop}}"}`, `show: {en: "{{Crop}}"}, key: [Crop]`, "write take, or leave key out"},
		{"find: {run: readList,", "find: {run: chooseRow,", "lists.yaml:13: nobody chooses from the list"},
		{"found: {max: 5}", "fond: {max: 5}", `sets "found", which the menu does not declare`},
	} {
		_, err := ussdmenu.Parse("lists.yaml", []byte(strings.Replace(listMenu, c.old, c.new, 1)), specs, ussdmenu.Limit{})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

func TestOnlyWholeRowsFit(t *testing.T) {
	t.Parallel()
	m, err := ussdmenu.Parse("lists.yaml", []byte(listMenu),
		map[string]ussdmenu.ActionSpec{"readList": {Outcomes: []string{"ok"}, List: true}}, ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	ten := "1234567890"
	if got := m.Fitting("rows", []string{ten, ten, ten, ten, ten, ten}); len(got) != 5 {
		t.Errorf("%d rows of 11 septets fit into 60", len(got))
	}
	if got := m.Fitting("rows", []string{strings.Repeat(ten, 9)}); len(got) != 1 {
		t.Errorf("%d: a long row is better than none", len(got))
	}
	if got := m.Fitting("rows", nil); len(got) != 0 {
		t.Errorf("%q of nothing", got)
	}
}

// A key of a screen where a row is chosen would hide the row of its number.
func TestRowsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	specs := map[string]ussdmenu.ActionSpec{"chooseRow": {Outcomes: []string{"ok"}, List: true, Row: true}}
	const choice = `name: Lists
languages: [en]
start: home
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {row: {max: 2}, crop: {max: 9}}
lists: {prices: {file: prices.csv, show: {en: "{{Crop}}"}, take: {crop: Crop}}}
screens:
  home: {text: {en: "{{crop}}"}, exit: true, paged: true, input: {var: row, kind: digits, max: 2, errors: {invalid: {en: Digits.}}, next: choose}, options: [{key: "41", label: {en: All}, next: home}]}
  bye: {end: true, text: {en: Bye}}
actions:
  choose: {run: chooseRow, list: prices, on: {ok: home}}`
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{`key: "41"`, `key: "40"`, `lists.yaml:9: the key "40" of screen "home" is the number of a row too`},
		{`key: "41"`, `key: "1"`, `the key "1"`},
		{"max: 2, errors", `max: 2, skip: "7", errors`, `the key "7"`},
		{"variables:", "keys: {next: \"8\", previous: \"9\"}\nvariables:", `the key "8"`},
	} {
		_, err := ussdmenu.Parse("lists.yaml", []byte(strings.Replace(choice, c.old, c.new, 1)), specs, ussdmenu.Limit{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}
