package trouble_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
)

// A trouble is the same cause however long it lasts and in whatever language it is told.
func TestATroubleIsKnownAgain(t *testing.T) {
	t.Parallel()
	behind := func(lag string) *trouble.Trouble {
		return trouble.New("health.replicaBehind", words.Values{"lag": lag, "why": "refused"})
	}
	copying := trouble.New("health.replicaCopying", words.Values{"lag": "3s"})
	if a, b := behind("1m0s").Cause(), behind("2m0s").Cause(); a != b || a != copying.Cause() || a != "behind the database" {
		t.Errorf("%q, %q and %q", a, b, copying.Cause())
	}
	wait := trouble.New("health.messagesWait", nil)
	if wait.With("a").Cause() != wait.With("b").Cause() || wait.Detail != "" {
		t.Errorf("%q and %q of %q", wait.With("a").Cause(), wait.With("b").Cause(), wait)
	}
	one, two := trouble.New("health.noCertificate", words.Values{"domain": "a.b"}), trouble.New("health.noCertificate", words.Values{"domain": "c.d"})
	if one.Cause() == two.Cause() {
		t.Errorf("two names are one cause: %q", one.Cause())
	}
}

// Every language tells a trouble with what names it, why, and what was said of it.
func TestATroubleIsToldWhole(t *testing.T) {
	t.Parallel()
	told := trouble.New("health.keyRefused", words.Values{"status": "401"}).
		Of("health.endpoint", words.Values{"endpoint": "main", "host": "a.b"}).With("said")
	for code, want := range map[string]string{
		"en": "endpoint main (a.b): the key was refused (status 401); said",
		"fr": "point d’accès main (a.b) : la clé a été refusée (statut 401) ; said",
		"sw": "kituo main (a.b): ufunguo ulikataliwa (hali 401); said",
	} {
		l, _ := words.Shipped().Named(code)
		if got := told.In(l); got != want {
			t.Errorf("%s: %s", code, got)
		}
	}
	if told.Error() != "endpoint main (a.b): the key was refused (status 401); said" || told.Code() != "endpoint" || told.Because.Values()["status"] != "401" {
		t.Errorf("%q %s %v", told, told.Code(), told.Because.Values())
	}
}
