package yamlfile_test

import (
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
	for name, c := range map[string]struct{ source, says string }{
		"large":           {strings.Repeat("#", yamlfile.DefaultLimit+1), "larger than"},
		"a billion lols":  {laughs, "an alias inside an anchor"},
		"itself":          {"a: &x [*x]", "an alias inside an anchor"},
		"deep lists":      {strings.Repeat("[", 20_000), "nested deeper"},
		"deep maps":       {strings.Repeat("{a: ", 20_000), "nested deeper"},
		"deep dashes":     {strings.Repeat("- ", 20_000), "nested deeper"},
		"deep questions":  {strings.Repeat("? ", 20_000), "nested deeper"},
		"tags upon tags":  {strings.Repeat("!a ", 20_000), "nested deeper"},
		"a flat bomb":     {"a: &x [" + strings.Repeat("1, ", 2_000) + "1]\nb: [" + strings.Repeat("*x, ", 2_000) + "1]\n", "stand for more than"},
		"an unknown word": {"colour: red", "unknown field"},
	} {
		var into struct{ A any }
		if err := yamlfile.Unmarshal([]byte(c.source), &into, 0, yaml.Strict()); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.200v, want %q", name, err, c.says)
		}
	}
}

// No input panics, whatever it is read into.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		"name: x\nlist: [1, 2]\n", "list: - -", "list:\n- {a: [1]}\n? b\n: c", "a: !!binary x", "a: &x {b: 1}\nc: *x\nd: {<<: *x}", "text: |\n  two\n  lines\n", "\"\\u0000\": '", "list: -\n x", "- [:", "%YAML 1.2\n---\na: b\n...",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, source []byte) {
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
		_ = yamlfile.Unmarshal(source, &free, 0)
		_, _ = yamlfile.Tree(source, 0)
	})
}
