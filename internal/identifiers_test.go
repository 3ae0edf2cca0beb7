package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// identifierColumns are those of the table in docs/reference/identifiers.md.
const identifierColumns = 7

// TestIdentifiersHaveTheirTests walks the inventory of identifiers: each row says
// what is made where, read where and held by which test, and all three are there.
func TestIdentifiersHaveTheirTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/identifiers.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| identifier |") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != identifierColumns {
			t.Errorf("%d cells, want %d: %s", len(cells), identifierColumns, line)
			continue
		}
		name := strings.TrimSpace(cells[0])
		if seen[name] {
			t.Errorf("%s has two rows", name)
		}
		seen[name] = true
		for _, cell := range cells[1:4] {
			if strings.TrimSpace(cell) == "" {
				t.Errorf("%s: a cell is empty", name)
			}
		}
		for i, cell := range cells[4:] {
			wantDeclared(t, name, strings.Trim(strings.TrimSpace(cell), "`"), i == 2)
		}
	}
	// What must never be missing, whatever is added.
	for _, name := range []string{
		"token", "delegation", "revocation", "share link", "file CID", "DID", "key", "session, run and message request", "HTTP request id",
		"idempotency key", "path", "telephone number", "telephone account", "account address",
	} {
		if !seen[name] {
			t.Errorf("%s has no row", name)
		}
	}
}

// wantDeclared fails unless folder.Function is a function or a method there, and
// one of the tests when it should be.
func wantDeclared(t *testing.T, row, where string, test bool) {
	t.Helper()
	dot := strings.LastIndexByte(where, '.')
	if dot < 0 || test != strings.HasPrefix(where[dot+1:], "Test") {
		t.Errorf("%s: %q is not folder.Function", row, where)
		return
	}
	files, err := filepath.Glob(filepath.Join("..", where[:dot], "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") != test {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == where[dot+1:] && (!test || f.Recv == nil) {
				return
			}
		}
	}
	t.Errorf("%s: %s is not there", row, where)
}
