package operatordoc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/feed"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// definition reads texts that do not begin with "bad".
func definition(change ...func(*operatordoc.Definition[string])) operatordoc.Definition[string] {
	d := operatordoc.Definition[string]{
		Name: "poem", Title: "The poem", Media: "text/plain", Variable: "POEM", FileVariable: "POEM_FILE", BuiltIn: []byte("built in"), MaxBytes: 64,
		Parse: func(text []byte, _ operatordoc.Source) (string, error) {
			switch {
			case strings.HasPrefix(string(text), "bad"):
				return "", errors.New("line 1: it is bad")
			case strings.HasPrefix(string(text), "panic"):
				panic("the reader fell over")
			}
			return string(text), nil
		},
	}
	for _, c := range change {
		c(&d)
	}
	return d
}

type node struct {
	*operatordoc.Shelf
	poem *operatordoc.Document[string]
}

func newNode(t *testing.T, store operatordoc.Store, hints feed.Hints,
	change ...func(*operatordoc.Definition[string]),
) node {
	t.Helper()
	s := operatordoc.NewShelf(store, operatordoc.Config{Hints: hints})
	poem, err := operatordoc.Put(s, definition(change...))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return node{s, poem}
}

func each(t *testing.T, body func(t *testing.T, store operatordoc.Store)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		body(t, operatordocsql.New(sqldbtest.Migrate(t, open(t), operatordocsql.Migrations())))
	})
}

func ada(after int64) operatordoc.Change { return operatordoc.Change{Author: "Ada", After: after} }

func (n node) want(t *testing.T, value string, from operatordoc.Source, number int64) {
	t.Helper()
	s := n.poem.State()
	if n.poem.Value() != value || s.Source != from || s.Number != number {
		t.Errorf("in force is %q, %+v, want %q of version %d from the %s", n.poem.Value(), s, value, number, from)
	}
}

func TestStoredTextsAreInForceOnEveryNode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		hints := busmem.New()
		here, there := newNode(t, store, hints), newNode(t, store, hints)
		here.want(t, "built in", operatordoc.FromDefault, 0)
		ctx := t.Context()
		if v, err := here.Store(ctx, "poem", []byte("roses"), ada(0)); err != nil || v.Number != 1 {
			t.Fatalf("store: %+v, %v", v, err)
		}
		here.want(t, "roses", operatordoc.FromDatabase, 1)
		there.want(t, "built in", operatordoc.FromDefault, 0)
		if err := there.Load(ctx); err != nil { // as its follower does, within half a second
			t.Fatal(err)
		}
		there.want(t, "roses", operatordoc.FromDatabase, 1)
		late := newNode(t, store, hints)
		late.want(t, "roses", operatordoc.FromDatabase, 1)
		if err := hints.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestVersionsAreRemovedAndRestored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		ctx, n := t.Context(), newNode(t, store, nil)
		for i, text := range []string{"roses", "violets"} {
			if _, err := n.Store(ctx, "poem", []byte(text), ada(int64(i))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.Remove(ctx, "poem", ada(2)); err != nil {
			t.Fatal(err)
		}
		n.want(t, "built in", operatordoc.FromDefault, 0)
		v, err := n.Restore(ctx, "poem", 1, operatordoc.Change{Author: "Bob", Note: "it was better", After: 3})
		if err != nil || v.Number != 4 || v.Restores != 1 {
			t.Fatalf("restore: %+v, %v", v, err)
		}
		n.want(t, "roses", operatordoc.FromDatabase, 4)
		list, err := n.History(ctx, "poem", 0, 10)
		if err != nil || len(list) != 4 || list[0].Author != "Bob" || list[0].Note != "it was better" || !list[1].Removed ||
			list[3].Author != "Ada" {
			t.Errorf("history: %+v, %v", list, err)
		}
		if _, err := n.Restore(ctx, "poem", 9, ada(4)); !fault.Is(err, fault.NotFound) {
			t.Errorf("restoring what is not there: %v", err)
		}
	})
}

func TestADocumentThatIsKeptIsNotRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		ctx, n := t.Context(), newNode(t, store, nil, func(d *operatordoc.Definition[string]) { d.Kept = true })
		if _, err := n.Store(ctx, "poem", []byte("roses"), ada(0)); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Remove(ctx, "poem", ada(1)); !fault.Is(err, fault.Conflict) {
			t.Errorf("removed: %v", err)
		}
		n.want(t, "roses", operatordoc.FromDatabase, 1)
	})
}

func TestRefusedTextsChangeNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		ctx, n := t.Context(), newNode(t, store, nil)
		if _, err := n.Store(ctx, "poem", []byte("roses"), ada(0)); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			text  string
			after int64
			kind  fault.Kind
			says  string
		}{
			"bad":        {"bad verse", 1, fault.Invalid, "The poem: line 1: it is bad"},
			"a panic":    {"panic", 1, fault.Invalid, "The poem: the text cannot be read"},
			"too large":  {strings.Repeat("x", 65), 1, fault.TooLarge, "The poem may have at most 64 bytes"},
			"not UTF-8":  {"\xff", 1, fault.Invalid, "The poem: the text is not UTF-8"},
			"zero bytes": {"a\x00b", 1, fault.Invalid, "The poem: the text holds a zero byte"},
			"over none":  {"violets", 0, fault.Precondition, "Version 1 is the newest by now, written by Ada: look at it and try again"},
			"too early":  {"violets", 2, fault.Precondition, "Version 1 is the newest by now, written by Ada: look at it and try again"},
		} {
			if _, err := n.Store(ctx, "poem", []byte(c.text), ada(c.after)); !fault.Is(err, c.kind) ||
				fault.From(err).Message != c.says {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := n.Store(ctx, "song", nil, ada(0)); !fault.Is(err, fault.NotFound) {
			t.Errorf("another document: %v", err)
		}
		// The answer to the first request got lost, and it is made again.
		if v, err := n.Store(ctx, "poem", []byte("roses"), ada(0)); err != nil || v.Number != 1 {
			t.Errorf("again: %+v, %v", v, err)
		}
		n.want(t, "roses", operatordoc.FromDatabase, 1)
	})
}

// A release that knows more wrote what this node cannot read.
func TestTheLastGoodVersionStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		ctx, n := t.Context(), newNode(t, store, nil)
		if _, err := n.Store(ctx, "poem", []byte("roses"), ada(0)); err != nil {
			t.Fatal(err)
		}
		if _, err := store.AddVersion(ctx, operatordoc.Version{Document: "poem", Text: []byte("bad"), Author: "Eve"},
			1); err != nil {
			t.Fatal(err)
		}
		for name, n := range map[string]node{"running": n, "started later": newNode(t, store, nil)} {
			if err := n.Load(ctx); err != nil {
				t.Fatal(err)
			}
			n.want(t, "roses", operatordoc.FromDatabase, 1)
			if p := n.poem.State().Problem; p != "version 2: line 1: it is bad" {
				t.Errorf("%s: the problem is %q", name, p)
			}
			if c, err := n.Contents(ctx, "poem"); err != nil || string(c.Text) != "bad" || c.Newest != 2 || c.State.Number != 1 {
				t.Errorf("%s: contents are %+v, %v", name, c, err)
			}
		}
		if _, err := n.Store(ctx, "poem", []byte("violets"), ada(2)); err != nil {
			t.Fatal(err)
		}
		n.want(t, "violets", operatordoc.FromDatabase, 3)
		if p := n.poem.State().Problem; p != "" {
			t.Errorf("the problem stays: %q", p)
		}
	})
}

func TestTheEnvironmentRules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		ctx := t.Context()
		if _, err := newNode(t, store, nil).Store(ctx, "poem", []byte("roses"), ada(0)); err != nil {
			t.Fatal(err)
		}
		// The file is not even read: the variable rules.
		n := newNode(t, store, nil, func(d *operatordoc.Definition[string]) {
			d.Text, d.File = "from outside", filepath.Join(t.TempDir(), "none.md")
		})
		n.want(t, "from outside", operatordoc.FromEnvironment, 0)
		_, err := n.Store(ctx, "poem", []byte("violets"), ada(1))
		if says := "The document \"poem\" is set by the variable POEM of the server and cannot be changed here: unset it first"; !fault.Is(err, fault.Conflict) || fault.From(err).Message != says {
			t.Errorf("store: %v", err)
		}
		for name, err := range map[string]error{
			"remove":  func() error { _, err := n.Remove(ctx, "poem", ada(1)); return err }(),
			"restore": func() error { _, err := n.Restore(ctx, "poem", 1, ada(1)); return err }(),
		} {
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if list, err := n.History(ctx, "poem", 0, 10); err != nil || len(list) != 1 {
			t.Errorf("history: %v, %v", list, err)
		}
	})
}

// A node that does not need a document starts without it, says what is wrong, and
// lets nobody store what the file would rule.
func TestSparedDocumentsStopNobody(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "poem.md")
	if err := os.WriteFile(file, []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := operatordocsql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t), operatordocsql.Migrations()))
	for name, change := range map[string]func(*operatordoc.Definition[string]){
		"a bad text": func(d *operatordoc.Definition[string]) { d.Text = "bad" },
		"a bad file": func(d *operatordoc.Definition[string]) { d.File = file },
		"no file":    func(d *operatordoc.Definition[string]) { d.File = file + ".none" },
	} {
		if _, err := operatordoc.Put(operatordoc.NewShelf(store, operatordoc.Config{}), definition(change)); err == nil {
			t.Errorf("%s: a node that needs it started", name)
		}
		n := newNode(t, store, nil, change, func(d *operatordoc.Definition[string]) { d.Spared = true })
		s := n.poem.State()
		if n.poem.Value() != "built in" || !s.ReadOnly() || !strings.HasPrefix(s.Problem, "POEM") {
			t.Errorf("%s: %q %+v", name, n.poem.Value(), s)
		}
		if _, err := n.Store(t.Context(), "poem", []byte("x"), ada(0)); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: store: %v", name, err)
		}
	}
}

func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "poem.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("roses")
	store := operatordocsql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t), operatordocsql.Migrations()))
	n := newNode(t, silent{store}, nil, func(d *operatordoc.Definition[string]) { d.File = file })
	n.want(t, "roses", operatordoc.FromFile, 0)
	_, err := n.Store(t.Context(), "poem", []byte("x"), ada(0))
	if says := "The document \"poem\" comes from the file " + file + " (POEM_FILE) and cannot be changed here: change the file"; !fault.Is(err, fault.Conflict) || fault.From(err).Message != says {
		t.Errorf("store: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, silent{}, nil, func(d *operatordoc.Definition[string]) { d.File = file })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		after := func(what, value, problem string) {
			t.Helper()
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			n.want(t, value, operatordoc.FromFile, 0)
			if got := n.poem.State().Problem; !strings.Contains(got, problem) || problem == "" && got != "" {
				t.Errorf("%s: the problem is %q, want %q", what, got, problem)
			}
		}
		write("violets")
		after("another text", "violets", "")
		write("bad")
		after("a bad text", "violets", file+": line 1: it is bad")
		write(strings.Repeat("x", 65))
		after("a large text", "violets", "larger than 64 bytes")
		write("violets")
		after("the old text", "violets", "")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		after("no file", "violets", "POEM_FILE: open")
		write("lilies")
		after("a new file", "lilies", "")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// silent is a database in which nothing is stored.
type silent struct{ operatordoc.Store }

func (silent) VersionsSince(context.Context, int64, int) ([]operatordoc.Version, error) {
	return nil, nil
}

func TestBadBeginningsAreErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bad.md")
	if err := os.WriteFile(file, []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*operatordoc.Definition[string])
		says   string
	}{
		"a variable": {func(d *operatordoc.Definition[string]) { d.Text = "bad" }, "POEM: line 1: it is bad"},
		"a file":     {func(d *operatordoc.Definition[string]) { d.File = file }, "POEM_FILE: line 1: it is bad"},
		"no file":    {func(d *operatordoc.Definition[string]) { d.File = file + "x" }, "POEM_FILE: open " + file + "x: no such file or directory"},
	} {
		_, err := operatordoc.Put(operatordoc.NewShelf(silent{}, operatordoc.Config{}), definition(c.change))
		if err == nil || err.Error() != c.says {
			t.Errorf("%s: %v", name, err)
		}
	}
}
