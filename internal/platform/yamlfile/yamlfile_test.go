package yamlfile_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

func TestDocumentsAreRead(t *testing.T) {
	t.Parallel()
	var got struct {
		Name string
		List []map[string]int
	}
	source := "name: 'a & b * c'\nlist:\n  - {x: 1}\n  - y: 2\n"
	if err := yamlfile.Unmarshal([]byte(source), &got, 0, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]map[string]int{{"x": 1}, {"y": 2}}, got.List); diff != "" || got.Name != "a & b * c" {
		t.Errorf("%+v", got)
	}
	shared := "list:\n  - &one {x: 1}\n  - *one\n"
	if err := yamlfile.Unmarshal([]byte(shared), &got, 0, yaml.Strict()); err != nil || len(got.List) != 2 ||
		got.List[1]["x"] != 1 {
		t.Errorf("an alias: %+v, %v", got.List, err)
	}
	lists := "a:\n- b: 1\n  c:\n  - 2\n  - 3\nd: {e: [1, {f: 2}], g: 3}\n"
	if err := yamlfile.Unmarshal([]byte(strings.Repeat("- x: 1\n  y: {z: 1}\n", 10_000)), new(any), 0); err != nil {
		t.Errorf("many small maps: %v", err)
	}
	if err := yamlfile.Unmarshal([]byte(lists), new(any), 0); err != nil {
		t.Errorf("lists: %v", err)
	}
	for _, keys := range []string{"? a\n: 1\n? b\n: 2\n", "a: &k b\n*k : 2\n", "{\"a\": 1, b: 2}\n", "? |\n  a\n: 1\nb: 2\n"} {
		var into map[string]any
		if err := yamlfile.Unmarshal([]byte(keys), &into, 0); err != nil || len(into) != 2 {
			t.Errorf("%q: %v, %v", keys, into, err)
		}
	}
	if err := yamlfile.Unmarshal(nil, &got, 0); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if file, err := yamlfile.Tree([]byte(source), 0); err != nil || len(file.Docs) != 1 {
		t.Errorf("tree: %v, %v", file, err)
	}
}

func TestWhatIsNotModestIsRefused(t *testing.T) {
	t.Parallel()
	laughs := "a: &a [x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		laughs += string(c) + ": &" + string(c) + " [*" + string(c-1) + ", *" + string(c-1) + "]\n"
	}
	many, below, steps := "", "", ""
	for i := range 5_000 {
		many += strconv.Itoa(i) + ": 1\n"
	}
	for i := range 30 {
		below += strings.Repeat(" ", i) + strings.Repeat("k", 500) + ":\n"
	}
	below = strings.TrimSuffix(below, "\n")
	for i := range 200 {
		steps += strings.Repeat(" ", i) + "k:\n"
	}
	long := strings.Repeat("x", 2_000)
	words := "a: 1"
	for _, letter := range []string{"w", "x", "y", "z"} {
		words += ", " + strings.Repeat(letter, 500) + ": 1"
	}
	for name, c := range map[string]struct{ source, says string }{
		"large":           {strings.Repeat("#", yamlfile.DefaultLimit+1), "larger than"},
		"a billion lols":  {laughs, "an alias inside an anchor"},
		"itself":          {"a: &x [*x]", "an alias inside an anchor"},
		"deep lists":      {strings.Repeat("[", 20_000), "nested deeper"},
		"deep on lines":   {strings.Repeat("[\n", 65), "nested deeper"},
		"deep maps":       {strings.Repeat("{a: ", 20_000), "nested deeper"},
		"deep dashes":     {strings.Repeat("- ", 20_000), "nested deeper"},
		"deep questions":  {strings.Repeat("? ", 20_000), "cannot be a key"},
		"tags upon tags":  {strings.Repeat("!a ", 20_000), "nested deeper"},
		"a flat bomb":     {"a: &x [" + strings.Repeat("1, ", 2_000) + "1]\nb: [" + strings.Repeat("*x, ", 2_000) + "1]\n", "stand for more than"},
		"a heavy bomb":    {"a: &x " + long + "\nb:\n" + strings.Repeat("- *x\n", 600), "more than 1048576 bytes"},
		"of lines":        {"a: &x |\n  " + long + "\nb:\n" + strings.Repeat("- *x\n", 600), "more than 1048576 bytes"},
		"of keys":         {"a: &x {" + words + "}\nb:\n" + strings.Repeat("- *x\n", 600), "more than 1048576 bytes"},
		"named again":     {"a: &x " + long + "\nb:\n" + strings.Repeat("- *x\n", 600) + "c: &x 1\n", "more than 1048576 bytes"},
		"one in another":  {"a: &x [&y " + long + "]\nb:\n" + strings.Repeat("- *x\n", 600), "more than 1048576 bytes"},
		"a long key":      {"a:\n  " + long + ": 1\n", "line 2: a key is longer than 512 bytes"},
		"in braces":       {"a: {\"" + long + "\": 1}\n", "a key is longer than"},
		"asked for":       {"? " + long + "\n: 1\n", "a key is longer than"},
		"by an alias":     {"a: &x " + long + "\nb: {*x : 1}\n", "a key is longer than"},
		"a list as a key": {"[a, b]: 1\n", "cannot be a key"},
		"asked lists":     {"? - " + long + "\n  - b\n: 1\n", "cannot be a key"},
		"asked maps":      {"? a: b\n: 1\n", "cannot be a key"},
		"many keys":       {many, "line 4097: a map has more than 4096 keys"},
		"below long keys": {below + " [" + strings.Repeat("1,", 200_000) + "1]\n", "below long keys"},
		"deep blocks":     {steps, "nested deeper"},
		"an unknown word": {"colour: red", "unknown field"},
		"empty lines":     {"a: |\n x\n" + strings.Repeat("\n", 1<<19), "line 203: more than 200 empty lines in a row"},
		"blank lines":     {"a: >\n x\n" + strings.Repeat(" \t\r\n", 1<<17), "more than 200 empty lines in a row"},
		"old empty lines": {"a: |\n x\n" + strings.Repeat("\r", 1<<19), "more than 200 empty lines in a row"},
		"angles":          {"a: 1\nb: " + strings.Repeat("<", 1<<19), "line 2: more than 200 < in a row"},
		"tabs":            {"a: \"" + strings.Repeat("\t=", 1<<18) + "\"", "line 1: too many tabs on long lines"},
	} {
		var into struct{ A any }
		if err := yamlfile.Unmarshal([]byte(c.source), &into, 0, yaml.Strict()); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.200v, want %q", name, err, c.says)
		}
	}
}

// An error has neither the text around its place in it nor takes long to be written.
func TestErrorsAreBrief(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		strings.Repeat(`"`, 1<<16), strings.Repeat("`", 1<<16), "a: " + strings.Repeat("* ", 1<<15), "key: 's3cret\n", "a: [s3cret",
	} {
		err := yamlfile.Unmarshal([]byte(source), new(any), 0)
		_, treeErr := yamlfile.Tree([]byte(source), 0)
		for _, err := range []error{err, treeErr} {
			if err == nil || len(err.Error()) > 200 || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%.20q: %.300v", source, err)
			}
		}
	}
	// Texts of people have some of all that.
	for _, source := range []string{
		"a: |\n x\n" + strings.Repeat("\r\n", 190) + " y\n", "a: " + strings.Repeat("<", 190) + "\n", strings.Repeat("- a\tb\tc\n", 50_000),
		strings.Repeat("- |\n  x\n\n\n", 10_000),
	} {
		if err := yamlfile.Unmarshal([]byte(source), new(any), 0); err != nil {
			t.Errorf("%.20q: %v", source, err)
		}
	}
}

// No input panics, whatever it is read into, and none makes much of little: what is
// read is at most so much larger than the text as aliases may add.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		"name: x\nlist: [1, 2]\n", "list: - -", "list:\n- {a: [1]}\n? b\n: c", "a: !!binary x", "a: &x {b: 1}\nc: *x\nd: {<<: *x}", "text: |\n  two\n  lines\n", "\"\\u0000\": '", "list: -\n x", "- [:", "a: &x " + strings.Repeat("x", 3_000) + "\nb: [" + strings.Repeat("*x, ", 300) + "]\nc: {*x : 1}\n", "%YAML 1.2\n---\na: b\n...",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		var typed struct {
			Name string
			List []map[string]int
			Map  map[string][]string
			Deep *struct {
				List []struct{ Text map[string]string }
			}
		}
		var free any
		_ = yamlfile.Unmarshal(source, &typed, 0, yaml.Strict())
		if err := yamlfile.Unmarshal(source, &free, 0); err == nil {
			if got, most := weight(free), 4*len(source)+yamlfile.MaxRepeatedBytes; got > most {
				t.Errorf("%d bytes of %d", got, len(source))
			}
		}
		_, _ = yamlfile.Tree(source, 0)
	})
}

// weight is how many bytes the texts of a document have.
func weight(v any) int {
	sum := 0
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		for _, one := range v {
			sum += weight(one)
		}
	case map[string]any:
		for key, one := range v {
			sum += len(key) + weight(one)
		}
	}
	return sum
}
