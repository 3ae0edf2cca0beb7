package cli

import (
	"context"
	"flag"
	"log/slog"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/doccli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// onDocuments gives a command about documents the deployment's own records.
func onDocuments(run func(context.Context, []string, shell.IO, doccli.Records) error,
) func(context.Context, []string, shell.IO) error {
	return func(ctx context.Context, args []string, s shell.IO) error {
		var from settingFlags
		return run(ctx, args, s, doccli.Records{
			Author:   commandLine(s),
			Register: func(fs *flag.FlagSet) { from.register(fs, s) },
			Open: func(ctx context.Context, use func(*operatordoc.Shelf) error) error {
				opt, err := from.options(s)
				if err != nil {
					return err
				}
				opt.Log = slog.New(slog.DiscardHandler) // what happened is printed
				return public(app.OperatorDocs(ctx, opt, use))
			},
		})
	}
}
