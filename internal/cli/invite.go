package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/doorcli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershiphttp"
)

func inviteCommand() command {
	return command{
		name:    "invite",
		args:    "[--uses N] [--for DURATION] [--note TEXT] [--server URL] | list | revoke ID… | … [--data FOLDER] [--config FILE] [--set NAME=value] | … --server URL --token TOKEN|--key FILE",
		summary: "make a link by which people become members; list and revoke links", run: runInvite,
	}
}

func runInvite(ctx context.Context, args []string, s IO) error {
	fs := shell.NewFlags("invite", s)
	var from settingFlags
	from.register(fs, s)
	desk := shell.NewDesk(fs, s, "/operator")
	uses := fs.Int64("uses", membership.DefaultUses, "how many `PEOPLE` may use the link")
	life := fs.String("for", "7d", "how long the link is good, as `DURATION` (1h, 7d)")
	note := fs.String("note", "", "`TEXT` that reminds you whom it is for")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	verb := "create"
	if len(rest) > 0 {
		verb, rest = rest[0], rest[1:]
	}
	if verb != "revoke" && len(rest) > 0 {
		return shell.Usagef("unexpected argument %q", rest[0])
	}
	var made membership.NewInvitation
	switch verb {
	case "create":
		now := time.Now()
		until, err := shell.ExpiresAfter(*life, now)
		if err != nil || until.IsZero() {
			return shell.Usagef("--for %s: want a duration such as 1h or 7d", *life)
		}
		made = membership.NewInvitation{Uses: *uses, Life: until.Sub(now), Note: *note}
	case "list":
	case "revoke":
		if len(rest) == 0 {
			return shell.Usagef("name the id of an invitation, as `castalia invite list` shows it")
		}
	default:
		return shell.Usagef("no subcommand %q: want create, list or revoke", verb)
	}
	do := func(b guestBook) error {
		switch verb {
		case "list":
			return listInvitations(ctx, b, s)
		case "revoke":
			return revokeInvitations(ctx, b, rest, s)
		}
		return makeInvitation(ctx, b, made, desk.Server(), s)
	}
	// --server alone is where a link of the deployment's own records leads.
	if desk.Asks("token", "key") {
		return do(doorcli.Members{Desk: desk})
	}
	opt, err := from.options(s)
	if err != nil {
		return err
	}
	return app.Admissions(ctx, opt, func(b *membership.Book) error { return do(b) })
}

func revokeInvitations(ctx context.Context, b guestBook, ids []string, s IO) error {
	for _, id := range ids {
		if err := b.RevokeInvitation(ctx, id); err != nil {
			return fmt.Errorf("%.40s: %w", id, public(err))
		}
		_, _ = fmt.Fprintf(s.Out, "%s: revoked; who came by it stays a member\n", id)
	}
	return nil
}

func makeInvitation(ctx context.Context, b guestBook, n membership.NewInvitation, server string, s IO) error {
	i, code, err := b.Invite(ctx, n)
	if err != nil {
		return public(err)
	}
	people := "one person"
	if i.MaxUses > 1 {
		people = fmt.Sprintf("%d people", i.MaxUses)
	}
	_, _ = fmt.Fprintf(s.Err, "Good for %s until %s. The link is not shown again; `castalia invite revoke %s` ends it.\n",
		people, i.Expires.Local().Format("2006-01-02 15:04"), i.ID)
	_, err = fmt.Fprintln(s.Out, server+membershiphttp.InvitePath+code)
	return err
}

func listInvitations(ctx context.Context, b guestBook, s IO) error {
	now := time.Now()
	list, err := b.Invitations(ctx, now.Add(membership.MaxLife), memberPage)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, i := range list {
		state := "until " + i.Expires.Local().Format("2006-01-02 15:04")
		if over := i.Over(now); over != "" {
			state = over
		}
		_, _ = fmt.Fprintf(w, "%s\t%d of %d used\t%s\t%s\n", i.ID, i.Uses, i.MaxUses, state, i.Note)
	}
	return w.Flush()
}
