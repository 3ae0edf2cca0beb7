package guide

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

var (
	sumForm   = regexp.MustCompile(`^[\d\s.+\-*/()^%]+$`)
	thousands = regexp.MustCompile(`\d(?:,\d{3})+\b`)
	// by is an x between numbers.
	by        = regexp.MustCompile(`(\d)\s*x\s*(\d)`)
	percentOf = regexp.MustCompile(`(\d)\s*(?:%|percent|per cent)\s+of\s+`)
	// priced is so many of something at a price for each.
	priced = regexp.MustCompile(`^(\d+(?:\.\d+)?) [\p{L} ]+? (?:at|for|cost|costing|@) (\d+(?:\.\d+)?)(?: [\p{L} ]+?)?(?: each| a piece| per [\p{L}]+)?$`)
)

// sums answers arithmetic.
func sums(_ plugin.ModelRequest, question string) (answer, bool) {
	q := strings.ToLower(strings.Trim(question, " ?=."))
	for _, start := range []string{"what is ", "what's ", "whats ", "calculate ", "compute ", "how much is "} {
		q = strings.TrimPrefix(q, start)
	}
	q = strings.NewReplacer("×", "*", "÷", "/", " plus ", "+", " minus ", "-", " times ", "*", " divided by ", "/").Replace(q)
	q = by.ReplaceAllString(q, "$1*$2")
	q = thousands.ReplaceAllStringFunc(q, func(n string) string { return strings.ReplaceAll(n, ",", "") })
	q = percentOf.ReplaceAllString(q, "$1/100*")
	q = priced.ReplaceAllString(q, "$1*$2")
	if !sumForm.MatchString(q) || !strings.ContainsAny(q, "+-*/^%") || !strings.ContainsAny(q, "0123456789") || len(q) > 200 {
		return answer{}, false
	}
	p := &sum{text: strings.ReplaceAll(q, " ", "")}
	v, err := p.expression(0)
	if err != nil || p.at != len(p.text) || math.IsInf(v, 0) || math.IsNaN(v) {
		return text("I could not work that out."), true
	}
	return text("%s", strconv.FormatFloat(v, 'g', 15, 64)), true
}

// sum reads an expression by precedence.
type sum struct {
	text  string
	at    int
	depth int
}

var errSum = errors.New("not a sum")

func precedence(op byte) int {
	switch op {
	case '+', '-':
		return 1
	case '*', '/', '%':
		return 2
	case '^':
		return 3
	}
	return 0
}

func (s *sum) expression(least int) (float64, error) {
	if s.depth++; s.depth > 100 {
		return 0, errSum
	}
	defer func() { s.depth-- }()
	left, err := s.operand()
	for err == nil && s.at < len(s.text) {
		op := s.text[s.at]
		level := precedence(op)
		if level == 0 || level <= least && (op != '^' || level < least) {
			break
		}
		s.at++
		var right float64
		if right, err = s.expression(level); err == nil {
			left = apply(op, left, right)
		}
	}
	return left, err
}

func apply(op byte, a, b float64) float64 {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	case '%':
		return math.Mod(a, b)
	}
	return math.Pow(a, b)
}

func (s *sum) operand() (float64, error) {
	if s.at >= len(s.text) {
		return 0, errSum
	}
	switch s.text[s.at] {
	case '-':
		s.at++
		v, err := s.expression(2)
		return -v, err
	case '(':
		s.at++
		v, err := s.expression(0)
		if err != nil || s.at >= len(s.text) || s.text[s.at] != ')' {
			return 0, errSum
		}
		s.at++
		return v, nil
	}
	start := s.at
	for s.at < len(s.text) && (s.text[s.at] >= '0' && s.text[s.at] <= '9' || s.text[s.at] == '.') {
		s.at++
	}
	return strconv.ParseFloat(s.text[start:s.at], 64)
}
