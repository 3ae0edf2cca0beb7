package ussdmenu_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const header = `name: Test
languages: [en, sw]
start: home
exit: bye
labels:
  back: {en: Back, sw: Rudi}
  exit: {en: Exit, sw: Toka}
  next: {en: More, sw: Zaidi}
  previous: {en: Previous, sw: Nyuma}
  invalid: {en: Invalid., sw: Si sahihi.}
variables:
  name: {max: 20}
  long: {max: 900, charset: any, lines: true}
screens:
  bye: {end: true, text: {en: Bye, sw: Kwaheri}}
`

var specs = map[string]ussdmenu.ActionSpec{"save": {Outcomes: []string{"ok", "failed"}, Sets: []string{"name"}}}

func parse(t *testing.T, body string) (*ussdmenu.Menu, error) {
	t.Helper()
	return ussdmenu.Parse("menu.yaml", []byte(header+body), specs, ussdmenu.Message())
}

func mustParse(t *testing.T, body string) *ussdmenu.Menu {
	t.Helper()
	m, err := parse(t, body)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Each menu is broken in one way; the checker must say which, and the line.
func TestCheckNamesWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	first := strings.Count(header, "\n") + 1
	for _, tc := range []struct {
		name, body, want string
		line             int // counted from the first line of body
	}{
		{"unknown target", `  home:
    text: {en: Hi, sw: Habari}
    options:
      - {key: "1", label: {en: A, sw: A}, next: nowhere}
    exit: true
`, `unknown target "nowhere"`, 3},
		{"unreachable", `  home: {text: {en: Hi, sw: Habari}, exit: true}
  island: {text: {en: Hi, sw: Habari}, exit: true}
`, `screen "island" is unreachable`, 1},
		{"dead end", `  home: {text: {en: Hi, sw: Habari}, back: wall, exit: true}
  wall: {text: {en: Hi, sw: Habari}}
`, `screen "wall" is a dead end`, 1},
		{"guarded dead end", `  home: {text: {en: Hi, sw: Habari}, back: wall, exit: true}
  wall:
    text: {en: Hi, sw: Habari}
    options: [{key: "1", when: oracle, label: {en: A, sw: A}, next: home}]
`, `screen "wall" is a dead end`, 1},
		{"trap", `  home: {text: {en: Hi, sw: Habari}, back: a, exit: true}
  a: {text: {en: Hi, sw: Habari}, back: b}
  b: {text: {en: Hi, sw: Habari}, back: a}
`, `no way leads from screen "a" to the end`, 1},
		{"duplicate key", `  home:
    text: {en: Hi, sw: Habari}
    options:
      - {key: "0", label: {en: A, sw: A}, next: home}
    back: home
    exit: true
`, `uses the key "0" twice`, 4},
		{"duplicate screen", `  home: {text: {en: Hi, sw: Habari}, exit: true}
  home: {text: {en: Hi, sw: Habari}, exit: true}
`, `"home"`, 1},
		{"missing translation", `  home: {text: {en: Hi}, exit: true}
`, `missing translation "sw"`, 0},
		{"language of no menu", `  home: {text: {en: Hi, sw: Habari, fr: Salut}, exit: true}
`, `language "fr"`, 0},
		{"unknown variable", `  home: {text: {en: "Hi {{nme}}", sw: Habari}, exit: true}
`, `unknown variable "nme"`, 0},
		{"open template", `  home: {text: {en: "Hi {{name", sw: Habari}, exit: true}
`, `{{ without }}`, 0},
		{"unknown field", `  home: {text: {en: Hi, sw: Habari}, exits: true}
`, `unknown field "exits"`, 0},
		{"unknown guard", `  home:
    text: {en: Hi, sw: Habari}
    options: [{key: "1", when: rich, label: {en: A, sw: A}, next: home}]
    exit: true
`, `unknown guard "rich"`, 2},
		{"only guarded targets", `  home:
    text: {en: Hi, sw: Habari}
    options: [{key: "1", label: {en: A, sw: A}, next: [{when: oracle, to: home}]}]
    exit: true
`, `the last target needs no guard`, 2},
		{"too long", `  home: {text: {en: "` + strings.Repeat("x", 176) + `", sw: Habari}, exit: true}
`, `can exceed one message in "en" and is not paged: 193 septets where 182 fit`, 0},
		{"too long after substitution", `  home: {text: {en: "` + strings.Repeat("x", 150) + `{{name}}", sw: Habari}, exit: true}
`, `187 septets`, 0},
		{"too long in UCS-2", `  home: {text: {en: "` + strings.Repeat("ж", 65) + `", sw: Habari}, exit: true}
`, `82 characters where 80 fit`, 0},
		{"extension characters count two", `  home: {text: {en: "` + strings.Repeat("[", 85) + `", sw: Habari}, exit: true}
`, `187 septets`, 0},
		{"a short notice in another alphabet", `  home:
    text: {en: "` + strings.Repeat("x", 50) + `", sw: Habari}
    input:
      var: pin
      kind: newpin
      max: 5
      errors: {invalid: {en: "` + strings.Repeat("x", 40) + `", sw: La}, weak: {en: "` + strings.Repeat("ж", 30) + `", sw: La}}
      next: bye
`, `81 characters where 80 fit`, 1},
		{"a short notice that takes two septets each", `  home:
    text: {en: "` + strings.Repeat("x", 120) + `", sw: Habari}
    input:
      var: pin
      kind: newpin
      max: 5
      errors: {invalid: {en: "` + strings.Repeat("x", 40) + `", sw: La}, weak: {en: "` + strings.Repeat("[", 35) + `", sw: La}}
      next: bye
`, `191 septets`, 1},
		{"a notice of an action behind an action", `  home: {text: {en: "` + strings.Repeat("x", 150) + `", sw: Habari}, back: a, exit: true}
actions:
  a: {run: save, on: {ok: b, failed: home}}
  b: {run: save, on: {ok: home, failed: {to: ":same", notice: {en: "` + strings.Repeat("x", 40) + `", sw: La}}}}
`, `can exceed one message in "en"`, 0},
		{"option longer than a page", `  home:
    text: {en: Hi, sw: Habari}
    paged: true
    options: [{key: "1", label: {en: "` + strings.Repeat("x", 160) + `", sw: A}, next: home}]
    exit: true
`, `option "1" of screen "home" does not fit on a page`, 3},
		{"option longer than a page beside another alphabet", `  home:
    text: {en: "{{long}}", sw: Habari}
    paged: true
    options: [{key: "1", label: {en: "` + strings.Repeat("x", 50) + `", sw: A}, next: home}]
    exit: true
`, `option "1" of screen "home" does not fit on a page`, 3},
		{"unknown action", `  home: {text: {en: Hi, sw: Habari}, back: act, exit: true}
actions:
  act: {run: destroy, on: {ok: home}}
`, `unknown action "destroy"`, 2},
		{"outcome without target", `  home: {text: {en: Hi, sw: Habari}, back: act, exit: true}
actions:
  act: {run: save, on: {ok: home}}
`, `the outcome "failed" of action "save" leads nowhere`, 2},
		{"outcome that never comes", `  home: {text: {en: Hi, sw: Habari}, back: act, exit: true}
actions:
  act: {run: save, on: {ok: home, failed: home, maybe: home}}
`, `has no outcome "maybe"`, 2},
		{"circle of actions", `  home: {text: {en: Hi, sw: Habari}, back: a, exit: true}
actions:
  a: {run: save, on: {ok: b, failed: home}}
  b: {run: save, on: {ok: a, failed: home}}
`, `in a circle: a > b > a`, 2},
		{"more actions in a row than a session runs", `  home: {text: {en: Hi, sw: Habari}, back: a10, exit: true}
actions:
` + actionRow(10, 49), `action "a41" may be the first of 9 in a row; 8 run at most`, 33},
		{"end that asks", `  home: {text: {en: Hi, sw: Habari}, back: last, exit: true}
  last: {end: true, back: home, text: {en: Hi, sw: Habari}}
`, `ends the session and still asks`, 1},
		{"private start", `  home: {private: true, text: {en: Secrets, sw: Siri}, exit: true}
`, `the start screen "home" is private, and nobody has logged in there`, -13},
		{"end in pages", `  home: {text: {en: Hi, sw: Habari}, back: last, exit: true}
  last: {end: true, paged: true, text: {en: "` + strings.Repeat("so long ", 40) + `", sw: Habari}}
`, `screen "last" ends the session, and nobody can ask for its other pages`, 1},
		{"key that cannot be typed", `  home:
    text: {en: Hi, sw: Habari}
    options: [{key: "1*2", label: {en: A, sw: A}, next: home}]
    exit: true
`, `key "1*2" must be one to three digits`, 2},
		{"unknown kind", `  home:
    text: {en: Hi, sw: Habari}
    input: {var: name, kind: colour, max: 5, errors: {invalid: {en: No, sw: La}}, next: home}
    exit: true
`, `unknown input kind "colour"`, 2},
		{"new PIN without reason", `  home:
    text: {en: Hi, sw: Habari}
    input: {var: pin, kind: newpin, max: 5, errors: {invalid: {en: No, sw: La}}, next: home}
    exit: true
`, `no text for the error "weak"`, 2},
		{"not YAML", `  home: [`, ``, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, tc.body)
			refused, ok := errors.AsType[*ussdmenu.CheckError](err)
			if !ok {
				t.Fatalf("error = %v, want a CheckError", err)
			}
			want := fmt.Sprintf("menu.yaml:%d: ", first+tc.line)
			for _, issue := range refused.Issues {
				if strings.HasPrefix(issue.String(), want) && strings.Contains(issue.Message, tc.want) {
					return
				}
			}
			t.Errorf("issues:\n%v\nwant %s…%s", err, want, tc.want)
		})
	}
}

// TestAnAliasIsAScreenOfItsOwn, with its own name, wherever the file has the
// original.
func TestAnAliasIsAScreenOfItsOwn(t *testing.T) {
	t.Parallel()
	m := mustParse(t, `  home: {text: {en: Hi, sw: Habari}, back: save1, exit: true}
  one: &one {text: {en: One, sw: Moja}, back: save2, exit: true}
  two: *one
actions:
  save1: &save {run: save, on: {ok: one, failed: two}}
  save2: *save
`)
	ways := map[string]int{}
	for _, e := range m.Graph().Edges {
		ways[e.From]++
	}
	if ways["one"] != 3 || ways["two"] != 3 {
		t.Errorf("ways out of each screen: %v", ways)
	}
}

// actionRow is a row of actions, each of which leads to the next by both of its
// outcomes: there are more ways through it than anybody can count.
func actionRow(first, last int) string {
	var b strings.Builder
	for i := first; i < last; i++ {
		fmt.Fprintf(&b, "  a%d: {run: save, on: {ok: a%d, failed: a%d}}\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "  a%d: {run: save, on: {ok: home, failed: home}}\n", last)
	return b.String()
}

func TestCheckAcceptsWhatJustFits(t *testing.T) {
	t.Parallel()
	mustParse(t, "  home: {text: {en: Hi, sw: Habari}, back: a1, exit: true}\nactions:\n"+actionRow(1, 8))
	mustParse(t, `  home: {text: {en: "`+strings.Repeat("x", 165)+`", sw: Habari}, exit: true}`)
	mustParse(t, `  home: {text: {en: "`+strings.Repeat("ж", 63)+`", sw: Habari}, exit: true}`)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(header + "  home: {text: {en: Hi, sw: Habari}, exit: true}\n"))
	f.Add([]byte("screens: {a: null}\nactions: {b: null}\nstart: a\nexit: a\n"))
	f.Add([]byte("a: &x [*x]"))
	f.Fuzz(func(t *testing.T, source []byte) {
		m, err := ussdmenu.Parse("f.yaml", source, specs, ussdmenu.Limit{})
		if err != nil {
			if _, ok := errors.AsType[*ussdmenu.CheckError](err); !ok {
				t.Fatalf("error is not a CheckError: %v", err)
			}
			return
		}
		if text, _ := m.Render(m.Begin(""), 0); !(ussdmenu.Limit{}).Fits(text) {
			t.Fatalf("a checked menu shows %q", text)
		}
	})
}
