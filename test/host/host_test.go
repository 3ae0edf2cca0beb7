package host

import "testing"

func TestWhatWasWithheldIsAShareOfAllTime(t *testing.T) {
	t.Parallel()
	before := parse("cpu  100 10 20 500 5 0 3 40 7 1\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if want := (Clock{Withheld: 40, All: 678}); before != want {
		t.Fatalf("%+v, want %+v", before, want)
	}
	after := parse("cpu  160 10 40 530 5 0 3 130 9 1\n")
	if share := after.Since(before); share != 0.45 { // 90 of 200
		t.Errorf("withheld %v", share)
	}
	for name, text := range map[string]string{"nothing": "", "another line": "intr 1 2 3", "an old kernel": "cpu 1 2 3 4", "words": "cpu a b c d e f g h i j"} {
		if c := parse(text); c != (Clock{}) || c.Since(before) != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
