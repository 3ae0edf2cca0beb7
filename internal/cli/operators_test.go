package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// TestOperatorsAndSetupLinks keeps the operators of a deployment that is not running.
func TestOperatorsAndSetupLinks(t *testing.T) {
	t.Parallel()
	folder := deployed(t)
	ann := identitytest.NewActor("ann").DID
	for _, step := range []struct {
		code int
		says string
		args []string
	}{
		{0, ann + " is viewer now", []string{"operators", "add", "--note", "treasurer", ann}},
		{0, ann + " is owner now", []string{"operators", "add", "--role", "owner", "--note", "treasurer", ann}},
		{0, "treasurer", []string{"operators", "list"}},
		{2, "want viewer, operator or owner", []string{"operators", "add", "--role", "king", ann}},
		{1, "is not a DID", []string{"operators", "add", "ann"}},
		{0, "has no role any more", []string{"operators", "remove", ann}},
		{1, "The DID has no role.", []string{"operators", "remove", ann}},
		{2, "name at least one DID", []string{"operators", "add"}},
		{2, "no subcommand", []string{"operators", "burn"}},
		{2, "want list, add or remove", []string{"operators"}},
		{2, "unexpected argument", []string{"operators", "list", "x"}},
		{0, "https://o.example/console/setup#", []string{"setup-link", "--server", "https://o.example/"}},
		{2, "unexpected argument", []string{"setup-link", "x"}},
	} {
		args := append(slices.Clip(step.args), "--data", folder)
		var out, errs strings.Builder
		code := cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != step.code || !strings.Contains(out.String()+errs.String(), step.says) {
			t.Errorf("castalia %s: %d\n%s%s\nwant %d with %q", strings.Join(args, " "), code, &out, &errs, step.code, step.says)
		}
	}
}
