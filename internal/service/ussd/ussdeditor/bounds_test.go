package ussdeditor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
)

// Texts of which little would make much are edited as text, and cost about what they
// weigh. A megabyte of them may not take more than a node has. It does not run beside
// others: what they allocate would be counted.
func TestALittleTextDoesNotMakeMuch(t *testing.T) {
	var fields strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&fields, "k%d: v # said of it\n", i)
	}
	below := ""
	for i := range 20 {
		below += strings.Repeat(" ", i) + strings.Repeat("k", 500) + ":\n"
	}
	for name, c := range map[string]struct {
		text  string
		plain bool
		megas uint64
	}{
		"aliases of a text": {"name: &a " + strings.Repeat("x", 2_000) + "\ncodes:\n" + strings.Repeat("- *a\n", 10_000), true, 300},
		"lines of comments": {strings.Repeat("#\n", 50_000) + "name: x\n", true, 600},
		"below a long key":  {"screens:\n  " + strings.Repeat("k", 20_000) + ":\n" + strings.Repeat("    - a\n", 20_000), true, 600},
		"below long keys":   {below + strings.Repeat(" ", 20) + "k: [" + strings.Repeat("1,", 100_000) + "1]\n", true, 600},
		"many fields":       {fields.String(), false, 1_500},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := read(t, []byte(c.text))
		runtime.ReadMemStats(&after)
		if (d.Plain != "") != c.plain || (len(d.Parts) == 0) != c.plain {
			t.Errorf("%s: %d parts, plain %q", name, len(d.Parts), d.Plain)
		}
		megas := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d MB for %d bytes, %.100s", name, megas, len(c.text), d.Plain)
		if megas > c.megas {
			t.Errorf("%s: took %d MB for %d bytes", name, megas, len(c.text))
		}
	}
}

func TestPartsAreBounded(t *testing.T) {
	t.Parallel()
	many := map[string][]string{}
	for i := range 10_001 {
		many[fmt.Sprint(i)] = []string{"x"}
	}
	long := ussdeditor.Map{}
	for i := range 20 {
		long = append(long, ussdeditor.Pair{Key: fmt.Sprint(i), Value: strings.Repeat("x", 100_000)})
	}
	for name, c := range map[string]struct {
		part ussdeditor.Part
		kind fault.Kind
	}{
		"comments": {ussdeditor.Part{Menu: ussdeditor.Map{{Key: "name", Value: "x"}}, Comments: many}, fault.Invalid},
		"lines": {ussdeditor.Part{
			Menu: ussdeditor.Map{{Key: "name", Value: "x"}}, Comments: map[string][]string{"name": make([]string, 10_001)},
		}, fault.Invalid},
		"text": {ussdeditor.Part{Menu: long}, fault.TooLarge},
	} {
		if _, err := editor(t).Write(t.Context(), []ussdeditor.Part{c.part}); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWorkEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, read := editor(t).Read(ctx, []byte(small))
	_, written := editor(t).Write(ctx, []ussdeditor.Part{{Menu: ussdeditor.Map{{Key: "name", Value: "x"}}}})
	_, formatted := ussdeditor.Format(ctx, []byte(small))
	_, tried := editor(t).Try(ctx, []byte(small), ussdeditor.Attempt{Inputs: []string{"1"}})
	for name, err := range map[string]error{"read": read, "written": written, "formatted": formatted, "tried": tried} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
