package system_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
	"github.com/castalia-org/castalia/test/system"
)

const priceMenu = `name: Prices
languages: [en]
start: ask
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {word: {max: 24}, rows: {max: 600, rows: true}, found: {max: 5}}
lists:
  prices: {document: lists/prices.csv, collection: "COLLECTION", show: {en: "{{Crop}} {{Price}}/bag"}}
screens:
  ask: {text: {en: "Welcome. Which crop?"}, exit: true, input: {var: word, kind: text, max: 24, errors: {invalid: {en: Type a word.}}, next: find}}
  prices: {paged: true, text: {en: "{{found}} found:\n{{rows}}"}, back: ask}
  none: {text: {en: Nothing found}, back: ask}
  failed: {text: {en: Not now}, back: ask}
  bye: {end: true, text: {en: Bye}}
actions:
  find: {run: readList, list: prices, on: {ok: prices, none: none, failed: failed}}
`

// A spreadsheet that somebody puts into a collection for everybody is a list of the
// menu on every node; a new one is shown in its place, and none when it is taken back.
func TestATelephoneReadsAListOfDocuments(t *testing.T) {
	t.Parallel()
	for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			menu := filepath.Join(t.TempDir(), "menu.yaml")
			write := func(collection string) {
				t.Helper()
				if err := os.WriteFile(menu+".new", []byte(strings.ReplaceAll(priceMenu, "COLLECTION", collection)), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(menu+".new", menu); err != nil {
					t.Fatal(err)
				}
			}
			write(strings.Repeat("0", 32))
			w := system.Start(t, shape, "USSD_MENU="+menu)
			owner, everybody := somebody(t), "everybody"
			made, err := documents(t, w.Node(0), owner).Create(t.Context(),
				knowledgehttp.CollectionBody{Name: "Market", Folder: "/market", Readers: everybody})
			if err != nil {
				t.Fatal(err)
			}
			put := func(text string) {
				t.Helper()
				if _, err := files(t, w.Node(1), owner).Put(t.Context(), "/market/lists/prices.csv", "text/csv",
					strings.NewReader(text), int64(len(text)), cid.CID{}); err != nil {
					t.Fatal(err)
				}
			}
			line, calls := &telephone{world: w, retries: 3}, 0
			// shown dials each node until it shows the text.
			shown := func(want string) {
				t.Helper()
				for range w.Nodes {
					system.Eventually(t, "the list shows "+want, func() error {
						calls++
						c := &caller{t: t, line: line, phone: fmt.Sprintf("+25470055%04d", calls)}
						c.dial(fmt.Sprint("list", calls))
						got, err := line.Send(t.Context(), c.session, "*2233#", c.phone, "mai")
						if err == nil && !strings.HasPrefix(got, "CON "+want) {
							err = fmt.Errorf("%q", got)
						}
						return err
					})
				}
			}
			put("Crop,Price\nMaize,3200\nBeans,9000\n")
			write(made.ID)
			shown("Not now") // it waits for an operator
			if err := documents(t, w.Node(0), owner).Publish(t.Context(), made.ID, everybody); err != nil {
				t.Fatal(err)
			}
			shown("1 found:\nMaize 3200/bag")
			put("Crop,Price\nMaize,3300\nMaize flour,4100\n")
			shown("2 found:\nMaize 3300/bag\nMaize flour 4100/bag")
			if err := documents(t, w.Node(0), owner).Unpublish(t.Context(), made.ID); err != nil {
				t.Fatal(err)
			}
			shown("Not now")
		})
	}
}
