package ussdlist

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// List is a list as a menu declares it.
type List struct {
	// File is the name of the CSV file in the folder of lists.
	File string `yaml:"file"`
	// Document is, in the place of a file, the path of a spreadsheet below the folder of
	// a collection, Collection the id of that, and Sheet one of the spreadsheet's sheets;
	// none is the first that holds a table.
	Document   string `yaml:"document"`
	Collection string `yaml:"collection"`
	Sheet      string `yaml:"sheet"`
	// Show is how a row looks in each language, with {{column}} in it.
	Show map[string]string `yaml:"show"`
	// Search names the columns in which a word is looked for; none means all.
	Search []string `yaml:"search"`
	// Where keeps only the rows whose columns equal variables: variables by column.
	Where map[string]string `yaml:"where"`
	// Take lets callers choose a row: columns by the variable that each fills.
	Take map[string]string `yaml:"take"`
	// Key names the columns by which a row stays the same one when its others change; none
	// means all: then a row that changed is another.
	Key []string `yaml:"key"`
}

// The bounds of a list's declaration.
const (
	maxDocumentPath = 512
	maxTaken        = 24
)

// The variables that actions of lists read and fill beside those that a list names.
const (
	varWord  = "word"
	varRow   = "row"
	varRows  = "rows"
	varFound = "found"
)

var (
	fileName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.csv$`)
	collectionID = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// Problem is what is wrong with a list as it is declared, and at which of its fields.
type Problem struct{ Field, Message string }

// Check looks at what the list says. What is in its file is not looked at: that changes by
// itself.
func (l List) Check() (all []Problem) {
	report := func(field, format string, args ...any) {
		all = append(all, Problem{field, fmt.Sprintf(format, args...)})
	}
	switch {
	case l.Document == "" && l.Collection == "" && l.Sheet == "":
		if !fileName.MatchString(l.File) {
			report("file", "write the name of a file in the folder of lists, such as prices.csv, or a document and its collection")
		}
	case l.File != "":
		report("file", "a list is a file or a document, not both")
	case !collectionID.MatchString(l.Collection):
		report("collection", "write the id of a collection, as castalia knowledge shows it")
	case !fs.ValidPath(l.Document) || len(l.Document) > maxDocumentPath:
		report("document", "write the path of a spreadsheet below the folder of the collection, such as prices/maize.xlsx")
	}
	for _, lang := range slices.Sorted(maps.Keys(l.Show)) {
		if columns, err := Columns(l.Show[lang]); err != nil || len(columns) == 0 {
			report("show."+lang, "name at least one column, as {{column}}")
		}
	}
	if len(l.Take) > maxTaken || len(l.Where) > maxTaken || len(l.Key) > maxTaken {
		report("take", "a list takes, and is narrowed by, at most %d columns", maxTaken)
	}
	if len(l.Key) > 0 && len(l.Take) == 0 {
		report("key", "a key tells rows apart that are chosen: write take, or leave key out")
	}
	for _, name := range slices.Sorted(maps.Keys(l.Take)) {
		if slices.Contains([]string{varWord, varRow, varRows, varFound}, name) {
			report("take", "%q is what lists themselves use: choose another variable", name)
		}
	}
	return all
}

// Columns lists the columns that a text names as {{column}}.
func Columns(show string) (names []string, err error) {
	for {
		_, rest, open := strings.Cut(show, "{{")
		if !open {
			return names, nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if name = strings.TrimSpace(name); !closed || name == "" {
			return nil, errors.New("{{ without a column and }}")
		}
		names, show = append(names, name), after
	}
}
