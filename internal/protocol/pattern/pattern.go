// Package pattern compiles regular expressions (RE2) that strangers wrote, and
// says what it costs to match them.
//
// It promises that the time of a match is at most proportional to the pattern's
// size times the bytes of the text, so that whoever matches can set a budget
// before the work is done, and that no expression is compiled whose size is beyond
// what the caller allows. It refuses expressions that are longer than they can be
// read in a moment.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxText is the longest expression, in bytes: a class such as \pL takes
// kilobytes of memory for three letters.
const maxText = 4096

// ErrTooLarge says that an expression is beyond the allowed size.
var ErrTooLarge = errors.New("the pattern is too large")

// Pattern is a compiled expression.
type Pattern struct {
	re   *regexp.Regexp
	size int
}

// Compile compiles an expression of at most the given size.
func Compile(expr string, most int) (*Pattern, error) {
	size, err := Size(expr)
	if err != nil {
		return nil, err
	}
	if size > most {
		return nil, fmt.Errorf("%w: it has %d steps, and %d are allowed", ErrTooLarge, size, most)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &Pattern{re, size}, nil
}

// Match reports whether the text has a match.
func (p *Pattern) Match(text string) bool { return p.re.MatchString(text) }

// Cost is what matching a text of n bytes costs at most, in steps.
func (p *Pattern) Cost(n int) int64 { return int64(p.size) * int64(n+1) }

// Size is how many steps the compiled expression has, or a few more: each byte of
// a text may visit all of them. The expression is parsed and not compiled, so that
// the size of one with many repetitions is known without the memory that it takes.
func Size(expr string) (int, error) {
	if len(expr) > maxText {
		return 0, fmt.Errorf("%w: it has %d bytes, and %d are allowed", ErrTooLarge, len(expr), maxText)
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return 2 + steps(re), nil // where every program fails and where it succeeds
}

// steps counts the instructions of an expression with its repetitions written
// out. The parser bounds those, and the depth.
func steps(re *syntax.Regexp) int {
	below := 0
	for _, sub := range re.Sub {
		below += steps(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCapture, syntax.OpStar: // a repetition of what may be empty is two
		return below + 2
	case syntax.OpPlus, syntax.OpQuest:
		return below + 1
	case syntax.OpAlternate:
		return below + len(re.Sub)
	case syntax.OpConcat:
		return max(below, 1)
	case syntax.OpRepeat:
		if re.Max < 0 { // the last one may come again
			return max(re.Min, 1)*below + 2
		}
		return max(re.Max*(below+1), 1) // each beyond the least may be left out
	default:
		return 1
	}
}
