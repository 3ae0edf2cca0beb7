package calltext

import "testing"

func TestAsidesAreNotAnswered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "...": true, "Mhm.": true, "Uh-huh.": true, "Yes, yes.": true, "D'accord.": true, "Ndiyo.": true, "نعم": true,
		"No.": false, "Stop.": false, "Wait": false, "Yes, but when?": false, "Yes yes yes": false, "And the price?": false,
	} {
		if got := Aside(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
