package bus_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/bus"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a.b", "a", false},
		{"a", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a.b.c", false},
		{"a.*", "a", false},
		{"*.b", "a.b", true},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{">", "a", true},
		{">", "a.b", true},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
	} {
		if got := bus.Match(test.pattern, test.subject); got != test.want {
			t.Errorf("Match(%q, %q) = %v, want %v", test.pattern, test.subject, got, test.want)
		}
	}
}

func TestTokenIsOneDistinctWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(1, 64, 64).Draw(t, "a"), rapid.StringN(1, 64, 64).Draw(t, "b")
		if err := bus.CheckSubject("room." + bus.Token(a)); err != nil {
			t.Fatalf("Token(%q) is no word: %v", a, err)
		}
		if !bus.Match("room.*", "room."+bus.Token(a)) {
			t.Fatalf("Token(%q) is several words", a)
		}
		if (a == b) != (bus.Token(a) == bus.Token(b)) {
			t.Fatalf("Token does not tell %q and %q apart", a, b)
		}
	})
}
