package cli

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
)

func rotateCommand() command {
	return command{
		name: "rotate-keys", args: "[--config FILE] [--set NAME=value]",
		summary: "re-encrypt PINs and file keys under the newest keys", run: runRotate,
	}
}

func runRotate(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("rotate-keys", s)
	var from settingFlags
	from.register(fs, s)
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	settings, log, err := from.beside(s)
	if err != nil {
		return err
	}
	return app.RotateKeys(ctx, app.Options{Settings: settings, Log: log}, func(f app.Finding) {
		_, _ = fmt.Fprintf(s.Out, "%-6s %s\n", f.Part, f.Text)
	})
}
