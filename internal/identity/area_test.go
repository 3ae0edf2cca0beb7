package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

func TestRevealedIsWhatEveryLinkCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chain [][]string
		want  []vfspath.Root
	}{
		"no list":            {nil, nil},
		"everything":         {[][]string{{"*"}, {"*"}}, []vfspath.Root{"/"}},
		"narrowed":           {[][]string{{"*"}, {"/a/.x"}}, []vfspath.Root{"/a/.x"}},
		"nested":             {[][]string{{"/a"}, {"/a/.x", "/b"}}, []vfspath.Root{"/a/.x"}},
		"apart":              {[][]string{{"/a"}, {"/b"}}, nil},
		"an empty link":      {[][]string{{"*"}, {}}, nil},
		"segments, not text": {[][]string{{"/a"}, {"/ab"}}, nil},
	} {
		if diff := cmp.Diff(c.want, revealed(c.chain)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
