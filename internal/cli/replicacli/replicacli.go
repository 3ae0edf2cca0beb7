// Package replicacli is what `castalia replica` prints, and the flags by which
// `castalia restore` is told which replica to bring back, and by whom it must be signed.
package replicacli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/app/shipping"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/replica"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// moment is how moments of a replica are shown, and how --at takes them.
const moment = "2006-01-02T15:04:05.000Z07:00"

// Status prints what the replica of some settings holds.
func Status(ctx context.Context, settings *config.Settings, s shell.IO) error {
	if !shipping.Given(settings) {
		return errors.New("there is no replica: REPLICA_URL is not set")
	}
	store, err := shipping.Place(settings.Storage.Replica, settings, false)
	if err != nil {
		return err
	}
	seen, err := replica.Look(ctx, store)
	if err != nil {
		return err
	}
	signer, err := shipping.Signer(settings)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Out, "place         %s\n", settings.Storage.Replica)
	if signer.Name != "" {
		_, _ = fmt.Fprintf(s.Out, "signer        %s\n", signer.Name)
	}
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

// Flags say which replica to restore, and who must have signed it, or an archive.
type Flags struct {
	From   config.URL
	Author archive.Author
	at     time.Time
}

// Register makes them known.
func (f *Flags) Register(fs *flag.FlagSet) {
	fs.Func("from", "`URL` of a replica to restore instead of an archive, as REPLICA_URL has it", func(text string) error {
		return f.From.UnmarshalText([]byte(text))
	})
	fs.Func("at", "`TIME` to restore a replica to, such as 2026-11-17T20:15:00Z; the newest otherwise",
		func(text string) (err error) {
			f.at, err = time.Parse(time.RFC3339, text)
			return err
		})
	fs.Func("signer", "`DID` of the key that must have signed it, as `castalia backup` and `castalia replica status` show it; ORACLE_KEY's where it is set",
		func(text string) error {
			_, err := did.ParseKey(did.DID(text))
			f.Author.Signer = text
			return err
		})
	fs.BoolVar(&f.Author.Unsigned, "unsigned", false, "restore what nobody signed: of an earlier release, from a place that nobody else can write to")
}

// Given reports whether they ask for a replica.
func (f *Flags) Given() bool { return f.From.Given() || !f.at.IsZero() }

// Wanted is what they ask for.
func (f *Flags) Wanted() replica.Wanted {
	return replica.Wanted{At: f.at, Author: f.Author}
}

// Tell says what was restored, and who wrote it. Sure says that its signer was expected.
func (f *Flags) Tell(done replica.Restored, sure bool, s shell.IO) error {
	for _, generation := range done.Passed {
		_, _ = fmt.Fprintf(s.Err, "Generation %d has no whole copy: what is newer than this is lost.\n", generation)
	}
	f.TellSigner("replica", done.Signer, sure, s)
	_, err := fmt.Fprintf(s.Err, "Restored the state of %s: %d pieces of the log, %d objects and %d keys. `castalia doctor --deep` checks them.\n",
		done.Moment.Format(moment), done.Pieces, done.Objects, done.Keys)
	return err
}

// TellSigner says who signed what was restored. Sure says that they were expected.
func (f *Flags) TellSigner(what, signer string, sure bool, s shell.IO) {
	switch {
	case signer == "":
		_, _ = fmt.Fprintf(s.Err, "Nobody signed this %s: whoever can write to where it was kept may have made it.\n", what)
	case sure || f.Author.Signer != "":
		_, _ = fmt.Fprintf(s.Err, "The %s is signed by %s.\n", what, signer)
	default:
		_, _ = fmt.Fprintf(s.Err, "The %s is signed by %s. Make sure that this is your oracle before you start it; `--signer` refuses others.\n", what, signer)
	}
}
