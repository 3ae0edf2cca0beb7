package calltext

import (
	"testing"
	"time"
)

func TestTheSilenceAfterATextDependsOnItsEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"What is the weather?":              Whole,
		"It is \"closed.\" ":                Whole,
		"Quand ouvre la clinique ?":         Whole,
		"متى تفتح العيادة؟":                 Whole,
		"क्लिनिक कब खुलता है।":              Whole,
		"I would like to.":                  BrokenOff, // services end everything with a mark
		"I would like to know, ":            BrokenOff,
		"Well...":                           BrokenOff,
		"Nataka kujua bei ya":               BrokenOff,
		"Je voudrais savoir si":             BrokenOff,
		"the weather in london":             0,
		"":                                  0,
		" ... ":                             0,
		"?":                                 0,
		"I would like to. But not now, see": 0,
	} {
		if got := SilenceAfter(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
