package membership_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity/membership"
)

func TestTheDocumentOfWhoMayComeIn(t *testing.T) {
	t.Parallel()
	for _, mode := range []membership.Mode{membership.Open, membership.Invite, membership.Closed} {
		if got, err := membership.ParseMode([]byte(mode.Text())); err != nil || got != mode {
			t.Errorf("%s: read as %q, %v", mode, got, err)
		}
	}
	for _, bad := range []string{"", "open", "access: Open", "access: everybody", "access:", "access: open\nmembers: [a]", "access: open\naccess: closed"} {
		if mode, err := membership.ParseMode([]byte(bad)); err == nil {
			t.Errorf("%q is read as %q", bad, mode)
		}
	}
}
