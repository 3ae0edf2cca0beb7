package ussdmenu_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

func TestMeasureCountsSeptetsAndUnits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want ussdmenu.Size
		fits bool
	}{
		{"", ussdmenu.Size{}, true},
		{"Karibu", ussdmenu.Size{Septets: 6, Units: 6}, true},
		{"[€]", ussdmenu.Size{Septets: 6, Units: 3}, true},
		{"ç", ussdmenu.Size{Units: 1, UCS2: true}, true},
		{"Ç", ussdmenu.Size{Septets: 1, Units: 1}, true},
		{"😀", ussdmenu.Size{Units: 2, UCS2: true}, true},
		{strings.Repeat("a", 182), ussdmenu.Size{Septets: 182, Units: 182}, true},
		{strings.Repeat("a", 183), ussdmenu.Size{Septets: 183, Units: 183}, false},
		{strings.Repeat("{", 91), ussdmenu.Size{Septets: 182, Units: 91}, true},
		{strings.Repeat("{", 92), ussdmenu.Size{Septets: 184, Units: 92}, false},
		{strings.Repeat("ጀ", 80), ussdmenu.Size{Units: 80, UCS2: true}, true},
		{strings.Repeat("ጀ", 81), ussdmenu.Size{Units: 81, UCS2: true}, false},
		{strings.Repeat("a", 80) + "ጀ", ussdmenu.Size{Septets: 80, Units: 81, UCS2: true}, false},
	} {
		got := ussdmenu.Measure(tc.text)
		if fits := ussdmenu.Message().Fits(tc.text); got != tc.want || fits != tc.fits {
			t.Errorf("Measure(%q) = %+v fits %v, want %+v fits %v", tc.text, got, fits, tc.want, tc.fits)
		}
	}
}

func TestTransliterateKeepsNamesReadable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Wanjiru": "Wanjiru", "Nguyễn": "Nguyen", "O’Brien": "O'Brien", "Çelik": "Çelik",
		"Łukasz": "Lukasz", "ጀማል": "???", "naïve": "naive", "e\u0301": "é",
	} {
		if got := ussdmenu.Transliterate(in); got != want {
			t.Errorf("Transliterate(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCleanAndTransliterateHoldTheirPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		clean := ussdmenu.Clean(s)
		if !utf8.ValidString(clean) || strings.ContainsAny(clean, "\n\r\t\x00\x1b\u202e\u200b") {
			t.Fatalf("Clean(%q) = %q", s, clean)
		}
		if again := ussdmenu.Clean(clean); again != clean {
			t.Fatalf("Clean is not idempotent: %q, %q", clean, again)
		}
		if ussdmenu.Measure(ussdmenu.Transliterate(s)).UCS2 {
			t.Fatalf("Transliterate(%q) left the alphabet", s)
		}
	})
}

// TestANameIsShownInItsOwnScript where the GSM alphabet lacks it, and in the GSM
// alphabet, which has more room, where that says the same.
func TestANameIsShownInItsOwnScript(t *testing.T) {
	t.Parallel()
	m, err := ussdmenu.Parse("m.yaml", []byte(strings.Replace(header, "name: {max: 20}", "name: {max: 20, charset: auto}", 1)+
		"  home: {text: {en: \"Hi {{name}}\", sw: Habari}, exit: true}\n"), specs, ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Nguyễn": "Hi Nguyen\n*. Exit", "ጀማል": "Hi ጀማል\n*. Exit", "Юлия Łuk": "Hi Юлия Łuk\n*. Exit", "王小明": "Hi 王小明\n*. Exit",
		strings.Repeat("\u0436", 30): "Hi " + strings.Repeat("\u0436", 20) + "\n*. Exit",
	} {
		st := m.Begin("en")
		st.Vars = map[string]string{"name": name}
		if got, _ := m.Render(st, 0); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
