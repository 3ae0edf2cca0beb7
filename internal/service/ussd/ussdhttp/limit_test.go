package ussdhttp_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
)

// TestAScreenHasTheSizeOfItsNetwork: by service code, by dialect, else 160, on
// every hop of the session, and back and exit are never cut off.
func TestAScreenHasTheSizeOfItsNetwork(t *testing.T) {
	t.Parallel()
	limits, err := ussd.ParseLimits("160,africastalking=182,*384#=140")
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, options{change: []func(*ussd.Config){func(c *ussd.Config) { c.Limits = limits }}})
	for _, tc := range []struct {
		path, code string
		most       int
		whole      bool // all of the text is on the first page
	}{
		{"/api/ussd", "*2233#", 160, false},
		{"/api/ussd", "*384#", 140, false},
		{"/api/ussd/africastalking", "*2233#", 182, true},
		{"/api/ussd/africastalking", "*384*5#", 140, false},
	} {
		id := "s" + tc.path + tc.code
		send := func(text string) string {
			form := url.Values{"sessionId": {id}, "serviceCode": {tc.code}, "phoneNumber": {alice}, "text": {text}, "networkCode": {"63902"}}
			r := g.do(http.MethodPost, tc.path, "application/x-www-form-urlencoded", form.Encode())
			return r.body
		}
		send("")
		send("1")
		about := send("1*1")
		for _, page := range []string{about, send("1*1*98")} {
			if n := len(strings.TrimPrefix(page, "CON ")); n > tc.most || !strings.HasSuffix(page, "\n0. Back\n*. Exit") {
				t.Errorf("%s %s: %d septets: %q", tc.path, tc.code, n, page)
			}
		}
		if strings.Contains(about, "identity yours.") != tc.whole {
			t.Errorf("%s %s: %q", tc.path, tc.code, about)
		}
		if again := send("1*1*98*99"); again != about {
			t.Errorf("%s %s: back to %q", tc.path, tc.code, again)
		}
	}
}
