package textfile

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/sheet"
)

// CSV reads tables with separators.
type CSV struct{}

// Format describes tables with separators.
func (c CSV) Format() document.Format {
	return document.Format{
		Name: "csv", MediaTypes: []string{"text/csv", "text/tab-separated-values"}, Extensions: []string{".csv", ".tsv", ".tab"}, Parser: c,
	}
}

// Parse reads rows until the limit. Wrong quotes are taken as they stand.
func (CSV) Parse(src document.Source, to *document.Builder) error {
	text, err := Decode(src.Data)
	if err != nil {
		return err
	}
	if line, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(line, "sep=") { // a word of one spreadsheet to itself
		text = rest
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = separator(text)
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	r.ReuseRecord = true
	table := sheet.New(to, "")
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return table.Close()
		}
		if err != nil { // a quote that does not end; the rows before are good
			return errors.Join(table.Close(), document.ErrDamaged)
		}
		line, _ := r.FieldPos(0)
		err = table.Row(line, row)
		if errors.Is(err, sheet.ErrRows) {
			return table.Close()
		}
		if err != nil {
			return err
		}
	}
}

// separator is the one that the first lines have the most of, and alike.
func separator(text string) rune {
	best, most := ',', 0
	for _, candidate := range ",;\t|" {
		total, lines := 0, 0
		for line := range strings.Lines(text[:min(len(text), 16<<10)]) {
			if n := strings.Count(line, string(candidate)); n > 0 {
				total += min(n, 50)
				lines++
			}
		}
		if score := total * lines; score > most {
			best, most = candidate, score
		}
	}
	return best
}
