package ussdeditor_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const rowsMenu = `name: Markets
languages: [en]
start: home
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {rows: {max: 60, rows: true}, found: {max: 5}, row: {max: 2}, market: {max: 20}, why: {max: 20}}
lists:
  markets: {file: markets.csv, show: {en: "{{Market}}"}, where: {Why: why}, take: {market: Market}, key: [Id]}
webhooks:
  order: {endpoint: ep_AAAAAAAAAAAAAAAAAAAAAAAAAA, send: [market], take: [why]}
screens:
  home: {text: {en: Home}, exit: true, options: [{key: "1", label: {en: Markets}, next: find}]}
  markets: {text: {en: "{{rows}}"}, back: home, input: {var: row, kind: digits, max: 2, errors: {invalid: {en: Digits.}}, next: choose}}
  market: {text: {en: "In {{market}}."}, back: home, options: [{key: "1", label: {en: Order}, next: order}]}
  gone: {text: {en: Gone}, back: home}
  told: {end: true, text: {en: "Told: {{why}}"}}
  bye: {end: true, text: {en: Bye}}
actions:
  find: {run: readList, list: markets, on: {ok: markets, none: gone, failed: gone}}
  choose: {run: chooseRow, list: markets, on: {ok: market, wrong: gone, gone: gone, failed: gone}}
  order: {run: callWebhook, webhook: order, on: {ok: told, refused: told, promised: told, failed: told}}
`

// A list that rows are chosen from comes out of the tree as it went in, and a trial shows the
// names of what a row, or a program, would fill.
func TestRowsAreTriedAndGoThroughTheTree(t *testing.T) {
	t.Parallel()
	e := ussdeditor.New(ussdmenu.Limits{})
	read, err := e.Read(t.Context(), []byte(rowsMenu))
	if err != nil || len(read.Issues) > 0 || len(read.Runs["chooseRow"]) != 4 {
		t.Fatalf("%+v %v", read.Issues, err)
	}
	written, err := e.Write(t.Context(), read.Parts)
	if err != nil || len(written.Issues) > 0 ||
		!strings.Contains(written.Text, "take: {market: Market}, key: [Id]") || !strings.Contains(written.Text, "where: {Why: why}") {
		t.Fatalf("%s %+v %v", written.Text, written.Issues, err)
	}
	if again, err := e.Write(t.Context(), written.Parts); err != nil || again.Text != written.Text {
		t.Errorf("%s %v", again.Text, err)
	}
	for inputs, want := range map[string]string{"1": "(rows)", "1 1": "In (market).", "1 1 1": "Told: (why)"} {
		shown, err := e.Try(t.Context(), []byte(rowsMenu), ussdeditor.Attempt{Inputs: strings.Fields(inputs)})
		if err != nil || !strings.HasPrefix(shown.Text, want) {
			t.Errorf("%s: %+v %v", inputs, shown, err)
		}
	}
	shown, err := e.Try(t.Context(), []byte(rowsMenu), ussdeditor.Attempt{
		Inputs: []string{"1", "1"}, Answers: map[string]string{"choose": "gone"},
	})
	if err != nil || !strings.HasPrefix(shown.Text, "Gone") {
		t.Errorf("%+v %v", shown, err)
	}
}
