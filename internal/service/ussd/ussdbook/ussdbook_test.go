package ussdbook_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const book = `name: Cooperative
languages: [en, sw]
include: [common]
start: home
screens:
  home: {text: {en: Cooperative, sw: Ushirika}, exit: true}
---
name: Clinic
codes: ["*384*7#", "*385#"]
languages: [sw]
include: [common]
start: home
screens:
  home: {text: {sw: Zahanati}, exit: true, options: [{key: "1", label: {sw: Saa}, next: hours}]}
---
shared: common
exit: bye
labels: {back: {en: Back, sw: Rudi}, exit: {en: Exit, sw: Toka}, next: {en: More, sw: Zaidi}, previous: {en: Previous, sw: Nyuma}, invalid: {en: Invalid., sw: Si sahihi.}}
screens:
  hours: {text: {en: Eight to five, sw: Saa mbili hadi kumi na moja}, exit: true}
  bye: {end: true, text: {en: Bye, sw: Kwaheri}}
`

func parse(t *testing.T, text, limits string) (*ussdbook.Book, error) {
	t.Helper()
	ls, err := ussdmenu.ParseLimits(limits, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ussdbook.Parse(t.Context(), "book.yaml", []byte(text), nil, ls)
}

func TestCodesLeadToTheirMenus(t *testing.T) {
	t.Parallel()
	b, err := parse(t, book, "160")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		"*384*7#": "Clinic", "*384*7*1#": "Clinic", "*385#": "Clinic", "*385*9#": "Clinic", "*384#": "Cooperative", "*384*70#": "Cooperative", "*3850#": "Cooperative", "": "Cooperative",
	} {
		if got := b.For(code).Name(); got != want {
			t.Errorf("%q leads to %s", code, got)
		}
	}
	clinic := b.For("*385#")
	if got := clinic.Screens(); !slices.Equal(got, []string{"bye", "home", "hours"}) {
		t.Errorf("the clinic has %q", got)
	}
	if got := b.Default().Screens(); !slices.Equal(got, []string{"bye", "home"}) {
		t.Errorf("the cooperative has %q", got)
	}
	if text, _ := clinic.Render(clinic.Begin("en"), 0); text != "Zahanati\n1. Saa\n*. Toka" {
		t.Errorf("the clinic shows %q", text)
	}
	// What is stored for sessions is the same menu.
	again, err := ussdmenu.Parse("stored", clinic.Source(), nil, ussdmenu.Limit{})
	if err != nil || again.Version() != clinic.Version() {
		t.Errorf("stored: %v, %v", again, err)
	}
	// A change to one leaves the other as it was.
	other, err := parse(t, strings.Replace(book, "Ushirika", "Chama", 1), "160")
	if err != nil || other.Default().Version() == b.Default().Version() ||
		other.For("*385#").Version() != clinic.Version() {
		t.Errorf("versions after a change: %v", err)
	}
	if same, err := parse(t, book, "160"); err != nil || !same.Same(b) || other.Same(b) ||
		b.Same(ussdbook.Of(b.Default())) {
		t.Errorf("books are told apart wrongly: %v", err)
	}
}

// A text with one menu is what it always was.
func TestOneMenuIsABook(t *testing.T) {
	t.Parallel()
	const one = "name: One\nlanguages: [en]\nstart: bye\nexit: bye\n" +
		"labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}\n" +
		"screens: {bye: {end: true, text: {en: Bye}}}"
	for _, text := range []string{one, one + "\n", "---\n" + one + "\n", one + "\n---\n"} {
		b, err := parse(t, text, "160")
		if err != nil || len(b.Menus()) != 1 || b.For("*1#") != b.Default() {
			t.Errorf("%q: %v", text, err)
		}
	}
	b, err := parse(t, one, "160")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := ussdmenu.Parse("one", []byte(one), nil, ussdmenu.Limit{}); err != nil ||
		m.Version() != b.Default().Version() || string(m.Source()) != one {
		t.Errorf("%v, %v", m, err)
	}
}

// What is wrong is told with its line in the file, once.
func TestBooksAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{`codes: ["*384*7#", "*385#"]`, `codes: ["385"]`, `book.yaml:8: "385" is no service code`},
		{`codes: ["*384*7#", "*385#"]`, `codes: ["*385#", "*385#"]`, `book.yaml:8: the code "*385#" has two menus`},
		{`codes: ["*384*7#", "*385#"]`, "", "two menus have no codes"},
		{"languages: [en, sw]", "languages: [en, sw]\ncodes: [\"*1#\"]", "every menu has codes"},
		{"include: [common]", "include: [comon]", `there is no shared part "comon"`},
		{"next: hours", "next: ours", `book.yaml:14: unknown target "ours"`},
		{"text: {sw: Zahanati}", "text: {en: Clinic}", `book.yaml:14: missing translation "sw"`},
		{"shared: common", "shared: common\nstart: bye", "book.yaml:16: a shared part has no name, languages, start"},
		{"bye: {end: true, text: {en: Bye, sw: Kwaheri}}", "bye: {end: true, text: {en: Bye}}", `book.yaml:21: missing translation "sw"`},
		{"  hours: {", "  home: {", `is among the screens of the menu and of what it includes`},
		{"exit: bye\n", "exit: [\n", "book.yaml:17: "},
		{"Saa mbili hadi", strings.Repeat("Saa mbili ", 20), `book.yaml:20: screen "hours" can exceed one message`},
	} {
		_, err := parse(t, strings.Replace(book, c.old, c.new, 1), "160")
		if refused, ok := errors.AsType[*ussdmenu.CheckError](err); !ok || !strings.Contains(refused.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
	if _, err := parse(t, book+strings.Repeat("---\nshared: x\n", 80), "160"); err == nil {
		t.Error("eighty parts were read")
	}
	// Each is checked for the networks of its own codes.
	long := strings.Replace(book, "Saa mbili hadi", strings.Repeat("Saa ", 30), 1)
	if _, err := parse(t, long, "160"); err != nil {
		t.Errorf("on 160: %v", err)
	}
	if _, err := parse(t, long, "160,*385#=120"); err == nil {
		t.Error("a screen of 140 fits into 120")
	}
	if _, err := parse(t, long, "120,*384#=160,*385#=160"); err != nil {
		t.Errorf("the clinic's codes show 160: %v", err)
	}
}

// A shared part is read for every menu that includes it, and each time it is included.
func TestWhatIsIncludedIsBounded(t *testing.T) {
	t.Parallel()
	large := "shared: large\n# " + strings.Repeat("x", 200_000) + "\n"
	one := "name: m\nlanguages: [en]\ninclude: [" + strings.Repeat("large, ", 30) + "large]\n"
	_, err := parse(t, one+"---\n"+large, "160")
	if err == nil || !strings.Contains(err.Error(), "take too much to be checked") {
		t.Errorf("%.200v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ussdbook.Parse(ctx, "book.yaml", []byte(book), nil, ussdmenu.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its request: %v", err)
	}
}
