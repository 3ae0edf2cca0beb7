package vfspath_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

func TestAreaAllowsWhatItRevealsOnly(t *testing.T) {
	t.Parallel()
	reports := vfspath.Area{Root: "/r", Reveal: []vfspath.Root{"/r/.x", "/r/d/", "/s"}, Named: []string{"b"}}
	for name, c := range map[string]struct {
		area     vfspath.Area
		yes, not []string
	}{
		"whole":   {vfspath.Whole(), []string{"/", "/a", "/.a", "/a/.b/c"}, nil},
		"visible": {vfspath.Area{Root: "/"}, []string{"/", "/a"}, []string{"/.a", "/a/.b/c"}},
		"nowhere": {vfspath.Area{}, nil, []string{"/", "/a", "/.a"}},
		"missing": {vfspath.Area{Reveal: []vfspath.Root{"/"}}, nil, []string{"/", "/a", "/.a"}},
		"unnamed": {vfspath.Area{Root: "/", Reveal: []vfspath.Root{""}}, []string{"/a"}, []string{"/.a"}},
		"reports": {reports, []string{"/r", "/r/a", "/r/.x", "/r/.x/y", "/r/d/.y"}, []string{"/ra", "/r/.xy", "/r/.y", "/s", "/s/.a"}},
	} {
		for _, p := range c.yes {
			if !c.area.Allows(p) {
				t.Errorf("%s does not allow %s", name, p)
			}
		}
		for _, p := range c.not {
			if c.area.Allows(p) {
				t.Errorf("%s allows %s", name, p)
			}
		}
		if c.area.IsWhole() != (name == "whole") {
			t.Errorf("%s is whole: %t", name, c.area.IsWhole())
		}
	}
}
