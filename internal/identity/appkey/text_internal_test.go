package appkey

import (
	"testing"
)

// FuzzText: whatever is well formed is what we would have written, and no two texts
// have one digest.
func FuzzText(f *testing.F) {
	f.Add(newText())
	f.Add("cak_")
	f.Add(textOf([secretSize]byte{}))
	f.Fuzz(func(t *testing.T, text string) {
		if !wellFormed(text) {
			return
		}
		raw, err := alphabet().DecodeString(text[4:])
		if err != nil {
			t.Fatalf("%q is well formed: %v", text, err)
		}
		if again := textOf([secretSize]byte(raw)); again != text {
			t.Errorf("%q is read as %q", text, again)
		}
	})
}

func TestNoTwoKeysAreAlike(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		text := newText()
		if !wellFormed(text) || seen[digestOf(text)] {
			t.Fatalf("%q: well formed %t, seen %t", text, wellFormed(text), seen[digestOf(text)])
		}
		seen[digestOf(text)] = true
	}
}
