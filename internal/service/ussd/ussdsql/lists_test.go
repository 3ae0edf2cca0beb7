package ussdsql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

const listMenu = `name: Prices
languages: [en, sw]
start: ask
exit: bye
labels: {back: {en: Back, sw: Rudi}, exit: {en: Exit, sw: Toka}, next: {en: More, sw: Zaidi}, previous: {en: Previous, sw: Nyuma}, invalid: {en: Invalid., sw: Si sahihi.}}
variables: {word: {max: 24}, rows: {max: 900, rows: true}, found: {max: 5}}
lists:
  prices:
    file: prices.csv
    show: {en: "{{Crop}} from {{Market}}: {{Price}}/bag", sw: "{{Crop}} {{Market}}: {{Price}}/gunia"}
screens:
  ask: {text: {en: "Which crop?", sw: "Zao gani?"}, exit: true, input: {var: word, kind: text, max: 24, skip: "00", errors: {invalid: {en: Type a word., sw: Andika.}}, next: find}}
  prices: {paged: true, text: {en: "{{found}} found:\n{{rows}}", sw: "{{found}}:\n{{rows}}"}, back: ask}
  none: {text: {en: Nothing found, sw: Hakuna}, back: ask}
  failed: {text: {en: Not now, sw: Si sasa}, back: ask}
  bye: {end: true, text: {en: Bye, sw: Kwaheri}}
actions:
  find: {run: readList, list: prices, on: {ok: prices, none: none, failed: failed}}
`

// A list is searched by a word, shown by whole rows, and a session keeps what it was
// shown at any node.
func TestListsAreSearchedAndPaged(t *testing.T) {
	t.Parallel()
	menu, err := ussd.ParseMenu("lists.yaml", []byte(listMenu), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		dir := t.TempDir()
		set := func(c *ussd.Config) { c.Menus, c.Lists = ussdbook.Of(menu), ussdlist.NewFolder(dir, time.Now) }
		p := ussdtest.NewPhone(node(set), alice, "p1")
		p.Dial(t, "p1")
		p.Expect(t, "maize", "Not now", "0", "Which crop?")
		var rows strings.Builder
		rows.WriteString("Crop,Market,Price\nBeans,Kitale,9000\n")
		for _, market := range []string{"Kitale", "Nakuru", "Eldoret", "Busia", "Kisumu", "Nyeri", "Embu"} {
			rows.WriteString("White maize," + market + " town,3200\n")
		}
		file := filepath.Join(dir, "prices.csv")
		if err := os.WriteFile(file, []byte(rows.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Handler = node(set) // another node, which has not looked yet
		p.Expect(t, "wheat", "Nothing found", "0", "Which crop?", "BEANS", "1 found:\nBeans from Kitale: 9000/bag", "0", "Which crop?", "00", "8 found:", "0", "Which crop?")
		got := p.Type(t, "maize").Text
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		p.Handler = node(set)
		seen := 0
		for page := 1; ; page++ {
			for line := range strings.SplitSeq(got, "\n") {
				if strings.HasPrefix(line, "White maize from") {
					if seen++; !strings.HasSuffix(line, " town: 3200/bag") {
						t.Errorf("page %d breaks the row %q", page, line)
					}
				}
			}
			if !strings.Contains(got, "98. More") {
				break
			}
			got = p.Type(t, "98").Text
		}
		if seen != 7 {
			t.Errorf("%d rows were shown", seen)
		}
	})
}
