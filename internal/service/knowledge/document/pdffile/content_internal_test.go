package pdffile

import (
	"strings"
	"testing"

	"github.com/ledongthuc/pdf"
)

// Seven kilobytes of forms inside forms took half a minute: what has an object read
// from the file costs more than an operator.
func TestLookUpsCostMoreThanOperators(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]int{
		strings.Repeat("/X Do ", 10):     10 * (1 + lookUp),
		strings.Repeat("/F1 12 Tf ", 10): 10 * (1 + lookUp), // of a font that is not there
		strings.Repeat("q Q ", 10):       20,
	} {
		budget := 1_000_000
		p := page{
			budget: &budget,
			fonts:  func(pdf.Value) *font { return nil },
			tables: func(pdf.Value) map[string]*font { return map[string]*font{} },
		}
		p.interpret([]byte(content), pdf.Value{}, state{})
		if spent := 1_000_000 - budget; spent != want {
			t.Errorf("%.10s…: %d spent, want %d", content, spent, want)
		}
	}
}
