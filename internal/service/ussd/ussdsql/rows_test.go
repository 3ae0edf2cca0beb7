package ussdsql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// guideMenu is the menu of that name in the guide.
func guideMenu(t *testing.T, name string) string {
	t.Helper()
	guide, err := os.ReadFile("../../../../docs/guides/ussd.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(guide), "\n    name: "+name+"\n")
	if !found {
		t.Fatalf("the guide has no menu %s", name)
	}
	text := "name: " + name + "\n"
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "    ") {
			break
		}
		text += strings.TrimPrefix(line, "    ")
	}
	return text
}

// The menu of the guide: a market is chosen by its number from pages, its price shown, an order
// kept with its id; at any node, and whatever became of the row meanwhile.
func TestARowIsChosenAsInTheGuide(t *testing.T) {
	t.Parallel()
	source := guideMenu(t, "Market day")
	menu, err := ussd.ParseMenu("guide.yaml", []byte(source), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	later, err := ussd.ParseMenu("later.yaml", []byte(strings.ReplaceAll(source, "market: Market, ", "market: Id, ")), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		store, dir := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations())), t.TempDir()
		// write is the list with a price in Busia, and with some rows.
		write := func(busia string, ids ...int) {
			t.Helper()
			var text strings.Builder
			text.WriteString("Id,Market,Price\n")
			for _, id := range ids {
				price := fmt.Sprint(3000 + id)
				if id == 7 {
					price = busia
				}
				fmt.Fprintf(&text, "m%d,%s,%s\n", id, []string{"Kitale", "Nakuru", "Eldoret", "Kisumu", "Nyeri", "Embu", "Busia", "Ma`rüf {{Id}}", "Mombasa", "Garissa", "Voi"}[id-1], price)
			}
			file := filepath.Join(dir, "markets.csv")
			if err := os.WriteFile(file+".new", []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
		}
		node := func(m *ussdmenu.Menu) *ussd.Service {
			return ussdtest.Service(t, store, func(c *ussd.Config) {
				c.Menus, c.Lists = ussdbook.Of(m), ussdlist.NewFolder(dir, time.Now)
			})
		}
		write("3007", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		p := ussdtest.NewPhone(node(menu), alice, "row1")
		p.Dial(t, "row1")

		// Rows keep their numbers on every page, and each page fits.
		got, seen := p.Type(t, "00").Text, 0
		for page := 1; ; page++ {
			if over := (ussdmenu.Limit{}).Over(ussdmenu.Measure(got)); over > 0 {
				t.Errorf("page %d is %d too long: %q", page, over, got)
			}
			seen += len(regexp.MustCompile(`(?m)^\d+\. \S.*: \d{4}$`).FindAllString(got, -1))
			if !strings.Contains(got, "98. More") {
				break
			}
			got = p.Type(t, "98").Text
		}
		if seen != 11 || !strings.Contains(got, "11. Voi: 3011") || strings.Contains(got, "1. Kitale") {
			t.Fatalf("%d rows, the last page is %q", seen, got)
		}
		p.Expect(t, "12", "That number is not in the list.\n1. Kitale: 3001", "x", "Type the number", "98", "11. Voi: 3011")

		// The session keeps its menu, at a node that has another one and another price.
		write("3500", 7, 2, 3)
		p.Handler = node(later)
		p.Expect(t, "7", "Busia pays 3500 a bag", "0", "1. Busia: 3500\n2. Nakuru: 3002", "2", "Nakuru pays 3002")
		p.Expect(t, "0", "1. Busia", "3", "Eldoret pays 3003", "0", "1. Busia")

		// A row that is gone is said to be, and nothing of it or of the one before is left.
		write("3500", 7, 2)
		p.Handler = node(menu)
		p.Expect(t, "3", "That market is not in the list any more.\nWhich market?", "bus", "1. Busia: 3500", "1", "Busia pays 3500")
		if got := p.Type(t, "12"); !got.End || got.Text != "Busia expects 12 bags." {
			t.Errorf("%+v", got)
		}
		page, err := store.Submissions(t.Context(), "orders", "", 10)
		if err != nil || len(page) != 1 || len(page[0].Values) != 2 ||
			page[0].Values[0].Text != "m7" || page[0].Values[1].Text != "12" {
			t.Errorf("%+v %v", page, err)
		}
	})
}
