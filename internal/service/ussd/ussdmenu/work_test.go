package ussdmenu_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// many writes n lines or entries, each with its number, the next one, and a key.
func many(n int, format, between string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.NewReplacer("#", fmt.Sprint(i), "^", fmt.Sprint(i+1), "@", fmt.Sprint(100+i)).Replace(format)
	}
	return strings.Join(all, between)
}

const one = "name: m\nlanguages: [en]\nstart: a\nexit: z\n" +
	"labels: {back: {en: B}, exit: {en: E}, next: {en: N}, previous: {en: P}, invalid: {en: I}}\n" +
	"variables: {v: {max: 4000}, r: {max: 4000, rows: true}, name: {max: 20}}\n"

// bomb is a text of which a check, or a page, would make very much, and what is said of it.
type bomb struct{ text, want string }

func bombs() map[string]bomb {
	const end, tooMuch = "  z: {text: {en: x}, end: true}\n", "take too much to be checked"
	paged := func(text string) string {
		return one + "screens:\n  a: {text: {en: \"" + text + "\"}, paged: true, exit: true}\n" + end
	}
	// fan has 700 screens, each with more said of it.
	fan := func(more string) string {
		return one + "screens:\n  a: {text: {en: x}, exit: true, paged: true, options: [" +
			many(700, "{key: \"@\", label: {en: x}, next: s#}", ",") + "]}\n" + end +
			many(700, "  s#: {exit: true, "+more+"}", "\n") + "\n"
	}
	return map[string]bomb{
		"languages": {strings.Replace(one, "[en]", "["+many(10_000, "l#", ",")+"]", 1) +
			"screens:\n" + many(500, "  s#: {text: {}, end: true}", "\n") + "\n", "10000 languages; 64 are the most"},
		"languages of a text": {strings.Replace(one, "[en]", "["+many(1_000, "l#", ",")+"]", 1) +
			"screens:\n" + many(5, "  s#: {text: {"+many(1_000, "k#: x", ", ")+"}, end: true}", "\n") + "\n", "1000 languages; 64 are the most"},
		"long values": {paged(strings.Repeat("{{v}}", 15_000)), tooMuch},
		"long rows":   {paged(strings.Repeat("{{r}} ", 10_000)), tooMuch},
		"many long":   {fan("paged: true, text: {en: \"" + strings.Repeat("{{v}}", 15) + "\"}"), tooMuch},
		"a long word": {paged(strings.Repeat("x", 100_000)), "100007 characters over all its pages in \"en\"; 64000 are the most"},
		"a long label": {
			strings.Replace(fan("text: {en: x}, paged: true"), "next: {en: N}", "next: {en: \""+strings.Repeat("x", 50_000)+"\"}", 1), tooMuch,
		},
		"screens times actions": {fan("text: {en: x}, back: c0") + "actions:\n" +
			many(1_500, "  c#: {run: save, on: {ok: c^, failed: ':same'}}", "\n") + "\n  c1500: {run: save, on: {ok: a, failed: a}}\n", tooMuch},
		"callers times notices": {fan("text: {en: x}, back: c") + "actions:\n  c: {run: save, on: {failed: a, ok: [" +
			many(1_000, "{to: ':same', when: authenticated, notice: {en: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}}", ",") + ",{to: a}]}}\n", tooMuch},
		"circles": {
			one + "screens:\n  a: {text: {en: x}, exit: true, back: c0}\n" + end + "actions:\n" +
				many(1_000, "  c#: {run: save, on: {ok: c^, failed: c0}}", "\n") + "\n  c1000: {run: save, on: {ok: a, failed: c0}}\n",
			"in a circle: c0 > c1 > c2 > c3 > c4 > c5 > c6 > c7 > c8 > c9 > c10 > … > c0",
		},
		"the name of a language": {strings.Replace(one, "[en]", "[en, "+strings.Repeat("x", 20_000)+"]", 1) +
			"screens:\n" + many(600, "  s#: {text: {en: x}, end: true}", "\n") + "\n", "missing translation"},
	}
}

// A draft comes from whoever may look at operators' pages: a little of it must not keep
// a node busy. It does not run beside others: what they allocate would be counted.
func TestALittleMenuDoesNotTakeMuch(t *testing.T) {
	for name, b := range bombs() {
		if len(b.text) > 1<<18 {
			t.Errorf("%s: %d bytes are not little", name, len(b.text))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ussdmenu.Parse("bomb.yaml", []byte(b.text), specs, ussdmenu.Limit{})
		runtime.ReadMemStats(&after)
		said := func(i ussdmenu.Issue) bool { return strings.Contains(i.Message, b.want) }
		if refused, ok := errors.AsType[*ussdmenu.CheckError](err); !ok || !slices.ContainsFunc(refused.Issues, said) {
			t.Errorf("%s: %.300v, want %q", name, err, b.want)
			continue
		}
		megas, told := (after.TotalAlloc-before.TotalAlloc)>>20, len(err.Error())
		t.Logf("%s: %d MB for %d bytes, %d bytes told", name, megas, len(b.text), told)
		if megas > 1_000 || told > 1<<20 {
			t.Errorf("%s: took %d MB, told %d bytes", name, megas, told)
		}
	}
}

// A check ends when nobody waits for it, wherever it is.
func TestACheckEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	all := bombs()
	for _, name := range []string{"many long", "screens times actions", "callers times notices"} {
		for after := range 3 {
			looks := 0
			ended := func() error {
				if looks++; looks > after {
					return context.Canceled
				}
				return nil
			}
			parts := ussdmenu.Split([]byte(all[name].text))
			_, err := ussdmenu.ParseParts(ussdmenu.NewWork(ended), "bomb.yaml", parts, specs, ussdmenu.Limit{})
			if !errors.Is(err, context.Canceled) || looks != after+1 {
				t.Errorf("%s: looked %d times of %d, %.200v", name, looks, after+1, err)
			}
		}
	}
}

// Menus that are large and meant so are taken.
func TestLargeMenusAreTaken(t *testing.T) {
	t.Parallel()
	languages := many(20, "l#", ", ")
	all := "{" + many(20, "l#: A text of a screen that says something", ", ") + "}"
	m, err := ussdmenu.Parse("m.yaml", []byte("name: m\nlanguages: ["+languages+"]\nstart: s0\nexit: z\nlabels: {back: "+all+", exit: "+all+
		", next: {"+many(20, "l#: More", ", ")+"}, previous: {"+many(20, "l#: Before", ", ")+"}, invalid: "+all+"}\n"+
		"variables: {v: {max: 4000}}\nscreens:\n  z: {text: "+all+", end: true}\n"+
		"  s0: {paged: true, text: "+all+", exit: true, options: ["+many(90, "{key: \"#\", label: "+"{"+many(20, "l#: x", ", ")+"}, next: t#}", ", ")+"]}\n"+
		many(90, "  t#: {paged: true, exit: true, text: {"+many(20, "l#: 'An answer: {{v}}'", ", ")+"}}", "\n")+"\n"), specs, ussdmenu.Limit{})
	if err != nil {
		t.Fatalf("%.500v", err)
	}
	if n := len(m.LongestPages("t7", "l3", ussdmenu.Limit{})); n < 30 || n > 60 {
		t.Errorf("%d pages for an answer of 4000 letters", n)
	}
}
