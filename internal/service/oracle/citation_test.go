package oracle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

func numbers(all []plugin.Citation) (out []int) {
	for _, c := range all {
		out = append(out, c.Number)
	}
	return out
}

// A text points to passages that its turn was shown, in the ways that models write,
// and to nothing else.
func TestCited(t *testing.T) {
	t.Parallel()
	shown := []plugin.Citation{{Number: 1}, {Number: 2}, {Number: 3}, {Number: 12}}
	for text, want := range map[string][]int{
		"":                                nil,
		"It opens at nine.":               nil,
		"At nine [1].":                    {1},
		"At nine [2][1], or ten [2].":     {1, 2},
		"At nine [1, 3] and [2,12].":      {1, 2, 3, 12},
		"In list[7] and [0] and [99].":    nil,
		"[a1] [1a] [] [1 2] [-1]":         nil,
		"[link](http://x) and [1](about)": {1},
	} {
		if diff := cmp.Diff(want, numbers(oracle.Cited(text, shown))); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := oracle.Cited("[1]", nil); got != nil {
		t.Errorf("without passages: %v", got)
	}
}

// A message points to what its own turn showed before it.
func TestCitedIn(t *testing.T) {
	t.Parallel()
	found := func(n ...int) []oracle.ToolCall {
		var all []plugin.Citation
		for _, n := range n {
			all = append(all, plugin.Citation{Number: n})
		}
		return []oracle.ToolCall{{Name: "knowledge_search", Citations: all}}
	}
	list := []oracle.Message{
		{Turn: 1, Role: oracle.Human, Content: "what of [1]?"},
		{Turn: 1, Role: oracle.AI, Content: "I will look [1].", ToolCalls: found(1, 2)},
		{Turn: 1, Role: oracle.AI, Content: "It is so [2].", ToolCalls: found(3)},
		{Turn: 1, Role: oracle.AI, Content: "And so [1] [3]."},
		{Turn: 5, Role: oracle.AI, Content: "Of another turn [1]."},
	}
	var got [][]int
	for _, c := range oracle.CitedIn(list) {
		got = append(got, numbers(c))
	}
	if diff := cmp.Diff([][]int{nil, nil, {2}, {1, 3}, nil}, got); diff != "" {
		t.Error(diff)
	}
}
