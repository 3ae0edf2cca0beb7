package ussdeditor_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdaction"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

func editor(t *testing.T) ussdeditor.Editor {
	t.Helper()
	limits, err := ussd.ParseLimits("160")
	if err != nil {
		t.Fatal(err)
	}
	return ussdeditor.New(limits)
}

func read(t *testing.T, text []byte) ussdeditor.Draft {
	t.Helper()
	d, err := editor(t).Read(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const small = `# what stands first
name: Well
languages: [en]
start: home
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Less}, invalid: {en: No}}
screens:
  # the first screen
  home:
    text: {en: "Water: today"} # said to all
    options:
      # within a list
      - {key: 1, next: prices, label: {en: Prices}}
    exit: true
  prices:
    text:
      en: |
        # not a comment
        two lines
    back: home
  bye: {text: {en: "Bye, all"}, end: true}
# the end
`

// several has two menus that share a part.
const several = `---
name: Main
include: [ends]
languages: [en, sw]
start: home
screens:
  home: {text: {en: Home, sw: Nyumbani}, exit: true}
---
name: Prices
codes: ["*384#", "*384*7#"]
include: [ends]
languages: [en]
start: home
screens:
  home:
    text: {en: Prices}
    options:
      - key: "00"
        label: {en: "A label that is long enough to need lines of its own, since the line would be too wide"}
        next: [{when: "authenticated !linked", to: home, notice: {en: You are there}}, {to: ":exit"}]
    exit: true
---
shared: ends
exit: bye
labels: {back: {en: Back, sw: Rudi}, exit: {en: Exit, sw: Toka}, next: {en: More, sw: Zaidi},
  previous: {en: Less, sw: Nyuma}, invalid: {en: Wrong., sw: Si sahihi.}}
screens:
  bye: {text: {en: Bye, sw: Kwaheri}, end: true}
`

func TestAFormattedTextIsItsOwnForm(t *testing.T) {
	t.Parallel()
	texts := map[string][]byte{"built in": ussd.DefaultMenuSource(), "small": []byte(small), "several": []byte(several)}
	for name, text := range texts {
		once, err := ussdeditor.Format(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		twice, err := ussdeditor.Format(t.Context(), once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s: formatted again it is another text (%v):\n%s\n----\n%s", name, err, once, twice)
		}
		// What the page gets and sends back is the same text.
		d := read(t, text)
		var parts []ussdeditor.Part
		if through, err := json.Marshal(d.Parts); err != nil || json.Unmarshal(through, &parts) != nil {
			t.Fatalf("%s: %v", name, err)
		}
		written, err := editor(t).Write(t.Context(), parts)
		if err != nil || written.Text != string(once) || len(written.Issues) != len(d.Issues) {
			t.Errorf("%s: as trees it is another text (%v):\n%s", name, err, written.Text)
		}
	}
}

func TestCommentsStayWithTheirFields(t *testing.T) {
	t.Parallel()
	got, err := ussdeditor.Format(t.Context(), []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	const want = `# what stands first
name: Well
languages: [en]
start: home
exit: bye

labels:
  back: {en: Back}
  exit: {en: Exit}
  next: {en: More}
  previous: {en: Less}
  invalid: {en: "No"}

screens:
  # the first screen
  home:
    # said to all
    text:
      en: "Water: today"
    # within a list
    options:
      - {key: 1, label: {en: Prices}, next: prices}
    exit: true

  prices:
    text:
      en: "# not a comment\ntwo lines\n"
    back: home

  bye:
    text:
      en: Bye, all
    end: true
# the end
`
	if string(got) != want {
		t.Errorf("formatted:\n%s", got)
	}
}

func TestTheCheckNamesTheField(t *testing.T) {
	t.Parallel()
	d := read(t, []byte(strings.Replace(small, "next: prices", "next: nowhere", 1)))
	if len(d.Parts) != 1 || len(d.Issues) != 1 || d.Issues[0].Path != "screens.home.options[0].next" || len(d.Menus) != 0 {
		t.Errorf("the draft is %+v", d)
	}
	for name, text := range map[string]string{
		"no YAML":    "name: [",
		"merge keys": strings.Replace(small, "  prices:\n", "  prices:\n    <<: {end: true}\n", 1),
		"a list":     "- a\n",
	} {
		if d := read(t, []byte(text)); d.Plain == "" || len(d.Parts) != 0 || name == "no YAML" && len(d.Issues) == 0 {
			t.Errorf("%s: the draft is %+v", name, d)
		}
	}
}

func TestPagesAreMeasured(t *testing.T) {
	t.Parallel()
	d := read(t, ussd.DefaultMenuSource())
	if len(d.Issues) != 0 || len(d.Menus) != 1 {
		t.Fatalf("the built-in menu: %+v", d.Issues)
	}
	pages := d.Menus[0].Pages
	if about := pages["aboutService"]["en"]; len(about) != 2 || about[0].Limit != 160 || about[0].Used > 160 {
		t.Errorf("aboutService has the pages %+v", about)
	}
	if welcome := pages["preMenu"]["sw"]; len(welcome) != 1 || welcome[0].Unit != "septets" {
		t.Errorf("preMenu has the pages %+v", welcome)
	}
}

func TestADraftIsTriedWithoutDoingAnything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a      ussdeditor.Attempt
		screen string
		says   string
		called string
	}{
		"dial":        {ussdeditor.Attempt{Language: "sw"}, "preMenu", "Karibu Castalia", ""},
		"wrong key":   {ussdeditor.Attempt{Inputs: []string{"7"}}, "preMenu", "Invalid selection.", ""},
		"second page": {ussdeditor.Attempt{Inputs: []string{"1", "1", "98"}}, "aboutService", "99. Previous", ""},
		"compound":    {ussdeditor.Attempt{Inputs: []string{"1*2"}}, "pricing", "free of charge", ""},
		"log in":      {ussdeditor.Attempt{Inputs: []string{"2", "1", "C12345678", "1234"}}, "loginSuccess", "C12345678", "ok"},
		"wrong PIN": {
			ussdeditor.Attempt{
				Inputs:  []string{"2", "1", "C12345678", "1234"},
				Answers: map[string]string{"verifyingPin": "locked"},
			}, "accountLocked", "Too many", "locked",
		},
		"logged in": {ussdeditor.Attempt{Inputs: []string{"2", "3", "2"}, Facts: []string{"authenticated"}}, "userMainMenu", "Akaunti", "ok"},
		"log out":   {ussdeditor.Attempt{Inputs: []string{"2", "4", "2"}, Facts: []string{"authenticated"}}, "showMenu", "Do you have an account?", ""},
		"over":      {ussdeditor.Attempt{Inputs: []string{"*", "1"}}, "closeSession", "", ""},
	} {
		got, err := editor(t).Try(t.Context(), ussd.DefaultMenuSource(), c.a)
		if err != nil || got.Screen != c.screen || !strings.Contains(got.Text, c.says) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		last := ""
		if n := len(got.Called); n > 0 {
			last = got.Called[n-1].Outcome
		}
		if last != c.called {
			t.Errorf("%s: called %+v", name, got.Called)
		}
	}
	for name, a := range map[string]ussdeditor.Attempt{
		"too many": {Inputs: make([]string, 201)},
		"too long": {Inputs: []string{strings.Repeat("1", 183)}},
		"a guard":  {Facts: []string{"rich"}},
	} {
		if _, err := editor(t).Try(t.Context(), ussd.DefaultMenuSource(), a); err == nil {
			t.Errorf("%s: tried", name)
		}
	}
	if _, err := editor(t).Try(t.Context(), []byte("name: x\n"), ussdeditor.Attempt{}); err == nil {
		t.Error("a draft that fails the check was tried")
	}
}

// The actions that the telephone of the editor knows by name are there.
func TestKnownActionsAreRegistered(t *testing.T) {
	t.Parallel()
	specs := ussdaction.Specs()
	for _, name := range []string{"createAccount", "verifyPin", "resetPin", "logOut", "setLanguage"} {
		if !slices.Contains(specs[name].Outcomes, "ok") {
			t.Errorf("no action %q answers ok", name)
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(several))
	f.Add([]byte("# a\nname: &a x # b\ncodes:\n- *a # c\n# d\n? b\n: {c: [*a, {d: 1}]}\n# e\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := ussdeditor.Format(t.Context(), text)
		if err != nil {
			return
		}
		twice, err := ussdeditor.Format(t.Context(), once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q\nformatted %q\nand again %q, %v", text, once, twice, err)
		}
		var limits ussdmenu.Limits
		if _, err := ussdeditor.New(limits).Read(t.Context(), text); err != nil {
			t.Error(err)
		}
	})
}
