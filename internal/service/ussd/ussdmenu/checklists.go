package ussdmenu

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

const maxDocumentPath = 512

var (
	listFile       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.csv$`)
	listCollection = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// checkLists checks the lists that the menu declares. What is in their files is not
// the menu's: it changes by itself.
func (c *checker) checkLists() {
	for _, name := range slices.Sorted(maps.Keys(c.src.Lists)) {
		path, l := "lists."+name, c.src.Lists[name]
		if !formName.MatchString(name) {
			c.report(path, "a list's name has 1 to 40 of a-z, 0-9, - and _, and begins with a letter")
		}
		switch {
		case l.Document == "" && l.Collection == "" && l.Sheet == "":
			if !listFile.MatchString(l.File) {
				c.report(path+".file", "write the name of a file in the folder of lists, such as prices.csv, or a document and its collection")
			}
		case l.File != "":
			c.report(path+".file", "a list is a file or a document, not both")
		case !listCollection.MatchString(l.Collection):
			c.report(path+".collection", "write the id of a collection, as castalia knowledge shows it")
		case !fs.ValidPath(l.Document) || len(l.Document) > maxDocumentPath:
			c.report(path+".document", "write the path of a spreadsheet below the folder of the collection, such as prices/maize.xlsx")
		}
		c.checkText(path+".show", l.Show)
		for _, lang := range slices.Sorted(maps.Keys(l.Show)) {
			if columns, err := ussdlist.Columns(l.Show[lang]); err != nil || len(columns) == 0 {
				c.report(join(path+".show", lang), "name at least one column, as {{column}}")
			}
		}
	}
}

// List returns the list that a Call reads.
func (m *Menu) List(call string) ussdlist.List {
	a := m.src.Actions[call]
	if a == nil {
		return ussdlist.List{}
	}
	return m.src.Lists[a.List]
}

// Fitting returns as many of the lines, from the first on, as a variable shows whole.
func (m *Menu) Fitting(variable string, lines []string) []string {
	room := m.src.Variables[variable].Max
	for i, line := range lines {
		z := Measure(line + "\n")
		if room -= max(z.Septets, z.Units); room < 0 {
			return lines[:max(i, 1)]
		}
	}
	return lines
}
