package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/words"
)

// aKey is how texts are called.
var aKey = regexp.MustCompile(`^[a-z]+\.[a-zA-Z]+$`)

// inTemplate finds what templates say.
var inTemplate = regexp.MustCompile(`\.Say "([^"]+)"`)

// uses is what the program says: keys, and where a call writes its values out, those.
type uses struct {
	keys  map[string]bool
	wrong []string
}

// TestEveryTextIsUsedWithWhatItTakes reads the sources: a text that nobody says is not
// worth translating, and one that is not there, or lacks a value, would be shown so.
func TestEveryTextIsUsedWithWhatItTakes(t *testing.T) {
	t.Parallel()
	english := words.Shipped().English()
	found := &uses{keys: map[string]bool{}}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch {
		case strings.HasSuffix(name, ".html"):
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			found.template(english, name, string(text))
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool { found.look(english, name, n); return true })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range found.wrong {
		t.Error(wrong)
	}
	for _, key := range english.Keys() {
		if !found.keys[key] {
			t.Errorf("%s: nobody says it", key)
		}
	}
}

func (u *uses) template(english *words.Language, name, text string) {
	for _, m := range inTemplate.FindAllStringSubmatch(text, -1) {
		u.keys[m[1]] = true
		if !english.Has(m[1]) || len(english.Places(m[1])) > 0 {
			u.wrong = append(u.wrong, name+": "+m[1]+" is no text without places")
		}
	}
}

func (u *uses) look(english *words.Language, name string, n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		if n.Kind != token.STRING || err != nil {
			return
		}
		u.template(english, name, text)
		if english.Has(text) {
			u.keys[text] = true
		}
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || !says(called) || len(n.Args) == 0 {
			return
		}
		key, ok := literal(n.Args[0])
		switch {
		case !ok || !aKey.MatchString(key): // others have methods of this name
		case !english.Has(key):
			u.wrong = append(u.wrong, name+": "+key+" is missing in en.json")
		default:
			var given []string
			if len(n.Args) > 1 {
				given = members(n.Args[1])
			}
			if !slices.Equal(given, english.Places(key)) {
				u.wrong = append(u.wrong, name+": "+key+" takes "+strings.Join(english.Places(key), ", ")+" and is given "+strings.Join(given, ", "))
			}
		}
	}
}

// says reports whether a call is given a text and its values: it says it, or makes a
// trouble of it (platform/trouble).
func says(called *ast.SelectorExpr) bool {
	if from, ok := called.X.(*ast.Ident); ok && from.Name == "trouble" && called.Sel.Name == "New" {
		return true
	}
	return called.Sel.Name == "Say" || called.Sel.Name == "SayPlain"
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// members are the names in a map that is written out, sorted.
func members(e ast.Expr) []string {
	written, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var names []string
	for _, one := range written.Elts {
		if pair, ok := one.(*ast.KeyValueExpr); ok {
			if name, ok := literal(pair.Key); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
