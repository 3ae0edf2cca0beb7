package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/app/shipping"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/replica"
)

// moment is how moments of a replica are shown, and how --at takes them.
const moment = "2006-01-02T15:04:05.000Z07:00"

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
	if !shipping.Given(&settings) {
		return errors.New("there is no replica: REPLICA_URL is not set")
	}
	store, err := shipping.Place(settings.Storage.Replica, &settings, false)
	if err != nil {
		return err
	}
	seen, err := replica.Look(ctx, store)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Out, "place         %s\n", settings.Storage.Replica)
	if seen.Newest.IsZero() {
		_, _ = fmt.Fprintln(s.Out, "There is no whole copy in it yet.")
		return shell.ExitError(1)
	}
	_, err = fmt.Fprintf(s.Out, "restorable    %s to %s (%s ago)\ndatabase      %d whole copies, %d pieces of its log, %s\nobjects       %d, %s\ngenerations   %d\n",
		seen.Oldest.Format(moment), seen.Newest.Format(moment), time.Since(seen.Newest).Round(time.Millisecond),
		seen.Bases, seen.Pieces, bytesize.Text(seen.Bytes), seen.Objects, bytesize.Text(seen.ObjectBytes), seen.Generations)
	for _, generation := range seen.Passed {
		_, _ = fmt.Fprintf(s.Out, "Generation %d has no whole copy yet: what is newer cannot be restored.\n", generation)
	}
	return err
}

// replicaFlags say which replica to restore.
type replicaFlags struct {
	from config.URL
	at   time.Time
}

func (f *replicaFlags) register(fs *flag.FlagSet) {
	fs.Func("from", "`URL` of a replica to restore instead of an archive, as REPLICA_URL has it", func(text string) error {
		return f.from.UnmarshalText([]byte(text))
	})
	fs.Func("at", "`TIME` to restore a replica to, such as 2026-11-17T20:15:00Z; the newest otherwise", func(text string) (err error) {
		f.at, err = time.Parse(time.RFC3339, text)
		return err
	})
}

func (f *replicaFlags) given() bool { return f.from.Given() || !f.at.IsZero() }

func isSet(fs *flag.FlagSet, name string) bool {
	set := false
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func (f *replicaFlags) restore(ctx context.Context, opt app.Options, path string, how *unlockFlags, s shell.IO) error {
	if path != "" || !f.from.Given() {
		return shell.Usagef("give --from URL, with --at TIME or not, or the name of an archive")
	}
	how.passphrase.standing = opt.Settings.Storage.ReplicaPassphrase.Reveal()
	_, _ = fmt.Fprintf(s.Err, "Restoring %s into %s.\n", f.from, app.Place(opt.Settings))
	done, err := app.RestoreReplica(ctx, opt, f.from, replica.Wanted{Unlock: how.keys(s), At: f.at})
	if err != nil {
		return err
	}
	for _, generation := range done.Passed {
		_, _ = fmt.Fprintf(s.Err, "Generation %d has no whole copy: what is newer than this is lost.\n", generation)
	}
	_, err = fmt.Fprintf(s.Err, "Restored the state of %s: %d pieces of the log, %d objects and %d keys. `castalia doctor --deep` checks them.\n",
		done.Moment.Format(moment), done.Pieces, done.Objects, done.Keys)
	return err
}
