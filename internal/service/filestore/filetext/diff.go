package filetext

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Bounds of a diff: the lines that the search for the shortest edit may compare,
// and the length of the answer.
const (
	diffCells   = 4 << 20
	diffContext = 3
	maxDiff     = 64 << 10
)

// unifiedDiff returns the difference of two texts. When they are too large and
// too different for a short one, the middle is shown as replaced whole; the last
// line says so, and what was cut.
func unifiedDiff(ctx context.Context, name, a, b string) (string, error) {
	x, y := splitLines(a), splitLines(b)
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	ops, short, err := diffMiddle(ctx, x[head:len(x)-tail], y[head:len(y)-tail])
	if err != nil || len(ops) == 0 {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	writeHunks(&out, x, y, head, ops)
	text := out.String()
	if len(text) > maxDiff {
		text = Clip(text, maxDiff) + "\n… (cut)\n"
	}
	if !short {
		text += "… (too different to be compared line by line: what changed is shown as replaced whole)\n"
	}
	return text, ctx.Err()
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
	longest := make([]int32, (len(x)+1)*width)
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

// writeHunks prints the operations with some equal lines around them. head equal
// lines come before the first.
func writeHunks(out *strings.Builder, x, y []string, head int, ops []lineOp) {
	all := append(repeat(keepLine, head), ops...)
	all = append(all, repeat(keepLine, len(x)-head-countOld(ops))...)
	for at, i, j := 0, 0, 0; at < len(all); {
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
		fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", i+1, oldN, j+1, newN)
		for _, op := range all[start:end] {
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
			out.WriteString(strings.TrimSuffix(line, "\n"))
			out.WriteByte('\n')
		}
		at = end
	}
}

func countOld(ops []lineOp) int {
	n := 0
	for _, op := range ops {
		if op != addLine {
			n++
		}
	}
	return n
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
	var texts [2]string
	for i, n := range []int64{from, to} {
		v, err := s.store.Version(ctx, scope, f.ID, n)
		if err != nil {
			return "", filestore.File{}, err
		}
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
	return text, f, err
}
