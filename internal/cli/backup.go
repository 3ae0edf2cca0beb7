package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/replicacli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func backupCommand() command {
	return command{
		name: "backup", args: "--to RECIPIENT|--passphrase|--passphrase-file FILE|--plain [--without-keys] [--config FILE] [--set NAME=value] FILE|-",
		summary: "write everything into one encrypted archive; safe beside running nodes", run: runBackup,
	}
}

func restoreCommand() command {
	return command{
		name: "restore", args: "[--identity FILE] [--passphrase-file FILE] [--config FILE] [--set NAME=value] [--signer DID] [--unsigned] FILE|-|--from URL [--at TIME]",
		summary: "fill an empty data folder or fleet from an archive, or a folder from a replica", run: runRestore,
	}
}

// archiveOptions reads the settings and the one argument that both commands take.
func archiveOptions(fs *flag.FlagSet, args []string, s shell.IO) (app.Options, string, error) {
	var from settingFlags
	from.register(fs, s)
	if err := shell.Parse(fs, args); err != nil {
		return app.Options{}, "", err
	}
	if fs.NArg() != 1 && (fs.NArg() > 0 || !isSet(fs, "from")) {
		return app.Options{}, "", shell.Usagef("%s needs the name of one archive, or - for the standard stream", fs.Name())
	}
	settings, _, err := from.load(s)
	if err != nil {
		return app.Options{}, "", err
	}
	log := telemetry.NewLogger(s.Err, telemetry.Config{Level: settings.Server.LogLevel, Format: settings.Server.LogFormat})
	return app.Options{Settings: settings, Log: log, Version: Version()}, fs.Arg(0), nil
}

func runBackup(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("backup", s)
	without := fs.Bool("without-keys", false, "leave out the keys that this program made; without them the files in the archive cannot be read")
	var how lockFlags
	how.register(fs)
	opt, path, err := archiveOptions(fs, args, s)
	if err != nil {
		return err
	}
	lock, err := how.lock(s)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Err, "Backing up %s.\n", app.Place(opt.Settings))
	var done archive.Summary
	write := func(to io.Writer) (err error) {
		if lock == nil {
			done, err = app.Backup(ctx, opt, to, !*without)
			return err
		}
		sealed, err := archive.Encrypt(to, *lock)
		if err != nil {
			return err
		}
		if done, err = app.Backup(ctx, opt, sealed, !*without); err != nil {
			return err // left open, so that what was written is refused
		}
		return sealed.Close()
	}
	if path == "-" {
		err = write(s.Out)
	} else {
		err = writeWhole(path, write)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "Wrote %d objects, %d pieces of tables and %d keys (%d bytes).\n", done.Objects, done.Pieces, done.Keys, done.Bytes)
	if err != nil {
		return err
	}
	if done.Signer == "" {
		_, _ = fmt.Fprintln(s.Err, "The archive is not signed, since ORACLE_KEY is not known here: `castalia restore` will ask for --unsigned.")
	} else {
		_, _ = fmt.Fprintf(s.Err, "It is signed by %s: keep this line beside what opens it, for --signer.\n", done.Signer)
	}
	switch {
	case lock != nil:
		_, err = fmt.Fprintln(s.Err, "The archive is encrypted. Keep what opens it apart from it, and try a restore before you need one.")
	case done.Keys > 0:
		_, err = fmt.Fprintln(s.Err, "The archive is not encrypted. Anyone with it can read everything: protect it like the keys in it.")
	default:
		_, err = fmt.Fprintln(s.Err, "The archive is not encrypted. Anyone with it can read chats, names and telephone numbers.")
	}
	return err
}

// writeWhole makes a new file that its owner alone can read, and that is whole
// and on the disk, or not there.
func writeWhole(path string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already", path)
	}
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	err = write(file)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func runRestore(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("restore", s)
	var how unlockFlags
	how.register(fs)
	var place replicacli.Flags
	place.Register(fs)
	opt, path, err := archiveOptions(fs, args, s)
	if err != nil {
		return err
	}
	if place.Given() {
		return restoreReplica(ctx, &place, opt, path, &how, s)
	}
	from := s.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		plain, err := archive.Decrypt(file, how.keys(s))
		if err == nil {
			err = how.needed(s)
		}
		if err == nil {
			err = app.Verify(opt, plain, place.Author) // before anything is touched
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		from = file
	}
	plain, err := archive.Decrypt(from, how.keys(s))
	if err == nil {
		err = how.needed(s)
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Err, "Restoring into %s.\n", app.Place(opt.Settings))
	done, err := app.Restore(ctx, opt, plain, place.Author)
	if err != nil {
		return err
	}
	place.TellSigner("archive", done.Signer, len(opt.Settings.Identity.OracleKey) > 0, s)
	_, err = fmt.Fprintf(s.Err, "Restored what was there at %s: %d objects, %d pieces of tables and %d keys. `castalia doctor --deep` checks them.\n",
		done.Made.UTC().Format(time.RFC3339), done.Objects, done.Pieces, done.Keys)
	return err
}
