package face

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Whoever asks the same under other instructions asks something else; a page whose messages have
// names may show something else meanwhile.
func TestWhatTellsRequestsApart(t *testing.T) {
	t.Parallel()
	ask := func(instructions string, names ...string) Ask {
		q := oracle.TurnRequest{Message: "Good morning", Instructions: instructions}
		return Ask{Request: q, Named: len(names) > 0, Names: names}
	}
	for name, c := range map[string]struct {
		a, b Ask
		same bool
	}{
		"the same":              {ask("Translate into French."), ask("Translate into French."), true},
		"other instructions":    {ask("Translate into French."), ask("Translate into Zulu."), false},
		"no instructions":       {ask(""), ask("Translate into Zulu."), false},
		"another page":          {ask("It shows a map.", "m1"), ask("It shows a list.", "m1"), true},
		"another message":       {ask("It shows a map.", "m1"), ask("It shows a map.", "m2"), false},
		"a name like the rules": {ask(`["m1"]`), ask("", "m1"), false},
	} {
		if got := fingerprint(c.a) == fingerprint(c.b); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}
