package telephonekit_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/docreader"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/documenttest"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/formats"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

const row = `<row r="%"><c r="A%" t="inlineStr"><is><t>@</t></is></c><c r="B%" t="inlineStr"><is><t>#</t></is></c></row>`

// sheetOf is a sheet of two columns.
func sheetOf(name string, cells ...string) documenttest.Sheet {
	var b strings.Builder
	for i := 0; i < len(cells); i += 2 {
		b.WriteString(strings.NewReplacer("%", string(rune('1'+i/2)), "@", cells[i], "#", cells[i+1]).Replace(row))
	}
	return documenttest.Sheet{Name: name, Rows: b.String()}
}

// Spreadsheets of a collection that is for everybody are lists, with their changes,
// on every node; nobody is shown another's, nor one that is not published any more.
func TestSpreadsheetsAreLists(t *testing.T) {
	t.Parallel()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		w.Service = w.Node(func(d *knowledge.Deps, _ *knowledge.Config) { d.Reader = docreader.Here{Formats: formats.All()} })
		open := w.MustCreate(t, "owner", "Market", "/market", knowledge.Everybody)
		closed := w.MustCreate(t, "owner", "Books", "/books", knowledge.Delegates)
		for _, name := range []string{"a.txt", "z.txt", "lists/b.txt"} {
			w.Files.Put("owner", "/market/"+name, "Nothing here.")
		}
		w.Files.Put("owner", "/market/lists/prices.csv", "Crop,Price\nMaize,3200\nBeans,9000\n")
		w.Files.Put("owner", "/market/hours.xlsx", string(documenttest.Excel(nil,
			sheetOf("Notes", "Read", "this"), sheetOf("Hours", "Place", "Opens", "Clinic", "eight", "Mill", "six"))))
		w.Files.Put("owner", "/books/prices.csv", "Crop,Price\nGold,1\n")
		w.Settle(t)

		now := time.Date(2026, 11, 17, 8, 0, 0, 0, time.UTC)
		node := func() *ussdlist.Documents {
			clock := func() time.Time { return now }
			return ussdlist.NewDocuments(telephonekit.NewTables(w.Service), clock, slog.New(slog.DiscardHandler))
		}
		lists := node()
		find := func(lists *ussdlist.Documents, collection, document, sheet, show, word string) ([]string, error) {
			t.Helper()
			l := ussdlist.List{Collection: collection, Document: document, Sheet: sheet, Show: map[string]string{"en": show}}
			table, err := lists.Table(t.Context(), l)
			if err != nil {
				return nil, err
			}
			page, err := table.Find(l, "en", map[string]string{"word": word})
			return page.Rows, err
		}
		shows := func(document, sheet, show, word string, want ...string) {
			t.Helper()
			for name, at := range map[string]*ussdlist.Documents{"one that knows": lists, "another": node()} {
				if got, err := find(at, open.ID, document, sheet, show, word); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %s of %s: %q, %v", name, word, document, got, err)
				}
			}
		}
		shows("lists/prices.csv", "", "{{Crop}} {{Price}}", "", "Maize 3200", "Beans 9000")
		shows("hours.xlsx", "Hours", "{{Place}} at {{Opens}}", "mill", "Mill at six")
		for _, no := range [][3]string{
			{closed.ID, "prices.csv"},
			{open.ID, "../books/prices.csv"},
			{open.ID, "prices.csv"},
			{strings.Repeat("0", 32), "lists/prices.csv"},
		} {
			if got, err := find(lists, no[0], no[1], "", "{{Crop}}", ""); !fault.Is(err, fault.NotFound) {
				t.Errorf("%q: %q, %v", no, got, err)
			}
		}
		if got, err := find(lists, open.ID, "hours.xlsx", "Prices", "{{Place}}", ""); err == nil || !strings.Contains(err.Error(), `the sheet "Prices"`) {
			t.Errorf("%q, %v", got, err)
		}

		// A change is shown, also after documents that sort before it; what cannot be read is not.
		w.Files.Put("owner", "/market/lists/aaa.txt", "Nothing.")
		w.Files.Put("owner", "/market/lists/prices.csv", "Crop,Price\nMaize,3300\n")
		w.Settle(t)
		now = now.Add(2 * time.Second)
		shows("lists/prices.csv", "", "{{Crop}} {{Price}}", "", "Maize 3300")
		w.Files.Put("owner", "/market/lists/prices.csv", "no table")
		w.Settle(t)
		now = now.Add(2 * time.Second)
		if got, err := find(lists, open.ID, "lists/prices.csv", "", "{{Crop}} {{Price}}", ""); err != nil || !slices.Equal(got, []string{"Maize 3300"}) {
			t.Errorf("the last good one: %q, %v", got, err)
		}

		if err := w.Unpublish(t.Context(), open.ID); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Second)
		if got, err := find(lists, open.ID, "hours.xlsx", "Hours", "{{Place}}", ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("after it was taken back: %q, %v", got, err)
		}
	})
}
