package cli

import (
	"context"
	"flag"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/plugincli"
)

func runPlugins(ctx context.Context, args []string, s IO) error {
	var from settingFlags
	return public(plugincli.Run(ctx, args, s, plugincli.Settings{
		Register: func(fs *flag.FlagSet) { from.register(fs, s) },
		Options:  func() (app.Options, error) { return from.options(s) }, Author: commandLine(s),
	}))
}
