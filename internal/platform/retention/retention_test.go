package retention_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestRulesAreReadOrRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		"transcripts: 365d\nruns: off": "transcripts: 365d\n",
		"forms: 48h":                   "forms: 2d\n",
		"audit: 25h":                   "audit: 25h0m0s\n",
	} {
		rules, err := retention.ParseRules([]byte(text))
		if err != nil || rules.Text() != want {
			t.Errorf("%q: %q, %v", text, rules.Text(), err)
		}
	}
	for _, text := range []string{"transcripts: 23h", "transcripts: -3d", "transcript: 3d", "runs: soon", "runs: 9999999d", "- 3"} {
		if rules, err := retention.ParseRules([]byte(text)); err == nil {
			t.Errorf("%q became %v", text, rules)
		}
	}
}

// things is a table with parts, in which a thing may be held.
const things = `CREATE TABLE things (id {{text}} NOT NULL PRIMARY KEY, at_ms {{int}} NOT NULL, held {{int}} NOT NULL) {{table}};
CREATE TABLE bits (thing {{text}} NOT NULL, n {{int}} NOT NULL, PRIMARY KEY (thing, n)) {{table}};`

type world struct {
	*retention.Keeper
	db    *sqldb.DB
	rules retention.Rules
	rows  retention.Rows
	now   time.Time
}

func newWorld(t *testing.T, db *sqldb.DB, exports *retention.Exports) *world {
	t.Helper()
	sqldbtest.Migrate(t, db, audit.Migrations(),
		sqldb.Migrations{Service: "things", FS: fstest.MapFS{"migrations/0001_things.sql": {Data: []byte(things)}}})
	w := &world{db: db, rules: retention.Rules{}}
	w.rows = retention.Rows{
		DB: db, Name: "things", At: "at_ms", Slice: 10, Where: "held = 0",
		Parts: []retention.Part{{Table: "bits", Where: "thing = $1"}},
	}
	w.Keeper = retention.New(retention.Config{
		DB: db, Leases: lease.NewKeeper(db, "me"), Rules: func() retention.Rules { return w.rules },
		Sources: map[string][]retention.Source{
			retention.Forms: {w.rows}, retention.Audit: audit.New(db).Retained()[retention.Audit],
		},
		Exports: exports, Log: slog.New(slog.DiscardHandler),
	})
	var err error
	if w.now, err = db.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) write(t *testing.T, fn func(ctx context.Context, tx sqldb.Querier) error) {
	t.Helper()
	if err := w.db.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// put stores things of an age.
func (w *world) put(t *testing.T, name string, n int, age time.Duration, held int) {
	t.Helper()
	w.write(t, func(ctx context.Context, tx sqldb.Querier) error {
		for i := range n {
			id := fmt.Sprintf("%s%03d", name, i)
			if _, err := tx.ExecContext(ctx, `INSERT INTO things (id, at_ms, held) VALUES ($1, $2, $3)`, id, sqldb.MS(w.now.Add(-age)), held); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO bits (thing, n) VALUES ($1, 1)`, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) count(t *testing.T, table string) (n int) {
	t.Helper()
	if err := w.db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// held sweeps under a lease of its own.
func (w *world) held(ctx context.Context, t *testing.T) (int64, error) {
	t.Helper()
	l, ok, err := w.Leases.Acquire(ctx, "sweep", time.Minute)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer func() { _ = w.Leases.Release(context.WithoutCancel(ctx), l) }()
	return w.Sweep(ctx, l, retention.Forms, w.rows)
}

const day = 24 * time.Hour

func TestOnlyWhatWasChosenGoes(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		w := newWorld(t, open(t), nil)
		w.put(t, "old", 25, 10*day, 0)
		w.put(t, "new", 5, 2*day, 0)
		w.put(t, "held", 3, 10*day, 1)
		if n, err := w.held(t.Context(), t); err != nil || n != 0 {
			t.Fatalf("without a rule %d went: %v", n, err)
		}
		w.rules = retention.Rules{retention.Forms: 5 * day}
		states, err := w.States(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range states {
			if want := map[string]int{retention.Forms: 25}[s.Name]; len(s.Due) > 0 && s.Due[0].Rows != want {
				t.Errorf("%s: %+v, want %d", s.Name, s.Due, want)
			}
		}
		if n, all, err := w.rows.Count(t.Context(), w.now.Add(-5*day), 20); err != nil || all || n != 20 {
			t.Errorf("counted %d, %t: %v", n, all, err)
		}
		if n, err := w.held(t.Context(), t); err != nil || n != 25 {
			t.Fatalf("%d went: %v", n, err)
		}
		if things, bits := w.count(t, "things"), w.count(t, "bits"); things != 8 || bits != 8 {
			t.Errorf("%d things and %d bits are left, want 8", things, bits)
		}
	})
}

func TestActsGoByTheirIDs(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		w := newWorld(t, open(t), nil)
		w.write(t, func(ctx context.Context, tx sqldb.Querier) error {
			for i := range 450 {
				id := fmt.Sprintf("%014d-%04d", sqldb.MS(w.now.Add(-10*day)), i)
				if _, err := tx.ExecContext(ctx, `INSERT INTO audit_acts (id, actor, role, act, target, status) VALUES ($1, 'a', 'b', 'c', 'd', 200)`, id); err != nil {
					return err
				}
			}
			return nil
		})
		if _, err := audit.New(w.db).Begin(t.Context(), audit.Act{Actor: "me"}); err != nil {
			t.Fatal(err)
		}
		w.rules = retention.Rules{retention.Audit: day}
		l, _, err := w.Leases.Acquire(t.Context(), "sweep", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		n, err := w.Sweep(t.Context(), l, retention.Audit, w.Sources[retention.Audit][0])
		if err != nil || n != 450 || w.count(t, "audit_acts") != 1 {
			t.Errorf("%d went, %d are left: %v", n, w.count(t, "audit_acts"), err)
		}
	})
}

// after calls do behind the first slice.
type after struct {
	retention.Rows
	do func()
}

func (a after) Walk(ctx context.Context, before time.Time, each func([]string) error) error {
	return a.Rows.Walk(ctx, before, func(ids []string) error {
		err := each(ids)
		a.do()
		return err
	})
}

func TestASweepThatIsCutShortIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		w := newWorld(t, open(t), nil)
		w.rules = retention.Rules{retention.Forms: 5 * day}
		w.put(t, "old", 25, 10*day, 0)
		l, _, err := w.Leases.Acquire(t.Context(), "sweep", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		ctx, die := context.WithCancel(t.Context())
		if _, err := w.Sweep(ctx, l, retention.Forms, after{w.rows, die}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		if things, bits := w.count(t, "things"), w.count(t, "bits"); things != 15 || bits != 15 {
			t.Errorf("%d things and %d bits are left of 25, want 15", things, bits)
		}
		if err := w.Leases.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if n, err := w.held(t.Context(), t); err != nil || n != 15 {
			t.Errorf("the next one erased %d: %v", n, err)
		}
	})
}

func TestWhoLostTheLeaseErasesNothing(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		w := newWorld(t, open(t), nil)
		w.rules = retention.Rules{retention.Forms: 5 * day}
		w.put(t, "old", 5, 10*day, 0)
		l, _, err := w.Leases.Acquire(t.Context(), "sweep", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Leases.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := lease.NewKeeper(w.db, "other").Acquire(t.Context(), "sweep", time.Minute); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if _, err := w.Sweep(t.Context(), l, retention.Forms, w.rows); !errors.Is(err, lease.ErrLost) || w.count(t, "things") != 5 {
			t.Errorf("%d are left: %v", w.count(t, "things"), err)
		}
	})
}

func TestASweepStopsWhenOperatorsChooseOtherwise(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), nil)
	w.rules = retention.Rules{retention.Forms: 5 * day}
	w.put(t, "old", 25, 10*day, 0)
	l, _, err := w.Leases.Acquire(t.Context(), "sweep", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	n, err := w.Sweep(t.Context(), l, retention.Forms, after{w.rows, func() { w.rules = retention.Rules{} }})
	if err != nil || n != 10 {
		t.Errorf("%d went: %v", n, err)
	}
}

// plain does not encrypt.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// away is a store that takes nothing.
type away struct{ blob.Store }

func (away) Put(_ context.Context, _ string, body io.Reader, _ blob.PutOptions) (blob.Info, error) {
	_, _ = io.CopyN(io.Discard, body, 5)
	return blob.Info{}, errors.New("the store is away")
}

func TestNothingGoesWithoutItsExport(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		objects := blobmem.New()
		exports := &retention.Exports{Store: away{}, Seal: func(w io.Writer) (io.WriteCloser, error) { return plain{w}, nil }}
		w := newWorld(t, open(t), exports)
		w.rules = retention.Rules{retention.Forms: 5 * day}
		w.put(t, "old", 15, 10*day, 0)
		if _, err := w.held(t.Context(), t); err == nil || w.count(t, "things") != 15 {
			t.Fatalf("%d are left: %v", w.count(t, "things"), err)
		}
		exports.Store = objects
		if n, err := w.held(t.Context(), t); err != nil || n != 15 {
			t.Fatalf("%d went: %v", n, err)
		}
		all := exported(t, objects)
		for i := range 15 {
			for _, part := range []string{`{"table":"things","row":{"at_ms":`, fmt.Sprintf(`"id":"old%03d"`, i), fmt.Sprintf(`{"table":"bits","row":{"n":1,"thing":"old%03d"}}`, i)} {
				if !strings.Contains(all, part) {
					t.Errorf("no %s in the exports", part)
				}
			}
		}
	})
}

// partly has lost a part of some records.
type partly struct{ retention.Rows }

func (p partly) Export(ctx context.Context, before time.Time, id string, to *retention.JSONLines) error {
	if strings.HasPrefix(id, "lost") {
		return to.Lost(p.Table(), id, errors.New("it burnt"))
	}
	return p.Rows.Export(ctx, before, id, to)
}

// What was lost of some records holds up no other: the exports and one event name it.
func TestWhatWasLostBeforeIsNamed(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		objects := blobmem.New()
		w := newWorld(t, open(t), &retention.Exports{
			Store: objects, Seal: func(w io.Writer) (io.WriteCloser, error) { return plain{w}, nil },
		})
		var log bytes.Buffer
		w.Log = slog.New(slog.NewTextHandler(&log, nil))
		w.rules = retention.Rules{retention.Forms: 5 * day}
		w.put(t, "lost", 12, 10*day, 0)
		w.put(t, "whole", 12, 10*day, 0)
		l, _, err := w.Leases.Acquire(t.Context(), "sweep", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := w.Sweep(t.Context(), l, retention.Forms, partly{w.rows}); err != nil || n != 24 {
			t.Errorf("%d went: %v", n, err)
		}
		text := exported(t, objects)
		if lost := strings.Count(text, `"lost":"it burnt"`); lost != 12 || !strings.Contains(text, "whole011") {
			t.Errorf("%d are named as lost:\n%s", lost, text)
		}
		if n := strings.Count(log.String(), "event=retention.lost"); n != 1 || !strings.Contains(log.String(), "records=12") {
			t.Errorf("%d events, want one: %s", n, &log)
		}
	})
}

// exported is all that was exported.
func exported(t *testing.T, objects blob.Store) string {
	t.Helper()
	var all bytes.Buffer
	for o, err := range objects.List(t.Context(), "forms/") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := objects.Get(t.Context(), o.Key, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(&all, body)
		_ = body.Close()
	}
	return all.String()
}

// paused stands still behind the first record that it exports.
type paused struct {
	retention.Rows
	once         *sync.Once
	stands, goOn chan struct{}
}

func (p paused) Export(ctx context.Context, before time.Time, id string, to *retention.JSONLines) error {
	err := p.Rows.Export(ctx, before, id, to)
	p.once.Do(func() {
		close(p.stands)
		<-p.goOn
	})
	return err
}

// Whoever wakes up behind a pause finds nothing of what the next holder has exported and
// erased, and must not put that in the place of the export.
func TestWhoLostTheLeaseOverwritesNoExport(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		objects := blobmem.New()
		w := newWorld(t, open(t), &retention.Exports{
			Store: objects, Seal: func(w io.Writer) (io.WriteCloser, error) { return plain{w}, nil },
		})
		w.rules = retention.Rules{retention.Forms: 5 * day}
		w.put(t, "old", 5, 10*day, 0)
		l, _, err := w.Leases.Acquire(t.Context(), "sweep", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		slow := paused{w.rows, new(sync.Once), make(chan struct{}), make(chan struct{})}
		woken := make(chan error, 1)
		go func() {
			_, err := w.Sweep(t.Context(), l, retention.Forms, slow)
			woken <- err
		}()
		<-slow.stands
		if err := w.Leases.Release(t.Context(), l); err != nil { // as when its time is over
			t.Fatal(err)
		}
		if n, err := w.held(t.Context(), t); err != nil || n != 5 {
			t.Fatalf("the next holder erased %d: %v", n, err)
		}
		close(slow.goOn)
		if err := <-woken; !errors.Is(err, lease.ErrLost) {
			t.Errorf("who lost the lease: %v", err)
		}
		all := exported(t, objects)
		for i := range 5 {
			if id := fmt.Sprintf(`"id":"old%03d"`, i); !strings.Contains(all, id) {
				t.Errorf("%s was erased and is in no export", id)
			}
		}
	})
}

func TestTablesAreMeasured(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		w := newWorld(t, open(t), nil)
		w.put(t, "new", 50, 0, 0)
		w.write(t, func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO platform_growth (name, day, rows, bytes) VALUES ('things', $1, 0, 0)`, w.now.Add(-10*day).UnixMilli()/day.Milliseconds())
			return err
		})
		if w.db.Dialect() == sqldb.Postgres {
			w.write(t, func(ctx context.Context, tx sqldb.Querier) error {
				_, err := tx.ExecContext(ctx, `ANALYZE things`)
				return err
			})
		}
		if err := w.Measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		tables, err := w.Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, one := range tables {
			if one.Name == "things" {
				found = true
				if one.Rows != 50 || one.RowsADay == nil || *one.RowsADay != 5 {
					t.Errorf("%+v", one)
				}
			}
		}
		if !found {
			t.Errorf("no table things in %v", tables)
		}
	})
}
