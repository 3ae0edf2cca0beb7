package calltext

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatWasToldIsCutToWholeWords(t *testing.T) {
	t.Parallel()
	var progress Progress
	progress.Write("First of all, **no**. ")
	progress.Write("Then the rest\nof it.")
	progress.Begin("First of all, **no**.", 1000)
	progress.Sounds(2000, false)
	progress.Sounds(3100, true)
	progress.Begin("Then the rest", 3100)
	progress.Sounds(4400, true)
	progress.Begin("of it.", 4400)
	progress.Sounds(4500, false) // still coming: 6 letters of 100 samples
	for at, want := range map[int64]string{
		0: "", 1000: "", 1400: "", 1600: "First", 2990: "First of all,", 3100: "First of all, **no**.",
		3450: "First of all, **no**.", 3500: "First of all, **no**. Then", 4400: "First of all, **no**. Then the rest",
		4590: "First of all, **no**. Then the rest", 4610: "First of all, **no**. Then the rest\nof", 9000: "First of all, **no**. Then the rest\nof it.",
	} {
		if got := progress.Heard(at, 100); got != want {
			t.Errorf("at %d: %q, want %q", at, got, want)
		}
	}
}

func TestWhatIsOnlyShownWasRead(t *testing.T) {
	t.Parallel()
	var progress Progress
	progress.Write("One. Two. Three. Four.")
	progress.Begin("One.", 0)
	progress.Shown("One.") // its voice failed
	progress.Shown("Two.")
	progress.Begin("Three.", 0)
	progress.Sounds(600, true)
	if got := progress.Heard(0, 100); got != "One. Two." {
		t.Errorf("%q", got)
	}
	var letters Progress
	letters.Write("明日は雨。")
	letters.Begin("明日は雨。", 0)
	letters.Sounds(500, true)
	if got := letters.Heard(200, 100); got != "明日" {
		t.Errorf("%q", got)
	}
}

// Whatever is told when, what was heard is a beginning of the text, and grows.
func TestWhatWasHeardIsABeginning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var progress Progress
		var cut Sentences
		text, at := "", int64(0)
		pieces := func(list []string) {
			for _, p := range list {
				progress.Begin(p, at)
				at += rapid.Int64Range(0, 5000).Draw(rt, "length")
				progress.Sounds(at, rapid.Bool().Draw(rt, "whole"))
			}
		}
		for _, more := range rapid.SliceOfN(rapid.StringMatching(`[a-zé。, .\n]{0,40}`), 1, 8).Draw(rt, "texts") {
			text += more
			progress.Write(more)
			pieces(cut.Add(more))
		}
		last := ""
		for _, moment := range []int64{0, at / 3, at / 2, at, 2 * at} {
			heard := progress.Heard(moment, 100)
			if !strings.HasPrefix(text, heard) || len(heard) < len(last) {
				rt.Fatalf("%q of %q, after %q", heard, text, last)
			}
			last = heard
		}
	})
}
