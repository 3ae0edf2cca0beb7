package internal

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"unicode/utf8"
)

// maxColumns is how wide a line of code may be, with a tab as one column.
const maxColumns = 120

// checkWidth names the lines of code that are too wide. What a string says does
// not count: people search for whole sentences, and statements of SQL are read as
// one. Lines of a string that spans several are its own affair.
func checkWidth(name string, text []byte) []string {
	file := token.NewFileSet().AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	spoken := map[int]int{} // columns of strings, by line
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind != token.STRING {
			continue
		}
		first := file.Line(pos)
		if more := bytes.Count([]byte(literal), []byte("\n")); more > 0 {
			for line := first; line <= first+more; line++ {
				spoken[line] = len(text)
			}
			continue
		}
		spoken[first] += utf8.RuneCountInString(literal) - len(`""`)
	}
	var found []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		directive := bytes.HasPrefix(bytes.TrimSpace(line), []byte("//go:"))
		if wide := utf8.RuneCount(line) - spoken[i+1]; wide > maxColumns && !directive {
			found = append(found, fmt.Sprintf("%s:%d is %d columns wide, at most %d", name, i+1, wide, maxColumns))
		}
	}
	return found
}
