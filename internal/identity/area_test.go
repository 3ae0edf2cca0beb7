package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRevealedIsWhatEveryLinkCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chain [][]string
		want  []string
	}{
		"no list":            {nil, nil},
		"everything":         {[][]string{{"*"}, {"*"}}, []string{"/"}},
		"narrowed":           {[][]string{{"*"}, {"/a/.x"}}, []string{"/a/.x"}},
		"nested":             {[][]string{{"/a"}, {"/a/.x", "/b"}}, []string{"/a/.x"}},
		"apart":              {[][]string{{"/a"}, {"/b"}}, nil},
		"an empty link":      {[][]string{{"*"}, {}}, nil},
		"segments, not text": {[][]string{{"/a"}, {"/ab"}}, nil},
	} {
		if diff := cmp.Diff(c.want, revealed(c.chain)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
