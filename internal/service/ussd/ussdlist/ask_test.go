package ussdlist_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

// screen shows three lines, and values of ten letters.
type screen struct{}

func (screen) Fitting(_ string, lines []string) []string { return lines[:min(len(lines), 3)] }

func (screen) Shows(_, value string) bool { return len(value) <= 10 }

// caller is a session on a menu with one list.
type caller struct {
	ussdlist.Ask
	t *testing.T
}

func newCaller(t *testing.T, f *folder, l ussdlist.List) *caller {
	t.Helper()
	return &caller{ussdlist.Ask{From: f, Name: "prices", List: l, Language: "en", Vars: map[string]string{}, Screen: screen{}}, t}
}

func (c *caller) read(want string) {
	c.t.Helper()
	outcome, set, err := c.Read(c.t.Context())
	if maps.Copy(c.Vars, set); outcome != want || (err != nil) != (want == ussdlist.Failed) {
		c.t.Errorf("reading is %s, want %s: %v", outcome, want, err)
	}
}

func (c *caller) choose(row, want string) map[string]string {
	c.t.Helper()
	c.Vars["row"] = row
	outcome, set, err := c.Choose(c.t.Context())
	if outcome != want || (err != nil) != (want == ussdlist.Failed) {
		c.t.Errorf("choosing %s is %s, want %s: %v", row, outcome, want, err)
	}
	if len(set) != len(c.List.Take) {
		c.t.Errorf("choosing fills %v of %v", set, c.List.Take)
	}
	for name, value := range set {
		if value != "" && want != ussdlist.OK {
			c.t.Errorf("%s fills %s with %q", outcome, name, value)
		}
	}
	return set
}

func taking(key ...string) ussdlist.List {
	l := list()
	l.Take, l.Key = map[string]string{"town": "Market", "price": "Price"}, key
	return l
}

// A row is chosen by the number that was shown, whatever the list says by now; one that is not
// as it was shown is not taken, unless its key says that it is the same.
func TestARowIsChosen(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write(t, prices)
	whole, keyed := newCaller(t, f, taking()), newCaller(t, f, taking("Crop", "Market"))
	whole.choose("1", ussdlist.Wrong) // nothing was shown
	for _, c := range []*caller{whole, keyed} {
		c.read(ussdlist.OK)
		if c.Vars["rows"] != "1. Maize (Kitale): 3200\n2. Beans, red (Kitale): 9000\n3. Maize (Nakuru): 3400" || c.Vars["found"] != "4" {
			t.Errorf("%q", c.Vars)
		}
		for _, row := range []string{"", "0", "4", "-1", "x", "99999999999999999999"} {
			c.choose(row, ussdlist.Wrong)
		}
		if set := c.choose("3", ussdlist.OK); set["town"] != "Nakuru" || set["price"] != "3400" {
			t.Errorf("%v", set)
		}
	}
	// Another row in front, another price, a row that is gone.
	f.write(t, "Crop,Market,Price\nSorghum,Busia,2000\nMaize,Kitale,3200\nMaize,Nakuru,3500\n")
	whole.choose("1", ussdlist.OK)
	whole.choose("2", ussdlist.Gone)
	whole.choose("3", ussdlist.Gone)
	keyed.choose("2", ussdlist.Gone)
	if set := keyed.choose("3", ussdlist.OK); set["price"] != "3500" {
		t.Errorf("%v", set)
	}
	// Nobody gets a wrong row: neither of two, nor a half of one.
	f.write(t, "Crop,Market,Price\nMaize,Nakuru,3500\nMaize,Nakuru,3600\n")
	keyed.choose("3", ussdlist.Failed)
	f.write(t, "Crop,Market,Price\nMaize,Nakuru,3500 shillings\n")
	keyed.choose("3", ussdlist.Failed)
	// Rows of another list are not those that were shown.
	keyed.Name = "hours"
	keyed.choose("3", ussdlist.Wrong)
	keyed.Name, keyed.From = "prices", nil
	if outcome, _, err := keyed.Choose(t.Context()); outcome != ussdlist.Failed || err != nil {
		t.Errorf("without lists: %s %v", outcome, err)
	}
	if outcome, set, err := keyed.Read(t.Context()); outcome != ussdlist.Failed || set != nil || err != nil {
		t.Errorf("without lists: %s %v %v", outcome, set, err)
	}
}

// A list is narrowed by what was chosen before, and is not chosen from where its columns lack.
func TestAListIsNarrowed(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write(t, prices)
	l := taking()
	l.Where = map[string]string{"Market": "town"}
	c := newCaller(t, f, l)
	c.read(ussdlist.None) // no town was chosen
	c.Vars["town"] = "KITALE"
	c.read(ussdlist.OK)
	c.Vars["word"] = "bea"
	c.read(ussdlist.OK)
	if c.Vars["rows"] != "1. Beans, red (Kitale): 9000" || c.Vars["found"] != "1" {
		t.Errorf("%q", c.Vars)
	}
	for _, change := range []func(*ussdlist.List){
		func(l *ussdlist.List) { l.Take = map[string]string{"a": "Place"} },
		func(l *ussdlist.List) { l.Where = map[string]string{"Place": "town"} },
		func(l *ussdlist.List) { l.Key = []string{"Place"} },
	} {
		c.List = taking()
		change(&c.List)
		c.read(ussdlist.Failed)
	}
}

// What a list declares is checked without its file.
func TestADeclarationIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*ussdlist.List)
		want   string
	}{
		{func(*ussdlist.List) {}, ""},
		{func(l *ussdlist.List) { l.Take = nil }, "key: a key tells rows apart"},
		{func(l *ussdlist.List) { l.Take["found"] = "Price" }, `take: "found" is what lists themselves use`},
		{func(l *ussdlist.List) { l.Key = make([]string, 25) }, "at most 24 columns"},
		{func(l *ussdlist.List) { l.Show["en"] = "plain" }, "show.en: name at least one column"},
	} {
		l := taking("Crop")
		c.change(&l)
		var said strings.Builder
		for _, p := range l.Check() {
			said.WriteString(p.Field + ": " + p.Message + "\n")
		}
		if got := said.String(); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
