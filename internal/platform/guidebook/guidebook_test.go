package guidebook_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/guidebook"
)

func TestLinksLeadToWhatIsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ page, target, want string }{
		{"guides/ussd.md", "oracle.md", "/guides/oracle"},
		{"guides/ussd.md", "oracle.md#approving", "/guides/oracle#approving"},
		{"guides/ussd.md", "#add-a-gateway", "/guides/ussd#add-a-gateway"},
		{"guides/ussd.md", "../reference/config.md", "/guides/reference/config"},
		{"guides/ussd.md", "../README.md", "/guides/"},
		{"reference/config.md", "../guides/ussd.md#x", "/guides/ussd#x"},
		{"README.md", "guides/start.md", "/guides/start"},
		{"guides/console.md", "../images/console-start.png", "/guides/images/console-start.png"},
		{"guides/a.md", "../adr/0160-app-keys-are-delegations.md", "https://github.com/castalia-org/castalia/blob/main/docs/adr/0160-app-keys-are-delegations.md"},
		{"guides/a.md", "../../SECURITY.md", "https://github.com/castalia-org/castalia/blob/main/SECURITY.md"},
		{"guides/a.md", "https://age-encryption.org", "https://age-encryption.org"},
		{"guides/a.md", "/docs", "/docs"},
	} {
		if got := guidebook.Address(guidebook.Home, c.page, c.target); got != c.want {
			t.Errorf("%s on %s leads to %s, want %s", c.target, c.page, got, c.want)
		}
	}
	for served, page := range map[string]string{"": "README.md", "ussd": "guides/ussd.md", "reference/config": "reference/config.md"} {
		if got := guidebook.Page(served); got != page {
			t.Errorf("%q is %s, want %s", served, got, page)
		}
	}
}

func TestPassagesNameTheirAnchors(t *testing.T) {
	t.Parallel()
	all, err := guidebook.Passages(fstest.MapFS{"guides/a.md": {Data: []byte("# A `b`, c!\n\nfirst\n\n## Run it\n\n<!-- also: start it; begin -->\n\nsecond\n\n```\n# no heading\n```\n\n## Run it\n\nthird\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.Document+"#"+string(p.Meta)+" "+p.Title+" | "+p.Headings+" | "+p.Text)
	}
	want := []string{
		"guides/a.md#a-b-c A `b`, c! |  | first",
		"guides/a.md#run-it A `b`, c!: Run it | start it; begin | second\n\n```\n# no heading\n```",
		"guides/a.md#run-it-1 A `b`, c!: Run it |  | third",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
