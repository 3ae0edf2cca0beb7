package backupcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/app/archiving"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/config"
)

// trial restores a backup into a folder that is thrown away, has the doctor read it, and
// tells the server how that went.
func (d *desk) trial(ctx context.Context, name string) error {
	keys, err := d.keys()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "castalia-trial-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	problem := d.restore(ctx, name, keys, folder)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*fetchError](problem); ok || errors.Is(problem, archive.ErrOtherKey) {
		return problem // it says nothing of the backup
	}
	told := archiving.Trial{}
	if problem != nil {
		told.Problem = strings.ToValidUTF8(fmt.Sprintf("%.400s", problem), "")
	}
	err = d.Ask(ctx, http.MethodPost, "/backups/"+url.PathEscape(name)+"/trial", told, nil)
	if err = errors.Join(problem, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.io.Out, "%s can be restored. The trial was thrown away, and is noted on the server.\n", name)
	return err
}

// keys reads the identities.
func (d *desk) keys() (archive.Keys, error) {
	var texts []string
	for _, file := range d.identity {
		text, err := shell.ReadInput(file, d.io)
		if err != nil {
			return archive.Keys{}, fmt.Errorf("--identity: %w", err)
		}
		texts = append(texts, text)
	}
	return archive.KeysFrom(texts...)
}

// fetchError says that a backup did not come over.
type fetchError struct{ error }

func (d *desk) restore(ctx context.Context, name string, keys archive.Keys, folder string) error {
	archived := filepath.Join(folder, "archive")
	file, err := os.OpenFile(archived, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &fetchError{err}
	}
	defer func() { _ = file.Close() }()
	if _, err := d.fetch(ctx, name, file); err != nil {
		return &fetchError{err}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return &fetchError{err}
	}
	plain, err := archive.Decrypt(file, func(how archive.Locked) (archive.Keys, error) {
		if how != archive.ByRecipients {
			return keys, errors.New("the archive is not encrypted for a key")
		}
		return keys, nil
	})
	if err != nil {
		return err
	}
	opt, err := d.elsewhere(filepath.Join(folder, "data"))
	if err != nil {
		return &fetchError{err}
	}
	// The server compares what it gives with what it wrote, so whoever signed it did.
	did, err := app.Restore(ctx, opt, plain, archive.Author{Unsigned: true})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(d.io.Err, "Restored %d objects, %d pieces of tables and %d keys.\n", did.Objects, did.Pieces, did.Keys)
	return d.examine(ctx, opt, did.Keys > 0)
}

// elsewhere are settings of a deployment of its own in a folder, whatever the environment
// says: nothing of the one that runs may be touched.
func (d *desk) elsewhere(folder string) (app.Options, error) {
	env := []string{"CASTALIA_DATA=" + folder}
	for _, name := range []string{"FILES_MASTER_KEY", "PIN_ENCRYPTION_KEY", "ORACLE_KEY"} {
		if value := d.io.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	var settings config.Settings
	if _, err := config.Load(&settings, config.Input{Env: env}); err != nil {
		return app.Options{}, err
	}
	return app.Options{
		Settings: settings, Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" },
	}, nil
}

// examine has the doctor read all that was restored. Without keys it cannot open files: a
// fleet keeps its own elsewhere.
func (d *desk) examine(ctx context.Context, opt app.Options, keys bool) error {
	if !keys && len(opt.Settings.Files.MasterKey) == 0 {
		_, _ = fmt.Fprintln(d.io.Err, "The backup has no keys, so its files cannot be opened here: set FILES_MASTER_KEY, PIN_ENCRYPTION_KEY and ORACLE_KEY to try that too.")
		return nil
	}
	var faults []string
	err := app.Doctor(ctx, opt, app.DoctorOptions{Deep: true}, func(f app.Finding) {
		if f.Problem && f.Part != "access" && f.Part != "documents" {
			faults = append(faults, f.Part+": "+f.Text)
		}
		if f.Part == "records" || f.Part == "files" {
			_, _ = fmt.Fprintf(d.io.Err, "%s: %s\n", f.Part, f.Text)
		}
	})
	if err == nil && len(faults) > 0 {
		err = errors.New(strings.Join(faults, "; "))
	}
	return err
}
