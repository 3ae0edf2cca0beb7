package pattern_test

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/pattern"
)

func TestSizeIsKnownBeforeItIsPaidFor(t *testing.T) {
	t.Parallel()
	for expr, most := range map[string]int{"a": 10, "^f.ur$": 10, "(?i)hello": 10, `\b[A-F0-9]{40}\b`: 100, `\w+@\w+\.com`: 20} {
		if _, err := pattern.Compile(expr, most); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
	for _, expr := range []string{"(a?){480}(a?){480}b", strings.Repeat(".{1000}", 80), strings.Repeat("a", 5000)} {
		if _, err := pattern.Compile(expr, 1000); !errors.Is(err, pattern.ErrTooLarge) {
			t.Errorf("%.40s: %v", expr, err)
		}
	}
	if _, err := pattern.Compile("(", 1000); err == nil || errors.Is(err, pattern.ErrTooLarge) {
		t.Errorf("no expression: %v", err)
	}
	p, err := pattern.Compile("b+", 1000)
	if err != nil || !p.Match("abc") || p.Match("ac") || p.Cost(9) < 10 {
		t.Errorf("%+v, %v", p, err)
	}
}

// The size is never less than what the standard library's program has.
func FuzzSize(f *testing.F) {
	for _, seed := range []string{
		"", "a", "(a?){480}(a?){480}b", "((a*)*)*b", "(?:|a)*", "(?:)+", "x{2,}", "(?:a*){3,}", "(?:){5}", "a{0}", "(a|b|cd)*?", "[a-z]{3,9}$",
		"(?i)k", `\pL{9}\b`, "(?:^*){2,7}", "((?:a+)*)+|", "(?s).*(?-s).*", "a{,2}", "(?:(?:a{2}){3}){4}", "[^\\x00-\\x{10FFFF}]", "(?:a??){3}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		size, err := pattern.Size(expr)
		if err != nil || size > 10_000 {
			return
		}
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatalf("%q has a size and is no expression: %v", expr, err)
		}
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if len(prog.Inst) > size {
			t.Fatalf("%q has %d instructions, and a size of %d", expr, len(prog.Inst), size)
		}
	})
}
