package filestore

import (
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// A path is stored in one form: what a keyboard composes otherwise becomes the
// same, and what could be a trick is refused.
func TestPathHasOneSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + rapid.StringOfN(rapid.RuneFrom([]rune("aZé\u0301Åẛ\u0323 .-_/%\\")), 1, 20, -1).Draw(t, "path")
		clean, err := CleanPath(path)
		if err != nil {
			return
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if same, err := CleanPath(form.String(path)); err != nil || same != clean {
				t.Fatalf("%q is %q, and in another form %q, %v", path, clean, same, err)
			}
		}
		for _, other := range []string{clean[1:], "/" + clean, clean + "/", clean + "/.", clean + "/x/..", "/." + clean, clean + "\x00", clean + "\u202e", "\ufeff" + clean} {
			if got, err := CleanPath(other); err == nil {
				t.Fatalf("%q is read as %q", other, got)
			}
		}
	})
}
