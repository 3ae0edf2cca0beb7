// Package csvcell makes texts of strangers fit for the cells of a CSV file.
//
// It promises that a spreadsheet takes no part of such a text for a formula, also one
// whose country separates cells by semicolons or tabs and so cuts a text in two: what
// people typed is shown, with an apostrophe in front of what would have been run. It
// refuses nothing, and quotes nothing: encoding/csv does that.
package csvcell

import "strings"

// signs begin formulas, the wide ones where people write Chinese, Japanese or Korean.
const signs = "=+-@|%＝＋－＠｜％"

// separators begin a cell, in some country.
const separators = ";\t\r\n"

// Inert is the text with no formula in it.
func Inert(text string) string {
	if !strings.ContainsAny(text, signs+separators) {
		return text
	}
	var b strings.Builder
	begins := true // a cell may begin here
	for i, r := range text {
		switch {
		case strings.ContainsRune(separators, r):
			if i == 0 {
				b.WriteByte('\'') // it would be dropped, and what follows would begin the cell
			}
			begins = true
		case begins && strings.ContainsRune(signs, r):
			b.WriteByte('\'')
			begins = false
		case r != ' ' && r != '"': // a blank may be dropped, and a quote is none of the cell
			begins = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
