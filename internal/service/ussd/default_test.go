package ussd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

func TestDefaultMenuPassesItsCheck(t *testing.T) {
	t.Parallel()
	m, err := ussd.DefaultMenu()
	if err != nil {
		t.Fatal(err)
	}
	got, end := m.Render(m.Begin(""), 0)
	want := "Welcome to Castalia\n1. Know More\n2. Account Menu\n*. Exit"
	if got != want || end {
		t.Errorf("welcome = %q, end %v", got, end)
	}
	info := m.Step(m.Begin("en"), "1", 0)
	got, _ = m.Render(info.State, 0)
	want = "What would you like to know?\n1. About this service\n2. Pricing\n3. Delivery\n*. Exit"
	if got != want {
		t.Errorf("information = %q", got)
	}
}

// TestTheDefaultMenuFitsEveryNetwork: whatever USSD_SCREEN_LIMIT says, the menu
// passes its check, and no page loses its way back.
func TestTheDefaultMenuFitsEveryNetwork(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"120", "120/52", "140", "160", "182", "182/52"} {
		limits, err := ussd.ParseLimits(text)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ussd.ParseMenu("default.yaml", ussd.DefaultMenuSource(), limits.Least())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, lang := range m.Languages() {
			st := ussdmenu.State{Screen: "aboutService", Lang: lang, Limit: limits.Of("", "*2233#")}
			back := "\n0. Back\n*. Exit"
			if lang == "sw" {
				back = "\n0. Rudi\n*. Toka"
			}
			pages := 0
			for {
				pages++
				shown, _ := m.Render(st, 0)
				if !st.Limit.Fits(shown) || !strings.HasSuffix(shown, back) {
					t.Errorf("%s %s page %d: %q", text, lang, pages, shown)
				}
				mv := m.Step(st, "98", 0)
				if mv.Read == ussdmenu.ReadWrong {
					break
				}
				st = mv.State
			}
			if pages > 2 || pages == 1 && text != "182" && text != "182/52" {
				t.Errorf("%s %s: %d pages", text, lang, pages)
			}
		}
	}
}

// TestNamesOfEveryScriptAreReadable on each screen that shows one, whatever the
// network: nothing of it is a question mark, no page is too large, and each has a
// way on.
func TestNamesOfEveryScriptAreReadable(t *testing.T) {
	t.Parallel()
	m, err := ussd.DefaultMenu()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"\u1300\u121b\u120d", "\u0645\u062d\u0645\u062f", "\u738b\u5c0f\u660e", "\u042e\u043b\u0438\u044f"} {
		for _, screen := range []string{"accountCreationSuccess", "loginSuccess", "profile"} {
			for _, limit := range []ussdmenu.Limit{{}, ussdmenu.Message(), {Septets: 120, Units: 52}} {
				st := ussdmenu.State{Screen: screen, Lang: "en", Limit: limit, Vars: map[string]string{"name": name, "account": "C1A2B3C4D", "email": "a@b.example"}}
				all := ""
				for {
					text, _ := m.Render(st, ussdmenu.Authenticated)
					if all += text; !limit.Fits(text) || !strings.Contains(text, "*. Exit") {
						t.Errorf("%s at %v: %q", screen, limit, text)
					}
					mv := m.Step(st, "98", ussdmenu.Authenticated)
					if mv.Read == ussdmenu.ReadWrong {
						break
					}
					st = mv.State
				}
				if !strings.Contains(all, name) || strings.Contains(all, "??") || !strings.Contains(all, "C1A2B3C4D") {
					t.Errorf("%s at %v: %q", screen, limit, all)
				}
			}
		}
	}
}

// TestTheOracleIsOfferedWhereAModelAnswers, and not where only the guide would.
func TestTheOracleIsOfferedWhereAModelAnswers(t *testing.T) {
	t.Parallel()
	m, err := ussd.DefaultMenu()
	if err != nil {
		t.Fatal(err)
	}
	st := ussdmenu.State{Screen: "userMainMenu", Lang: "en"}
	for facts, offered := range map[ussdmenu.Facts]bool{
		ussdmenu.Authenticated:                   false,
		ussdmenu.Authenticated | ussdmenu.Guide:  false,
		ussdmenu.Authenticated | ussdmenu.Oracle: true,
	} {
		text, _ := m.Render(st, facts)
		if strings.Contains(text, "Ask the oracle") != offered || (m.Step(st, "5", facts).State.Screen == "askQuestion") != offered {
			t.Errorf("%v: %q", facts, text)
		}
	}
}

// TestTheDefaultMenuIsInTheAlphabetOfNetworks in every language that it has.
func TestTheDefaultMenuIsInTheAlphabetOfNetworks(t *testing.T) {
	t.Parallel()
	var tree any
	if err := yaml.Unmarshal(ussd.DefaultMenuSource(), &tree); err != nil {
		t.Fatal(err)
	}
	m, err := ussd.DefaultMenu()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	var walk func(at string, node any)
	walk = func(at string, node any) {
		switch node := node.(type) {
		case map[string]any:
			for key, value := range node {
				text, is := value.(string)
				if is && slices.Contains(m.Languages(), key) {
					seen[key]++
					if ussdmenu.Measure(text).UCS2 {
						t.Errorf("%s %s: %q", at, key, text)
					}
					continue
				}
				walk(at+"."+key, value)
			}
		case []any:
			for _, value := range node {
				walk(at, value)
			}
		}
	}
	walk("", tree)
	for _, lang := range m.Languages() {
		if seen[lang] < 100 {
			t.Errorf("%d texts of %s were looked at", seen[lang], lang)
		}
	}
}
