package cli

import (
	"context"
	"flag"
	"fmt"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/replicacli"
	"github.com/castalia-org/castalia/internal/cli/shell"
)

func replicaCommand() command {
	return command{
		name: "replica", args: "status [--config FILE] [--set NAME=value]",
		summary: "what the replica holds (REPLICA_URL), and how old its newest change is", run: runReplica,
	}
}

func runReplica(ctx context.Context, args []string, s shell.IO) error {
	if len(args) == 0 || args[0] != "status" {
		return shell.Usagef("replica knows one word: status")
	}
	fs := shell.NewFlags("replica status", s)
	var from settingFlags
	from.register(fs, s)
	if err := shell.Parse(fs, args[1:]); err != nil {
		return err
	}
	settings, _, err := from.load(s)
	if err != nil {
		return err
	}
	return replicacli.Status(ctx, &settings, s)
}

func isSet(fs *flag.FlagSet, name string) bool {
	set := false
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func restoreReplica(ctx context.Context, f *replicacli.Flags, opt app.Options, path string, how *unlockFlags,
	s shell.IO,
) error {
	if path != "" || !f.From.Given() {
		return shell.Usagef("give --from URL, with --at TIME or not, or the name of an archive")
	}
	how.passphrase.standing = opt.Settings.Storage.ReplicaPassphrase.Reveal()
	_, _ = fmt.Fprintf(s.Err, "Restoring %s into %s.\n", f.From, app.Place(opt.Settings))
	want := f.Wanted()
	want.Unlock = how.keys(s)
	done, err := app.RestoreReplica(ctx, opt, f.From, want)
	if err != nil {
		return err
	}
	return f.Tell(done, len(opt.Settings.Identity.OracleKey) > 0, s)
}
