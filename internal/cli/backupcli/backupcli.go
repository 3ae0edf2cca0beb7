// Package backupcli has the commands of who looks after the backups that a server makes,
// over the routes of operators. It alone may hold what opens a backup: the server does not.
package backupcli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/app/archiving"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/cli/ucancli"
	"github.com/castalia-org/castalia/internal/platform/backup"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordochttp"
	"github.com/castalia-org/castalia/internal/platform/pace"
)

// How the command is described.
const (
	Usage   = "list | make | check NAME [--identity FILE]… | get NAME FILE | schedule [--every 24h] [--keep 14] | key [--out FILE] | … [--server URL] [--token TOKEN|--key FILE]"
	Summary = "the backups that a server makes: list, make one now, try a restore, choose how often"
)

var verbs = shell.Verbs[*desk]{
	"list":     {Run: (*desk).list},
	"make":     {Run: (*desk).make},
	"check":    {Least: 1, Most: 1, Run: (*desk).check},
	"get":      {Least: 2, Most: 2, Run: (*desk).get},
	"schedule": {Run: (*desk).schedule},
}

// Run does what the arguments say.
func Run(ctx context.Context, args []string, s shell.IO) error {
	if len(args) > 0 && args[0] == "key" {
		return ucancli.RunKey(ctx, append([]string{"new", "--backup", "--out", "backup.key"}, args[1:]...), s)
	}
	return verbs.Do(ctx, "backups", "list", args, s, func(fs *flag.FlagSet) *desk {
		d := &desk{Desk: shell.NewDesk(fs, s, "/operator"), io: s}
		fs.Var(&d.identity, "identity", "check: `FILE` of the age key that the backup is encrypted for; it is then restored for trial, here; may be repeated")
		fs.StringVar(&d.every, "every", "", "schedule: time between two backups, as `DURATION` (24h, 7d), or off")
		fs.StringVar(&d.keep, "keep", "", "schedule: how `MANY` of the newest stay, or off for all")
		return d
	}, "key")
}

// desk is where whoever looks after backups sits.
type desk struct {
	*shell.Desk
	io          shell.IO
	identity    shell.List
	every, keep string
}

func (d *desk) list(ctx context.Context, _ []string) error {
	said, err := d.look(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.io.Out, 0, 0, 2, ' ', 0)
	for _, b := range said.Backups {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", b.Name, b.Made.Local().Format(time.DateTime), bytesize.Text(b.Size), checked(b.Check))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	d.tellState(said)
	return nil
}

// tellState says what to know besides the list.
func (d *desk) tellState(said archiving.Backups) {
	tell := func(format string, args ...any) { _, _ = fmt.Fprintf(d.io.Err, format+"\n", args...) }
	switch {
	case said.Place == "":
		tell("There is no place for backups: set BACKUP_URL and BACKUP_RECIPIENTS (`castalia backups key` makes one), and start the server again.")
	case said.Problem != "":
		tell("The place of backups cannot be looked at: %s", said.Problem)
	case len(said.Backups) == 0:
		tell("There is no backup at %s yet.", said.Place)
	case said.Total > len(said.Backups):
		tell("These are the newest of %d.", said.Total)
	}
	for _, j := range said.Jobs {
		if j.State == backup.Running || j.State == backup.Waiting {
			tell("A %s is %s (%s so far).", j.Kind, j.State, bytesize.Text(j.Bytes))
		}
	}
	if j, ok := lastEnded(said.Jobs); ok && j.State == backup.Failed {
		tell("The last %s failed: %s", j.Kind, j.Problem)
	}
	if said.Next != nil {
		tell("The next one is due %s.", said.Next.Local().Format(time.DateTime))
	} else if said.Place != "" {
		tell("None is scheduled: `castalia backups schedule --every 24h --keep 14` does that.")
	}
	if said.Replica.Place != "" {
		tell("The replica at %s is %.0f s behind. %s", said.Replica.Place, said.Replica.LagSeconds, said.Replica.Problem)
	}
}

func lastEnded(jobs []backup.Job) (backup.Job, bool) {
	for _, j := range jobs {
		if j.Ended != nil {
			return j, true
		}
	}
	return backup.Job{}, false
}

// checked says what is known of a backup.
func checked(c *backup.Check) string {
	switch {
	case c == nil:
		return "not checked"
	case c.Problem != "":
		return "DAMAGED: " + c.Problem
	case c.Restored:
		return "restored for trial " + c.At.Local().Format(time.DateOnly)
	}
	return "bytes checked " + c.At.Local().Format(time.DateOnly)
}

func (d *desk) look(ctx context.Context) (said archiving.Backups, err error) {
	return said, d.Ask(ctx, http.MethodGet, "/backups", nil, &said)
}

// make has a backup made, and waits for it.
func (d *desk) make(ctx context.Context, _ []string) error {
	var j backup.Job
	if err := d.Ask(ctx, http.MethodPost, "/backups", nil, &j); err != nil {
		return err
	}
	j, err := d.wait(ctx, j.ID)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(d.io.Err, "Made (%s). `castalia backups check %s --identity FILE` tries a restore.\n", bytesize.Text(j.Bytes), j.Name)
	_, err = fmt.Fprintln(d.io.Out, j.Name)
	return err
}

// waitEvery is how often is asked how far a job is.
const waitEvery = time.Second

// wait waits until a job ended. Whoever stops waiting does not stop the job.
func (d *desk) wait(ctx context.Context, id string) (backup.Job, error) {
	bar := shell.NewProgress(d.io, "backup", -1)
	defer bar.Finish()
	for {
		said, err := d.look(ctx)
		if err != nil {
			return backup.Job{}, err
		}
		for _, j := range said.Jobs {
			if j.ID != id {
				continue
			}
			bar.At(j.Bytes)
			switch j.State {
			case backup.Done:
				return j, nil
			case backup.Failed:
				return j, fmt.Errorf("the %s failed: %s", j.Kind, j.Problem)
			}
		}
		if err := pace.Sleep(ctx, waitEvery); err != nil {
			return backup.Job{}, err
		}
	}
}

// check has the server read a backup, or restores it here with the key.
func (d *desk) check(ctx context.Context, args []string) error {
	if len(d.identity) > 0 {
		return d.trial(ctx, args[0])
	}
	var j backup.Job
	if err := d.Ask(ctx, http.MethodPost, "/backups/"+url.PathEscape(args[0])+"/check", nil, &j); err != nil {
		return err
	}
	if _, err := d.wait(ctx, j.ID); err != nil {
		return err
	}
	_, err := fmt.Fprintf(d.io.Out, "%s: all of its bytes are there, as they were written.\nWhether your key opens it, only a trial shows: castalia backups check %s --identity FILE\n", args[0], args[0])
	return err
}

// get copies a backup into a new file that its owner alone can read.
func (d *desk) get(ctx context.Context, args []string) (err error) {
	file, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = os.Remove(args[1])
		}
	}()
	n, err := d.fetch(ctx, args[0], file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.io.Err, "%s is in %s (%s). `castalia restore --identity FILE %s` restores it.\n", args[0], args[1], bytesize.Text(n), args[1])
	return err
}

// fetch copies the archive of a backup; one that is cut off is an error.
func (d *desk) fetch(ctx context.Context, name string, to io.Writer) (int64, error) {
	resp, err := d.Send(ctx, http.MethodGet, "/backups/"+url.PathEscape(name)+"/archive", nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	bar := shell.NewProgress(d.io, name, resp.ContentLength)
	defer bar.Finish()
	return io.Copy(to, bar.Reader(resp.Body))
}

// schedule shows the schedule, or stores another one.
func (d *desk) schedule(ctx context.Context, _ []string) error {
	said, err := d.look(ctx)
	if err != nil {
		return err
	}
	if d.every == "" && d.keep == "" {
		every, keep := "off", "all"
		if said.Every != "" {
			every = said.Every
		}
		if said.Keep > 0 {
			keep = fmt.Sprintf("the newest %d", said.Keep)
		}
		_, err := fmt.Fprintf(d.io.Out, "every %s, keep %s (%s)\n", every, keep, said.Source)
		return err
	}
	plan, err := d.planned(said)
	if err != nil {
		return err
	}
	var now operatordochttp.Document
	if err := d.Ask(ctx, http.MethodGet, "/documents/backups", nil, &now); err != nil {
		return err
	}
	change := operatordochttp.NewText{Text: plan.Text(), Note: "castalia backups schedule"}
	resp, err := d.Send(ctx, http.MethodPut, "/documents/backups", change, "If-Match", fmt.Sprintf(`"%d"`, now.Newest))
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	_, err = fmt.Fprintf(d.io.Out, "stored: %s", strings.ReplaceAll(plan.Text(), "\nkeep", ", keep"))
	return err
}

// planned is the schedule in force with what was given.
func (d *desk) planned(said archiving.Backups) (backup.Schedule, error) {
	every, keep := said.Every, fmt.Sprint(said.Keep)
	if d.every != "" {
		every = d.every
	}
	if d.keep != "" {
		keep = d.keep
	}
	if keep == "0" {
		keep = "off"
	}
	plan, err := backup.ParseSchedule(fmt.Appendf(nil, "every: %q\nkeep: %q\n", every, keep))
	if err != nil {
		return plan, shell.Usagef("--%v", err)
	}
	return plan, nil
}
