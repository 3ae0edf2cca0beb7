package ussdlist_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

const prices = "Crop,Market,Price\nMaize,Kitale,3200\n\"Beans, red\",Kitale,9000\nMaize,Nakuru,3400\nMahindi {{Price}},Eldoret,\n"

type folder struct {
	*ussdlist.Folder
	dir string
	now time.Time
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{dir: t.TempDir(), now: time.Date(2026, 11, 17, 8, 0, 0, 0, time.UTC)}
	f.Folder = ussdlist.NewFolder(f.dir, func() time.Time { return f.now })
	return f
}

// write changes a file, as somebody does at a time of their own.
func (f *folder) write(t *testing.T, text string) {
	t.Helper()
	f.now = f.now.Add(2 * time.Second)
	path := filepath.Join(f.dir, "prices.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, f.now, f.now); err != nil {
		t.Fatal(err)
	}
}

func list(search ...string) ussdlist.List {
	return ussdlist.List{File: "prices.csv", Show: map[string]string{"en": "{{Crop}} ({{Market}}): {{ Price }}"}, Search: search}
}

// find reads the rows of a list that have the words.
func find(
	ctx context.Context, from ussdlist.Reader, l ussdlist.List, text string,
) (rows []string, found int, err error) {
	table, err := from.Table(ctx, l)
	if err != nil {
		return nil, 0, err
	}
	p, err := table.Find(l, "en", map[string]string{"word": text})
	return p.Rows, p.Found, err
}

func TestRowsAreFoundByWords(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write(t, "\xef\xbb\xbf"+prices)
	for _, c := range []struct {
		word   string
		search []string
		want   []string
	}{
		{"", nil, []string{"Maize (Kitale): 3200", "Beans, red (Kitale): 9000", "Maize (Nakuru): 3400", "Mahindi {{Price}} (Eldoret): "}},
		{"MAI", nil, []string{"Maize (Kitale): 3200", "Maize (Nakuru): 3400"}},
		{"maize nak", nil, []string{"Maize (Nakuru): 3400"}},
		{"kitale", []string{"Crop"}, nil},
		{"red", []string{"Crop"}, []string{"Beans, red (Kitale): 9000"}},
		{"aize", nil, nil},
		{"*#", nil, []string{"Maize (Kitale): 3200", "Beans, red (Kitale): 9000", "Maize (Nakuru): 3400", "Mahindi {{Price}} (Eldoret): "}},
	} {
		got, found, err := find(t.Context(), f, list(c.search...), c.word)
		if err != nil || !slices.Equal(got, c.want) || found != len(c.want) {
			t.Errorf("%q in %q: %q, %d, %v", c.word, c.search, got, found, err)
		}
	}
	f.write(t, "Crop;Market;Price\nMaize;Kitale;3.200,50\n")
	if got, _, err := find(t.Context(), f, list(), ""); err != nil || len(got) != 1 || got[0] != "Maize (Kitale): 3.200,50" {
		t.Errorf("with semicolons: %q, %v", got, err)
	}
	f.write(t, "Crop,Market,Price\n"+strings.Repeat("Maize,Kitale,1\n", 500))
	got, found, err := find(t.Context(), f, list(), "maize")
	if err != nil || len(got) != ussdlist.MaxShown || found != 500 {
		t.Errorf("of many: %d of %d, %v", len(got), found, err)
	}
}

func TestTheLastGoodListStays(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	if _, _, err := find(t.Context(), f, list(), ""); err == nil {
		t.Error("a file that is not there was read")
	}
	f.write(t, prices)
	if got, _, err := find(t.Context(), f, list(), "nakuru"); err != nil || len(got) != 1 {
		t.Fatalf("%q, %v", got, err)
	}
	for name, text := range map[string]string{
		"not UTF-8": "Crop,Market,Price\n\xff,a,b\n", "quotes": "Crop,Market,Price\n\"a,b\n", "empty": "", "large": strings.Repeat("x", 2<<20+1),
		"wide": strings.Repeat("a,", 40) + "\n", "long": "Crop\n" + strings.Repeat("a\n", 20_001),
	} {
		f.write(t, text)
		if got, _, err := find(t.Context(), f, list(), "nakuru"); err != nil || len(got) != 1 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	f.write(t, "Crop,Market\nMaize,Kitale\n")
	if _, _, err := find(t.Context(), f, list(), ""); err == nil || !strings.Contains(err.Error(), `no column "Price"`) {
		t.Errorf("without a column: %v", err)
	}
}

func TestListsStayInTheirFolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	outside := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(outside, []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(f.dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{outside, "link.csv", "../" + filepath.Base(filepath.Dir(outside)) + "/secret.csv"} {
		l := list()
		l.File = name
		if got, _, err := find(t.Context(), f, l, ""); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestColumnsOfATextAreRead(t *testing.T) {
	t.Parallel()
	if got, err := ussdlist.Columns("{{ a }} and {{b c}}"); err != nil || !slices.Equal(got, []string{"a", "b c"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"{{a", "{{}}", "x {{ }} y"} {
		if got, err := ussdlist.Columns(bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

// Callers search by the thousand: a table is taken apart once, and not for each of them.
func TestASearchTakesNoTableApart(t *testing.T) {
	rows := make([][]string, 5000)
	for i := range rows {
		rows[i] = []string{"Maize and beans", "Market " + strconv.Itoa(i), "3200"}
	}
	table, err := ussdlist.NewTable([]string{"Crop", "Market", "Price"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	search := func(text string) int {
		p, err := table.Find(list(), "en", map[string]string{"word": text})
		if err != nil {
			t.Fatal(err)
		}
		return p.Found
	}
	if n := search("BEANS mark 4999"); n != 1 {
		t.Errorf("found %d", n)
	}
	if n := testing.AllocsPerRun(10, func() { search("beans nothing mark") }); n > 100 {
		t.Errorf("a search allocates %.0f times", n)
	}
}

func TestATableOfTooMuchTextIsRefused(t *testing.T) {
	t.Parallel()
	rows := slices.Repeat([][]string{{strings.Repeat("x", 1000)}}, 4<<20/1000+1)
	if _, err := ussdlist.NewTable([]string{"Text"}, rows); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("given %v", err)
	}
}
