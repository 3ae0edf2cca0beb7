package cli

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
)

func migrateCommand() command {
	return command{
		name: "migrate", args: "[--status] [--config FILE] [--set NAME=value]",
		summary: "bring the database up to date; safe beside running nodes", run: runMigrate,
	}
}

func runMigrate(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("migrate", s)
	var from settingFlags
	from.register(fs, s)
	status := fs.Bool("status", false, "only list what was applied and what is pending")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	settings, log, err := from.beside(s)
	if err != nil {
		return err
	}
	all, err := app.Migrate(ctx, app.Options{Settings: settings, Log: log}, *status)
	if err != nil {
		return err
	}
	pending := 0
	for _, m := range all {
		state := "pending"
		if !m.Applied.IsZero() {
			state = "applied " + m.Applied.Format("2006-01-02 15:04:05")
		} else {
			pending++
		}
		_, _ = fmt.Fprintf(s.Out, "%-10s %04d %-28s %s\n", m.Service, m.Version, m.Name, state)
	}
	if pending > 0 {
		_, err = fmt.Fprintf(s.Out, "\n%d pending: `castalia migrate` applies them, and so does `castalia serve`.\n", pending)
	} else {
		_, err = fmt.Fprint(s.Out, "\nThe database is up to date.\n")
	}
	return err
}
