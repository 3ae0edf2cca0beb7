//go:build linux

package faults

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
	"github.com/castalia-org/castalia/test/system"
)

// TestBackupWhileEverybodyWorks takes a backup under load, restores it into an
// empty place and starts the program there: all that was acknowledged before the
// backup began is in it, and the whole is sound. A second backup, of a place at
// rest, gives a place in which the doctor finds the same.
func TestBackupWhileEverybodyWorks(t *testing.T) {
	t.Parallel()
	need(t)
	binary := system.Binary(t)
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		backup(t, start(t, func(dir string) (*World, error) { return NewAlone(t.Context(), dir, binary) }))
	})
	t.Run("fleet", func(t *testing.T) {
		t.Parallel()
		backup(t, startWorld(t, []string{binary, binary, binary}))
	})
}

func backup(t *testing.T, w *World) {
	c, err := newCrowd(t.Context(), w, "backup")
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	if err := c.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	served(t, c, "before the backup")
	before := c.book.count()
	busy, still := filepath.Join(w.dir, "busy.tar"), filepath.Join(w.dir, "still.tar")
	key := filepath.Join(w.dir, "backup.key")
	identity, recipient, err := archive.NewKey()
	if err == nil {
		err = os.WriteFile(key, []byte(identity), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Tell("the backup begins")
	must(t, w, "backup", "--plain", busy)
	w.Tell("the backup is done")
	served(t, c, "after the backup")
	c.end()
	first := c.find(t.Context())
	report(t, first)
	// The second one is compared by the doctor's own words.
	for _, n := range w.nodes {
		if err := n.end(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	said := examine(t, w)
	must(t, w, "backup", "--to", recipient, still)
	w.place(t, "still")
	must(t, w, "restore", "--identity", key, still)
	if again := examine(t, w); again != said {
		t.Errorf("the doctor said\n%s\nand of the restored place\n%s", said, again)
	}
	w.place(t, "busy")
	must(t, w, "restore", busy)
	w.Tell("the backup is restored")
	if err := w.startNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.book.forget(before)
	report(t, c.find(t.Context()))
}

// place is an empty one for the world.
func (w *World) place(t *testing.T, name string) {
	t.Helper()
	if w.alone {
		w.live(filepath.Join(w.dir, name))
		return
	}
	if _, err := pgadmin.Create(t.Context(), w.socketURL, name); err != nil {
		t.Fatal(err)
	}
	w.useDatabase(name)
	if err := w.stage.do(objects, func() error {
		return os.Mkdir(filepath.Join(w.disks[objects], "root", name+"-bucket"), 0o700)
	}); err != nil {
		t.Fatal(err)
	}
	w.useBucket(name + "-bucket")
}

func must(t *testing.T, w *World, args ...string) {
	t.Helper()
	if said, err := w.command(t.Context(), w.binary[0], w.env(), args...); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
}

func examine(t *testing.T, w *World) string {
	t.Helper()
	said, err := w.doctor(t.Context())
	if err != nil {
		t.Errorf("doctor: %v\n%s", err, said)
	}
	_, findings, _ := strings.Cut(said, "\n") // the first line names the place
	return findings
}

func report(t *testing.T, e Evidence) {
	t.Helper()
	for _, v := range Check(e) {
		t.Errorf("%v", v)
	}
	t.Logf("%s", summary(e))
}

// counted is how much evidence there was at a moment.
type counted struct{ writes, reads, accounts, attempts, turns, grants, notes, things, lent int }

func (b *book) count() (n counted) {
	b.write(func(e *Evidence) {
		n = counted{
			len(e.Writes), len(e.Reads), len(e.Accounts), len(e.Attempts), len(e.Turns), len(e.Grants), len(e.Notes),
			len(e.Things), len(b.lent),
		}
	})
	return n
}

// forget makes everything since a moment unknown: a place that was restored may
// have it or not.
func (b *book) forget(since counted) {
	b.write(func(e *Evidence) {
		e.Writes, e.Accounts, e.Attempts = slices.Clone(e.Writes), slices.Clone(e.Accounts), slices.Clone(e.Attempts)
		e.Turns, e.Grants, e.Notes = slices.Clone(e.Turns), slices.Clone(e.Grants), slices.Clone(e.Notes)
		e.Reads = e.Reads[:since.reads:since.reads]
		e.Things = e.Things[:since.things:since.things]
		b.lent = b.lent[:since.lent:since.lent]
		for i := range e.Writes[since.writes:] {
			e.Writes[since.writes+i].doubt()
		}
		for i := range e.Accounts[since.accounts:] {
			e.Accounts[since.accounts+i].Told = Unknown
		}
		for i := range e.Attempts[since.attempts:] {
			a := &e.Attempts[since.attempts+i]
			a.Told, a.Locked = Unknown, false
		}
		for i := range e.Turns[since.turns:] {
			turn := &e.Turns[since.turns+i]
			turn.Told, turn.Run, turn.Frames = Unknown, "", nil
		}
		for i := range e.Grants[since.grants:] {
			e.Grants[since.grants+i].Told = Unknown
		}
		for i := range e.Notes[since.notes:] {
			e.Notes[since.notes+i].Told = Unknown
		}
	})
}

func (w *Write) doubt() {
	if w.Told == Acknowledged {
		w.Told = Unknown
	}
}
