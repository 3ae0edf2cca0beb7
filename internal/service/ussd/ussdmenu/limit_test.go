package ussdmenu_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

var dialects = []string{"africastalking", "hubtel"}

func TestLimitsFollowCodeThenDialect(t *testing.T) {
	t.Parallel()
	ls, err := ussdmenu.ParseLimits("160, africastalking=182, *384#=140, *384*7#=150/60", dialects)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		dialect, code  string
		septets, units int
	}{
		{"", "*2233#", 160, 70},
		{"hubtel", "*2233#", 160, 70},
		{"africastalking", "*2233#", 182, 80},
		{"africastalking", "*384#", 140, 61},
		{"", "*384*1#", 140, 61},
		{"", "*384*7#", 150, 60},
		{"", "*384*7*1#", 150, 60},
		{"", "*3841#", 160, 70},
	} {
		got := ls.Of(tc.dialect, tc.code).OrDefault()
		if got != (ussdmenu.Limit{Septets: tc.septets, Units: tc.units}) {
			t.Errorf("%s %s: %+v", tc.dialect, tc.code, got)
		}
	}
	if got := ls.Least(); got != (ussdmenu.Limit{Septets: 140, Units: 60}) {
		t.Errorf("the least is %+v", got)
	}
	if got := (ussdmenu.Limits{}).Of("", "*1#").OrDefault(); got.String() != "160" {
		t.Errorf("without a setting: %v", got)
	}
}

func TestLimitsRefuseWhatNobodyMeans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "120 to 182",
		"183":                  "120 to 182",
		"119":                  "120 to 182",
		"many":                 "120 to 182",
		"160/71":               "52 to 70",
		"160/0":                "52 to 70",
		"160,182":              "twice",
		"160,hubtle=182":       "neither a service code nor one of africastalking, hubtel",
		"160,*#=182":           "",
		"160,384#=182":         "neither",
		"160,*384#=":           "120 to 182",
		"*38x#=160":            "neither",
		"160,*1#=140,*1#=150,": "twice",
	} {
		if _, err := ussdmenu.ParseLimits(text, dialects); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseLimits(f *testing.F) {
	f.Add("160,africastalking=182,*384#=140/60", "*384*1#")
	f.Fuzz(func(t *testing.T, text, code string) {
		ls, err := ussdmenu.ParseLimits(text, dialects)
		if err != nil {
			return
		}
		least, got := ls.Least(), ls.Of("hubtel", code).OrDefault()
		if got.Septets < least.Septets || got.Units < least.Units || least.Units < 52 || got.Septets > 182 ||
			2*got.Units > got.Septets {
			t.Fatalf("%q: %+v, the least is %+v", text, got, least)
		}
	})
}

// TestAScreenThatANetworkCutsIsPaged also where its file does not say so: the
// menu may have been checked for another network.
func TestAScreenThatANetworkCutsIsPaged(t *testing.T) {
	t.Parallel()
	m := mustParse(t, "  home: {text: {en: \""+strings.Repeat("word ", 32)+"end\", sw: Habari}, exit: true}\n")
	st := m.Begin("en")
	st.Limit = ussdmenu.Message()
	if text, _ := m.Render(st, 0); !strings.HasSuffix(text, "end\n*. Exit") {
		t.Errorf("182 septets: %q", text)
	}
	if mv := m.Step(st, "98", 0); mv.Read != ussdmenu.ReadWrong {
		t.Errorf("there is no other page at 182: %+v", mv)
	}
	st.Limit = ussdmenu.Limit{}
	text, _ := m.Render(st, 0)
	if !strings.HasSuffix(text, "word\n98. More\n*. Exit") || !st.Limit.Fits(text) {
		t.Errorf("160 septets: %q", text)
	}
	st = m.Step(st, "98", 0).State
	if text, _ = m.Render(st, 0); !strings.HasSuffix(text, "end\n99. Previous\n*. Exit") {
		t.Errorf("its second page: %q", text)
	}
	if st = m.Step(st, "99", 0).State; st.Page != 0 {
		t.Errorf("back to page %d", st.Page)
	}
}

// TestTheCheckGoesByTheSmallestScreen that the menu will be shown on.
func TestTheCheckGoesByTheSmallestScreen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		fits int // septets of the smallest limit that takes it
	}{{strings.Repeat("x", 143), 160}, {strings.Repeat("x", 144), 182}, {
		strings.Repeat("\u0436", 53), 160,
	}, {strings.Repeat("\u0436", 54), 182}} {
		for _, limit := range []ussdmenu.Limit{{}, ussdmenu.Message()} {
			_, err := ussdmenu.Parse("m.yaml", []byte(header+"  home: {text: {en: \""+tc.text+"\", sw: Habari}, exit: true}\n"), specs, limit)
			if (err == nil) != (limit.OrDefault().Septets >= tc.fits) {
				t.Errorf("%d characters at %v: %v", len([]rune(tc.text)), limit, err)
			}
		}
	}
}
