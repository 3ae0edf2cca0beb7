package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershiphttp"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func membersCommand() command {
	return command{
		name:    "members",
		args:    "list | add [--note TEXT] DID…|- | remove DID… | known | … [--data FOLDER] [--config FILE] [--set NAME=value]",
		summary: "who may come in where ACCESS is invite or closed", run: runMembers,
	}
}

const memberPage = 500

func runMembers(ctx context.Context, args []string, s IO) error {
	if len(args) == 0 {
		return shell.Usagef("want list, add, remove or known")
	}
	verb := args[0]
	fs := shell.NewFlags("members "+verb, s)
	var from settingFlags
	from.register(fs, s)
	note := fs.String("note", "", "`TEXT` that reminds you who it is")
	dids, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	opt, err := from.options(s)
	if err != nil {
		return err
	}
	switch verb {
	case "list", "known":
		if len(dids) > 0 {
			return shell.Usagef("unexpected argument %q", dids[0])
		}
		if verb == "known" {
			return app.KnownUsers(ctx, opt, func(did string) error {
				_, err := fmt.Fprintln(s.Out, did)
				return err
			})
		}
		return app.Admissions(ctx, opt, func(b *membership.Book) error {
			return listMembers(ctx, b, opt.Settings.Access.DIDs, s)
		})
	case "add", "remove":
		if len(dids) == 0 {
			return shell.Usagef("name at least one DID")
		}
		if dids, err = orLines(dids, s); err != nil {
			return err
		}
		return app.Admissions(ctx, opt, func(b *membership.Book) error { return changeMembers(ctx, b, verb, dids, *note, s) })
	}
	return shell.Usagef("no subcommand %q: want list, add, remove or known", verb)
}

// options are those of the program, for commands that work on its records.
func (f *settingFlags) options(s IO) (app.Options, error) {
	settings, given, err := f.load(s)
	if err != nil {
		return app.Options{}, err
	}
	log := telemetry.NewLogger(s.Err, telemetry.Config{Level: settings.Server.LogLevel, Format: settings.Server.LogFormat})
	return app.Options{Settings: settings, Given: given, Plugins: f.plugins, Log: log, Getenv: s.Getenv}, nil
}

// orLines reads standard input in place of "-", one DID a line.
func orLines(dids []string, s IO) ([]string, error) {
	if len(dids) != 1 || dids[0] != "-" {
		return dids, nil
	}
	dids = nil
	lines := bufio.NewScanner(s.In)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			dids = append(dids, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return dids, nil
}

func listMembers(ctx context.Context, b *membership.Book, named []string, s IO) error {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, did := range named {
		_, _ = fmt.Fprintf(w, "%s\tACCESS_DIDS\t\n", did)
	}
	for after := ""; ; {
		list, err := b.Members(ctx, after, memberPage)
		if err != nil {
			return err
		}
		for _, m := range list {
			after = m.DID
			how := "added"
			if m.Invite != "" {
				how = "invited by " + m.Invite
			}
			_, _ = fmt.Fprintf(w, "%s\t%s %s\t%s\n", m.DID, how, m.Added.Local().Format(time.DateOnly), m.Note)
		}
		if len(list) < memberPage {
			return w.Flush()
		}
	}
}

func changeMembers(ctx context.Context, b *membership.Book, verb string, dids []string, note string, s IO) error {
	var errs []error
	for _, did := range dids {
		word := "removed"
		var err error
		if verb == "add" {
			var added bool
			_, added, err = b.AddMember(ctx, did, note)
			word = map[bool]string{true: "added", false: "is a member already"}[added]
		} else {
			err = b.RemoveMember(ctx, did)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%.80s: %w", did, public(err)))
			continue
		}
		_, _ = fmt.Fprintf(s.Out, "%s: %s\n", did, word)
	}
	return errors.Join(errs...)
}

// public leaves of a fault what people should read.
func public(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Internal {
		return errors.New(f.Message)
	}
	return err
}

func inviteCommand() command {
	return command{
		name:    "invite",
		args:    "[--uses N] [--for DURATION] [--note TEXT] [--server URL] | list | revoke ID… | … [--data FOLDER] [--config FILE] [--set NAME=value]",
		summary: "make a link by which people become members; list and revoke links", run: runInvite,
	}
}

func runInvite(ctx context.Context, args []string, s IO) error {
	fs := shell.NewFlags("invite", s)
	var from settingFlags
	from.register(fs, s)
	server := shell.ServerFlag(fs, s)
	uses := fs.Int64("uses", membership.DefaultUses, "how many `PEOPLE` may use the link")
	life := fs.String("for", "7d", "how long the link is good, as `DURATION` (1h, 7d)")
	note := fs.String("note", "", "`TEXT` that reminds you whom it is for")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	opt, err := from.options(s)
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
	switch verb {
	case "create":
		now := time.Now()
		until, err := shell.ExpiresAfter(*life, now)
		if err != nil || until.IsZero() {
			return shell.Usagef("--for %s: want a duration such as 1h or 7d", *life)
		}
		n := membership.NewInvitation{Uses: *uses, Life: until.Sub(now), Note: *note}
		return app.Admissions(ctx, opt, func(b *membership.Book) error {
			return makeInvitation(ctx, b, n, strings.TrimSuffix(*server, "/"), s)
		})
	case "list":
		return app.Admissions(ctx, opt, func(b *membership.Book) error { return listInvitations(ctx, b, s) })
	case "revoke":
		if len(rest) == 0 {
			return shell.Usagef("name the id of an invitation, as `castalia invite list` shows it")
		}
		return app.Admissions(ctx, opt, func(b *membership.Book) error {
			for _, id := range rest {
				if err := b.RevokeInvitation(ctx, id); err != nil {
					return fmt.Errorf("%.40s: %w", id, public(err))
				}
				_, _ = fmt.Fprintf(s.Out, "%s: revoked; who came by it stays a member\n", id)
			}
			return nil
		})
	}
	return shell.Usagef("no subcommand %q: want create, list or revoke", verb)
}

func makeInvitation(ctx context.Context, b *membership.Book, n membership.NewInvitation, server string, s IO) error {
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

func listInvitations(ctx context.Context, b *membership.Book, s IO) error {
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
