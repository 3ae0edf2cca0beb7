package filetext

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Bounds of a diff: the lines of which it is made, since each costs more than its
// bytes (16 in its list, and more where it is numbered); the pairs of them that the
// search for the shortest edit may compare; and the length of the answer.
const (
	maxDiffLines = 50_000
	diffCells    = 4 << 20 // of two bytes: the shorter side has fewer lines than these can count
	diffContext  = 3
	maxDiff      = 64 << 10
)

// errTooDifferent says that what differs has too many lines to be shown.
var errTooDifferent = fault.Newf(fault.TooLarge,
	"too different to show: more than %d lines from the first that changed to the last", maxDiffLines)

// unifiedDiff returns the difference of two texts. When they are too different for a
// short one, the middle is shown as replaced whole; the last line says so, and what was
// cut. With too many lines in it the answer is errTooDifferent.
func unifiedDiff(ctx context.Context, name, a, b string) (string, error) {
	if a == b {
		return "", nil
	}
	// What is alike is cut off as bytes, and only what differs becomes lines: of a text
	// of line feeds alone they would be sixteen times as large as it is.
	from, tail := differing(a, b)
	endA, endB := len(a)-tail, len(b)-tail
	if max(linesIn(a[from:endA]), linesIn(b[from:endB])) > maxDiffLines {
		return "", errTooDifferent
	}
	ops, short, err := diffMiddle(ctx, splitLines(a[from:endA]), splitLines(b[from:endB]))
	if err != nil {
		return "", err
	}
	start, lead := before(a, from)
	stop, trail := after(a, endA)
	ops = slices.Concat(repeat(keepLine, lead), ops, repeat(keepLine, trail))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	writeHunks(&out, splitLines(a[start:stop]), splitLines(b[start:stop-endA+endB]),
		strings.Count(a[:start], "\n"), ops)
	text := out.String()
	if len(text) > maxDiff {
		text = Clip(text, maxDiff) + "\n… (cut)\n"
	}
	if !short {
		text += "… (too different to be compared line by line: what changed is shown as replaced whole)\n"
	}
	return text, ctx.Err()
}

// differing returns how many bytes at the beginning of two texts, and at the end of what
// follows, are whole lines that are alike; the texts are not the same.
func differing(a, b string) (from, tail int) {
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	from = strings.LastIndexByte(a[:from], '\n') + 1
	x, y := a[from:], b[from:]
	for tail < len(x) && tail < len(y) && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	// Both begin a line here, where each is at its beginning or behind a line's end.
	begins := func(s string, at int) bool { return at == 0 || s[at-1] == '\n' }
	if !begins(x, len(x)-tail) || !begins(y, len(y)-tail) {
		cut := strings.IndexByte(x[len(x)-tail:], '\n')
		if cut < 0 {
			return from, 0
		}
		tail -= cut + 1
	}
	return from, tail
}

// before goes back from the beginning of a line, by as many lines as are shown around a
// change, and says how many they are.
func before(s string, at int) (start, lines int) {
	for start = at; start > 0 && lines < diffContext; lines++ {
		start = strings.LastIndexByte(s[:start-1], '\n') + 1
	}
	return start, lines
}

// after goes on from the beginning of a line likewise.
func after(s string, at int) (end, lines int) {
	for end = at; end < len(s) && lines < diffContext; lines++ {
		if n := strings.IndexByte(s[end:], '\n'); n >= 0 {
			end += n + 1
		} else {
			end = len(s)
		}
	}
	return end, lines
}

// linesIn counts lines, of which the last may have no end.
func linesIn(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineOp keeps, removes or adds one line.
type lineOp byte

const (
	keepLine   lineOp = ' '
	removeLine lineOp = '-'
	addLine    lineOp = '+'
)

// diffMiddle finds a shortest list of operations by longest common subsequence;
// short is false when it is not looked for.
func diffMiddle(ctx context.Context, xs, ys []string) (ops []lineOp, short bool, err error) {
	if len(xs)*len(ys) > diffCells {
		return append(repeat(removeLine, len(xs)), repeat(addLine, len(ys))...), false, nil
	}
	// Lines are compared as numbers: long ones that begin alike would each cost
	// their length, as often as there are cells.
	numbers := map[string]int32{}
	x, y := numberLines(numbers, xs), numberLines(numbers, ys)
	width := len(y) + 1
	longest := make([]uint16, (len(x)+1)*width)
	for i, left := range slices.Backward(x) {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		for j, right := range slices.Backward(y) {
			if left == right {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			ops, i, j = append(ops, keepLine), i+1, j+1
		case j == len(y) || i < len(x) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
			ops, i = append(ops, removeLine), i+1
		default:
			ops, j = append(ops, addLine), j+1
		}
	}
	return ops, true, nil
}

// numberLines gives equal lines equal numbers.
func numberLines(known map[string]int32, lines []string) []int32 {
	out := make([]int32, len(lines))
	for i, line := range lines {
		n, ok := known[line]
		if !ok {
			n = int32(len(known)) //nolint:gosec // fewer than cells
			known[line] = n
		}
		out[i] = n
	}
	return out
}

func repeat(op lineOp, n int) []lineOp {
	ops := make([]lineOp, n)
	for i := range ops {
		ops[i] = op
	}
	return ops
}

// writeHunks prints the operations with some equal lines around them, until the answer
// is full. So many lines were left out before the first.
func writeHunks(out *strings.Builder, x, y []string, skipped int, all []lineOp) {
	for at, i, j := 0, 0, 0; at < len(all) && out.Len() <= maxDiff; {
		if all[at] == keepLine {
			at, i, j = at+1, i+1, j+1
			continue
		}
		lead := min(diffContext, at, i, j)
		end := hunkEnd(all, at)
		start := at - lead
		oldN, newN := 0, 0
		for _, op := range all[start:end] {
			if op != addLine {
				oldN++
			}
			if op != removeLine {
				newN++
			}
		}
		i, j = i-lead, j-lead
		fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", skipped+i+1, oldN, skipped+j+1, newN)
		for _, op := range all[start:end] {
			if out.Len() > maxDiff {
				return
			}
			line := ""
			switch op {
			case addLine:
				line, j = y[j], j+1
			case removeLine:
				line, i = x[i], i+1
			default:
				line, i, j = x[i], i+1, j+1
			}
			out.WriteByte(byte(op))
			line = strings.TrimSuffix(line, "\n")
			out.WriteString(line[:min(len(line), maxDiff+1)]) // the rest is cut off anyway
			out.WriteByte('\n')
		}
		at = end
	}
}

// hunkEnd finds where the equal lines after a change are enough to stop.
func hunkEnd(all []lineOp, at int) int {
	last := at
	for i := at; i < len(all) && i-last <= 2*diffContext; i++ {
		if all[i] != keepLine {
			last = i
		}
	}
	return min(last+1+diffContext, len(all))
}

// Diff compares two versions of a text file; to 0 is the current one, from 0 the
// one before to.
func (s *Service) Diff(ctx context.Context, a filestore.Access, path string, from,
	to int64,
) (string, filestore.File, error) {
	scope, err := a.Scope(filestore.Read)
	if err != nil {
		return "", filestore.File{}, err
	}
	f, err := s.files.At(ctx, scope, path)
	if err != nil {
		return "", filestore.File{}, err
	}
	if err := s.files.CountUse(ctx, a); err != nil {
		return "", filestore.File{}, err
	}
	if to == 0 {
		to = f.Version
	}
	if from == 0 {
		from = max(to-1, 1)
	}
	done, err := ratelimit.HoldingOf(ctx).Work(ctx)
	if err != nil {
		return "", filestore.File{}, err
	}
	defer done()
	var versions [2]filestore.Version
	for i, n := range []int64{from, to} {
		if versions[i], err = s.store.Version(ctx, scope, f.ID, n); err != nil {
			return "", filestore.File{}, err
		}
	}
	hold := ratelimit.HoldingOf(ctx)
	if err := hold.Take(ctx, weigh(versions[0].Size, versions[1].Size)); err != nil {
		return "", filestore.File{}, err
	}
	var texts [2]string
	for i, v := range versions {
		o, err := s.files.Open(ctx, v.Content)
		if err != nil {
			return "", filestore.File{}, err
		}
		b, err := o.ReadAll(maxEdit)
		if err != nil {
			return "", filestore.File{}, err
		}
		if !utf8.Valid(b) {
			return "", filestore.File{}, fault.New(fault.UnsupportedMedia, "the file is not text")
		}
		texts[i] = string(b)
	}
	text, err := unifiedDiff(ctx, f.Path, texts[0], texts[1])
	hold.Keep(Written(text))
	return text, f, err
}

// weigh is what it takes to compare two texts: each as it was read and as a text, and the
// pairs of their lines.
func weigh(a, b int64) int64 {
	a, b = min(a, maxEdit), min(b, maxEdit)
	return 2*(a+b) + min(2*(a+1)*(b+1), 2*diffCells)
}
