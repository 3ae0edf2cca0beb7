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
	"github.com/castalia-org/castalia/internal/cli/doorcli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func membersCommand() command {
	return command{
		name:    "members",
		args:    "list | add [--note TEXT] DID…|- | remove DID… | known | … [--data FOLDER] [--config FILE] [--set NAME=value] | … --server URL [--token TOKEN|--key FILE]",
		summary: "who may come in where ACCESS is invite or closed", run: runMembers,
	}
}

const memberPage = 500

// guestBook is what the commands need of members and invitations, wherever these are.
type guestBook interface {
	Members(ctx context.Context, after string, limit int) ([]membership.Member, error)
	AddMember(ctx context.Context, did, note string) (m membership.Member, added bool, err error)
	RemoveMember(ctx context.Context, did string) error
	Invite(ctx context.Context, n membership.NewInvitation) (i membership.Invitation, code string, err error)
	Invitations(ctx context.Context, before time.Time, limit int) ([]membership.Invitation, error)
	RevokeInvitation(ctx context.Context, id string) error
}

func runMembers(ctx context.Context, args []string, s IO) error {
	if len(args) == 0 {
		return shell.Usagef("want list, add, remove or known")
	}
	verb := args[0]
	fs := shell.NewFlags("members "+verb, s)
	var from settingFlags
	from.register(fs, s)
	desk := shell.NewDesk(fs, s, "/operator")
	note := fs.String("note", "", "`TEXT` that reminds you who it is")
	dids, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	var far *doorcli.Members
	var opt app.Options
	if desk.Asks("server") {
		far = &doorcli.Members{Desk: desk}
	} else if opt, err = from.options(s); err != nil {
		return err
	}
	switch verb {
	case "list", "known":
		switch {
		case len(dids) > 0:
			return shell.Usagef("unexpected argument %q", dids[0])
		case verb == "list" && far != nil:
			return listFarMembers(ctx, *far, s)
		case verb == "list":
			return app.Admissions(ctx, opt, func(b *membership.Book) error {
				return listMembers(ctx, b, opt.Settings.Access.DIDs, s)
			})
		case far != nil:
			return shell.Usagef("known works on the deployment's own records; a server says it with `castalia people list`")
		}
		return app.KnownUsers(ctx, opt, func(did string) error {
			_, err := fmt.Fprintln(s.Out, did)
			return err
		})
	case "add", "remove":
		if len(dids) == 0 {
			return shell.Usagef("name at least one DID")
		}
		if dids, err = orLines(dids, s); err != nil {
			return err
		}
		if far != nil {
			return changeMembers(ctx, far, verb, dids, *note, s)
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

func listMembers(ctx context.Context, b guestBook, named []string, s IO) error {
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

// listFarMembers lists those of a server, which does not say whom its setting names.
func listFarMembers(ctx context.Context, m doorcli.Members, s IO) error {
	named, err := m.Named(ctx)
	if err != nil {
		return err
	}
	if named > 0 {
		_, _ = fmt.Fprintf(s.Err, "ACCESS_DIDS of the server names %d more.\n", named)
	}
	return listMembers(ctx, m, nil, s)
}

func changeMembers(ctx context.Context, b guestBook, verb string, dids []string, note string, s IO) error {
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
