package cli

import (
	"context"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/cli/usagecli"
	modelusage "github.com/castalia-org/castalia/internal/service/oracle/usage"
)

func usageCommand() command {
	return command{
		name: "usage", args: usagecli.Usage + " [--data FOLDER] [--config FILE] [--set NAME=value] | … --server URL [--token TOKEN|--key FILE]", summary: usagecli.Summary,
		run: runUsage,
	}
}

func runUsage(ctx context.Context, args []string, s IO) error {
	fs := shell.NewFlags("usage", s)
	var from settingFlags
	from.register(fs, s)
	desk := shell.NewDesk(fs, s, "/operator")
	question := usagecli.Flags(fs)
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	answer, err := question.Read()
	if err != nil {
		return err
	}
	if desk.Asks("server") {
		return answer(ctx, usagecli.Server{Desk: desk}, s.Out)
	}
	opt, err := from.options(s)
	if err != nil {
		return err
	}
	return app.Usage(ctx, opt, func(store modelusage.Store) error { return answer(ctx, store, s.Out) })
}
