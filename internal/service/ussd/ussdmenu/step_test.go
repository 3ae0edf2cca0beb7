package ussdmenu_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const journey = `  home:
    text: {en: Home, sw: Nyumbani}
    options:
      - {key: "1", label: {en: Name, sw: Jina}, next: ask}
      - {key: "2", when: oracle, label: {en: Oracle, sw: Mshauri}, next: reading}
      - {key: "3", label: {en: Pin, sw: Pin}, next: pin}
    exit: true
  ask:
    text: {en: Your name?, sw: Jina lako?}
    input: {var: name, kind: text, min: 1, max: 60, skip: "00", errors: {invalid: {en: No., sw: La.}}, next: saving}
    back: home
  greet:
    text: {en: "Hi {{name}}", sw: "Habari {{name}}"}
    back: home
    exit: true
  pin:
    text: {en: PIN?, sw: PIN?}
    input: {var: pin, kind: newpin, min: 5, max: 5, errors: {invalid: {en: No., sw: La.}, weak: {en: Weak., sw: Dhaifu.}}, next: home}
    back: home
  reading:
    paged: true
    text: {en: "{{long}}", sw: "{{long}}"}
    options:
      - {key: "1", label: {en: Again, sw: Tena}, next: home}
    back: home
    exit: true
actions:
  saving: {run: save, on: {ok: greet, failed: {to: ":same", notice: {en: Failed., sw: Imeshindwa.}}}}
`

func TestStepFollowsTheMenu(t *testing.T) {
	t.Parallel()
	m := mustParse(t, journey)
	home := m.Begin("")
	if got := m.Step(home, "1", 0).State.Screen; got != "ask" {
		t.Errorf("1 leads to %q", got)
	}
	wrong := m.Step(home, "2", 0)
	if text, _ := m.Render(wrong.State, 0); wrong.Read != ussdmenu.ReadWrong || !strings.HasPrefix(text, "Invalid.\nHome") {
		t.Errorf("a hidden option was taken: %q", text)
	}
	if got := m.Step(home, "2", ussdmenu.Oracle).State.Screen; got != "reading" {
		t.Errorf("2 leads to %q with the oracle", got)
	}
	end := m.Step(home, "*", 0)
	if text, ends := m.Render(end.State, 0); text != "Bye" || !ends {
		t.Errorf("* shows %q, ends %v", text, ends)
	}
	// A compound input is taken key by key on a menu, whole where text is free.
	mv := m.Step(home, "1*Ann*Lee", 0)
	if mv.State.Screen != "ask" || mv.Rest != "Ann*Lee" {
		t.Errorf("compound input: %+v", mv)
	}
	mv = m.Step(mv.State, "Ann*Lee", 0)
	if mv.Call != "saving" || mv.State.Vars["name"] != "Ann*Lee" {
		t.Errorf("free text with a star: %+v", mv)
	}
	failed := m.Resolve(mv.State, mv.Call, "failed", nil, 0)
	if text, _ := m.Render(failed.State, 0); failed.State.Screen != "ask" || !strings.HasPrefix(text, "Failed.\nYour name?") {
		t.Errorf("after a failure: %q", text)
	}
	ok := m.Resolve(mv.State, mv.Call, "ok", map[string]string{"name": "Ann {{long}}\n9. Hack"}, 0)
	if text, _ := m.Render(ok.State, 0); text != "Hi Ann {{long}} 9. \n0. Back\n*. Exit" {
		t.Errorf("a value is shown as %q", text)
	}
}

func TestSecretsStayOutOfTheState(t *testing.T) {
	t.Parallel()
	m := mustParse(t, journey)
	ask := m.Step(m.Begin(""), "3", 0).State
	weak := m.Step(ask, "12345", 0)
	if weak.State.Notice != "Weak." || weak.Read != ussdmenu.ReadSecret {
		t.Errorf("weak PIN: %+v", weak)
	}
	mv := m.Step(ask, "70382", 0)
	if mv.Secret != "70382" || mv.SecretVar != "pin" || len(mv.State.Vars) != 0 {
		t.Errorf("PIN: %+v", mv)
	}
}

func TestWalkStopsBeforeSecretsAndActions(t *testing.T) {
	t.Parallel()
	m := mustParse(t, journey)
	for text, want := range map[string]string{
		"": "home", "1": "ask", "1*0*3": "pin", "3*70382*1": "pin", "1*Ann*0": "ask", "9*1": "home", "*": "bye", "1*0**": "bye",
	} {
		if st, _ := m.Walk(m.Begin(""), text, 0); st.Screen != want {
			t.Errorf("Walk(%q) = %q, want %q", text, st.Screen, want)
		}
	}
}

// Whatever the value and the alphabet: every page fits, every word and every
// option is there, options are whole, and the keys are there only with a page.
func TestPagesHoldEverythingAndFit(t *testing.T) {
	t.Parallel()
	m := mustParse(t, journey)
	letters := []rune("abc defg hij\n[€жጀ😀é")
	rapid.Check(t, func(t *rapid.T) {
		long := string(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 500).Draw(t, "long"))
		limit := rapid.SampledFrom([]ussdmenu.Limit{{}, ussdmenu.Message(), {Septets: 120, Units: 52}}).Draw(t, "limit")
		st := ussdmenu.State{Screen: "reading", Lang: "en", Vars: map[string]string{"long": long}, Limit: limit}
		var seen strings.Builder
		options := 0
		for page := 0; ; page++ {
			text, _ := m.Render(st, 0)
			if !limit.Fits(text) {
				t.Fatalf("page %d does not fit: %q", page, text)
			}
			if (page > 0) != strings.Contains(text, "\n99. Previous") {
				t.Fatalf("page %d: %q", page, text)
			}
			options += strings.Count(text, "1. Again")
			body, _, _ := strings.Cut(text, "\n98. ")
			body, _, _ = strings.Cut(body, "\n99. ")
			body, _, _ = strings.Cut(body, "\n1. ")
			body, _, _ = strings.Cut(body, "\n0. ")
			seen.WriteString(body)
			mv := m.Step(st, "98", 0)
			if mv.Read == ussdmenu.ReadWrong {
				if strings.Contains(text, "98. More") {
					t.Fatalf("page %d offers a page that is not there", page)
				}
				break
			}
			st = mv.State
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		want := squeeze(ussdmenu.CleanText(long))
		if got := squeeze(seen.String()); got != want && !strings.Contains(got, "1.Again") {
			t.Fatalf("pages hold %q, want %q", got, want)
		}
		if options != 1 {
			t.Fatalf("the option is there %d times", options)
		}
	})
}

func FuzzStep(f *testing.F) {
	m, err := ussdmenu.Parse("menu.yaml", []byte(header+journey), specs, ussdmenu.Limit{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("home", "1*Ann*Lee", uint16(0))
	f.Add("reading", "98", uint16(4))
	f.Add("pin", "**", uint16(1))
	f.Fuzz(func(t *testing.T, screen, input string, facts uint16) {
		st := m.Begin("sw")
		st.Screen = screen
		mv := m.Step(st, input, ussdmenu.Facts(facts))
		if mv.Call != "" {
			mv = m.Resolve(mv.State, mv.Call, "ok", nil, 0)
		}
		if text, _ := m.Render(mv.State, ussdmenu.Facts(facts)); text == "" || !(ussdmenu.Limit{}).Fits(text) {
			t.Fatalf("shows %q", text)
		}
		m.Walk(m.Begin(""), input, ussdmenu.Facts(facts))
	})
}
