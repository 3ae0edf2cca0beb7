package yamlfile_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

func TestStrictNamesLineAndRemedy(t *testing.T) {
	t.Parallel()
	type inner struct {
		Window int `yaml:"window"`
	}
	for source, want := range map[string]string{
		"name: a\nmodels:\n  - window: 3\n":                 "",
		"name: a\nmodels:\n  - windw: 3\n":                  `line 3: unknown key "windw"; did you mean "window"?`,
		"---\nname: a\n---\n":                               "",
		"name: a\n---\nname: b\n":                           `there is a second document behind`,
		"name: a\n---\nsecret: [\n":                         `line 3: `,
		"secret: hush\n":                                    `line 1: unknown key "secret"`,
		"name: a\nname: b\n":                                `line 2: mapping key "name" already defined at [1:1]`,
		"name: a\nmodels:\n  - window: lots\n":              `line 3: cannot unmarshal string into Go struct field`,
		"name: [a\n":                                        `line 1: `,
		"name: a\nmodels: {x: &a [1], y: *a, z: &b [*a]}\n": `line 2: an alias inside an anchor`,
	} {
		var into struct {
			Name   string  `yaml:"name"`
			Models []inner `yaml:"models"`
		}
		err := yamlfile.Strict([]byte(source), &into, 0)
		switch {
		case want == "" && err != nil, want != "" && err == nil:
			t.Errorf("%q: %v", source, err)
		case err != nil && (len(err.Error()) < len(want) || err.Error()[:len(want)] != want):
			t.Errorf("%q: %q, want %q", source, err, want)
		}
	}
}
