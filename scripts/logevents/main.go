// Command logevents writes the page of log events from the sources, so that alerts
// can name a line by a key that stays when its sentence is written better:
//
//	go run ./scripts/logevents . > docs/reference/log-events.md
//
// It refuses a line at level info or above that has no event as its first
// attribute, and an event that stands for two sentences.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := write(os.Stdout, root); err != nil {
		fmt.Fprintln(os.Stderr, "logevents:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

// line is a call of a logger whose sentence is written out in the source.
type line struct{ event, level, sentence, where string }

var spelling = regexp.MustCompile(`^[a-z][a-z_]*\.[a-z][a-z_]*$`)

func write(w io.Writer, root string) error {
	events := map[string]line{}
	var wrong []error
	for _, folder := range []string{"internal", "cmd", "plugin"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !isSource(path, d) {
				return err
			}
			lines, err := linesOf(path)
			for _, l := range lines {
				first, known := events[l.event]
				switch {
				case !spelling.MatchString(l.event):
					wrong = append(wrong, fmt.Errorf("%s: %q has no event such as slog.String(\"event\", \"lease.lost\") behind it", l.where, l.sentence))
				case known && first.sentence != l.sentence:
					wrong = append(wrong, fmt.Errorf("%s: the event %s is also that of %s", l.where, l.event, first.where))
				default:
					events[l.event] = l
				}
			}
			return err
		})
		wrong = append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	return printPage(w, slices.SortedFunc(maps.Values(events), func(a, b line) int {
		return cmp.Compare(a.event, b.event)
	}))
}

func printPage(w io.Writer, lines []line) error {
	var b strings.Builder
	b.WriteString("# Log events\n\n" +
		"Each line of the log that is above debug carries `event`, which stays when its sentence is written better: let alerts\n" +
		"name the event. `make generate` writes this page. Terminals are spared the key; `LOG_FORMAT=json` has it.\n\n" +
		"| event | level | sentence |\n|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", l.event, l.level, strings.ReplaceAll(l.sentence, "|", `\|`))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// isSource leaves out tests and the packages that only tests use.
func isSource(path string, d fs.DirEntry) bool {
	return !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") &&
		!strings.HasSuffix(filepath.Dir(path), "test")
}

func linesOf(path string) ([]line, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []line
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if l, ok := lineOf(call); ok {
				l.where = set.Position(call.Pos()).String()
				found = append(found, l)
			}
		}
		return true
	})
	return found, nil
}

// lineOf reads a call such as log.Warn("sentence", slog.String("event", "a.b")).
func lineOf(call *ast.CallExpr) (line, bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return line{}, false
	}
	name, hasContext := strings.CutSuffix(method.Sel.Name, "Context")
	level, at := strings.ToLower(name), 0
	if hasContext {
		at = 1
	}
	switch name {
	case "Info", "Warn", "Error":
	case "Log", "LogAttrs":
		if at = 2; len(call.Args) > at {
			level = levelOf(call.Args[1])
		}
	default:
		return line{}, false
	}
	if len(call.Args) <= at || level == "debug" {
		return line{}, false
	}
	sentence, ok := text(call.Args[at])
	if !ok {
		return line{}, false
	}
	l := line{level: level, sentence: sentence}
	if len(call.Args) > at+1 {
		if attr, ok := call.Args[at+1].(*ast.CallExpr); ok && len(attr.Args) == 2 {
			if key, _ := text(attr.Args[0]); key == "event" {
				l.event, _ = text(attr.Args[1])
			}
		}
	}
	return l, true
}

// levelOf names a level that is written out; another is decided when it is logged.
func levelOf(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Level") {
		return strings.ToLower(strings.TrimPrefix(s.Sel.Name, "Level"))
	}
	return "any"
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
