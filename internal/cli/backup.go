package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func backupCommand() command {
	return command{
		name: "backup", args: "[--without-keys] [--config FILE] [--set NAME=value] FILE|-",
		summary: "write everything into one archive; safe beside running nodes", run: runBackup,
	}
}

func restoreCommand() command {
	return command{
		name: "restore", args: "[--config FILE] [--set NAME=value] FILE|-",
		summary: "fill an empty data folder or fleet from an archive", run: runRestore,
	}
}

// archiveOptions reads the settings and the one argument that both commands take.
func archiveOptions(fs *flag.FlagSet, args []string, s IO) (app.Options, string, error) {
	var from settingFlags
	from.register(fs)
	if err := parse(fs, args); err != nil {
		return app.Options{}, "", err
	}
	if fs.NArg() != 1 {
		return app.Options{}, "", usagef("%s needs the name of one archive, or - for the standard stream", fs.Name())
	}
	settings, _, err := from.load(s)
	if err != nil {
		return app.Options{}, "", err
	}
	log := telemetry.NewLogger(s.Err, telemetry.Config{Level: settings.Server.LogLevel, Format: settings.Server.LogFormat})
	return app.Options{Settings: settings, Log: log, Version: Version()}, fs.Arg(0), nil
}

func runBackup(ctx context.Context, args []string, s IO) error {
	fs := newFlags("backup", s)
	without := fs.Bool("without-keys", false, "leave out the keys that this program made; without them the archive can not be read")
	opt, path, err := archiveOptions(fs, args, s)
	if err != nil {
		return err
	}
	var did archive.Summary
	write := func(to io.Writer) (err error) {
		did, err = app.Backup(ctx, opt, to, !*without)
		return err
	}
	if path == "-" {
		err = write(s.Out)
	} else {
		err = writeWhole(path, write)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "Wrote %d objects, %d pieces of tables and %d keys (%d bytes).\n", did.Objects, did.Pieces, did.Keys, did.Bytes)
	if err == nil && did.Keys > 0 {
		_, err = fmt.Fprintln(s.Err, "The archive holds your keys: who has it has everything. Keep it as you keep them.")
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

func runRestore(ctx context.Context, args []string, s IO) error {
	fs := newFlags("restore", s)
	opt, path, err := archiveOptions(fs, args, s)
	if err != nil {
		return err
	}
	from := s.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		if _, err := archive.Verify(file); err != nil { // before anything is touched
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		from = file
	}
	did, err := app.Restore(ctx, opt, from)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "Restored %d objects, %d pieces of tables and %d keys. `castalia doctor --deep` checks them.\n",
		did.Objects, did.Pieces, did.Keys)
	return err
}
