package oracle_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

func shown(b oracle.Branches) (turns []int64) {
	for _, n := range b {
		if !n.Hidden {
			turns = append(turns, n.Turn)
		}
	}
	return turns
}

func TestBranches(t *testing.T) {
	t.Parallel()
	var b oracle.Branches
	expect := func(what string, want ...int64) {
		t.Helper()
		if got := shown(b); !slices.Equal(got, want) {
			t.Errorf("%s: shown %v, want %v", what, got, want)
		}
	}
	step := func(next oracle.Branches, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		b = next
	}
	b = b.Adopt([]int64{1, 3, 5})
	expect("a line", 1, 3, 5)
	step(b.Fork(7, oracle.VersionOf{Root: 5, Kind: oracle.Regenerated}))
	expect("the last turn again", 1, 3, 7)
	b = b.Adopt([]int64{1, 3, 5, 7, 9})
	expect("and then", 1, 3, 7, 9)
	before := slices.Clone(b)
	step(b.Fork(11, oracle.VersionOf{Root: 3, Kind: oracle.Edited}))
	expect("an earlier turn otherwise", 1, 11)
	if d := b.Diverge(before); d != 3 {
		t.Errorf("diverged at %d", d)
	}
	step(b, b.Choose(3))
	expect("back: what was shown there is shown again", 1, 3, 7, 9)
	step(b, b.Choose(5))
	expect("deeper", 1, 3, 5)
	step(b, b.Choose(11))
	expect("over", 1, 11)
	step(b, b.Choose(1))
	expect("a turn that is shown", 1, 11)
	step(b, b.Choose(9))
	expect("a hidden turn deep in another branch", 1, 3, 7, 9)
	step(b.Fork(13, oracle.VersionOf{Root: 1, Kind: oracle.Edited}))
	expect("the first turn", 13)
	if b = b.Adopt([]int64{1, 3, 5, 7, 9, 11, 13, 15}); b[len(b)-1].Parent != 13 {
		t.Errorf("what follows a version: %+v", b[len(b)-1])
	}
	for _, root := range []int64{2, 7, 99} {
		if _, err := b.Fork(17, oracle.VersionOf{Root: root}); !errors.Is(err, oracle.ErrMessageNotFound) {
			t.Errorf("a version of %d: %v", root, err)
		}
	}
	for turn := int64(17); ; turn += 2 {
		next, err := b.Fork(turn, oracle.VersionOf{Root: 15})
		if err != nil {
			if n := (turn-17)/2 + 1; !errors.Is(err, oracle.ErrTooManyVersions) || n != oracle.MaxVersions {
				t.Errorf("after %d versions: %v", n, err)
			}
			break
		}
		b = next
	}
}
