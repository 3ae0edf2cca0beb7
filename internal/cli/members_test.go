package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// TestMembersAndInvitations keeps the book of a deployment that is not running.
func TestMembersAndInvitations(t *testing.T) {
	t.Parallel()
	folder := deployed(t)
	ann, ben := identitytest.NewActor("ann").DID, identitytest.NewActor("ben").DID
	at := []string{"--data", folder}
	for _, step := range []struct {
		code int
		says string
		in   string
		args []string
	}{
		{0, ann + ": added", "", []string{"members", "add", "--note", "treasurer", ann}},
		{0, ann + ": is a member already", ann + "\n\n" + ben + "\n", []string{"members", "add", "-"}},
		{0, "treasurer", "", []string{"members", "list"}},
		{1, "is not a DID", "", []string{"members", "add", "ann"}},
		{0, ben + ": removed", "", []string{"members", "remove", ben}},
		{1, "The DID is not a member.", "", []string{"members", "remove", ben}},
		{1, "named by ACCESS_DIDS", "", []string{"members", "remove", "--set", "ACCESS_DIDS=" + ben, ben}},
		{0, ben + "  ACCESS_DIDS", "", []string{"members", "list", "--set", "ACCESS_DIDS=" + ben}},
		{0, "", "", []string{"members", "known"}},
		{0, "https://o.example/console/invite#", "", []string{"invite", "--uses", "3", "--for", "2d", "--server", "https://o.example/"}},
		{0, "0 of 3 used", "", []string{"invite", "list"}},
		{1, "from 1 to 10000", "", []string{"invite", "--uses", "10001"}},
		{1, "90 days", "", []string{"invite", "--for", "91d"}},
		{2, "--for never", "", []string{"invite", "--for", "never"}},
		{1, "no such invitation", "", []string{"invite", "revoke", "none"}},
		{2, "want list, add, remove or known", "", []string{"members"}},
		{2, "no subcommand", "", []string{"invite", "burn"}},
	} {
		args := append(slices.Clip(step.args), at...)
		var out, errs strings.Builder
		code := cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(step.in), Out: &out, Err: &errs})
		if code != step.code || !strings.Contains(out.String()+errs.String(), step.says) {
			t.Errorf("castalia %s: %d\n%s%s\nwant %d with %q", strings.Join(args, " "), code, &out, &errs, step.code, step.says)
		}
	}
}
