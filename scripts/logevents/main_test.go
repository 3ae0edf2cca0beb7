package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEventsOfASource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source, page, problem string
	}{
		"a line":         {source: `log.Warn("it is away", slog.String("event", "bus.away"), slog.Any("error", err))`, page: "| `bus.away` | warn | it is away |"},
		"with a context": {source: `log.ErrorContext(ctx, "it broke", slog.String("event", "bus.broken"))`, page: "| `bus.broken` | error | it broke |"},
		"with a level":   {source: `log.LogAttrs(ctx, slog.LevelInfo, "it is back", slog.String("event", "bus.back"))`, page: "| `bus.back` | info | it is back |"},
		"decided later":  {source: `log.Log(ctx, level, "it ended", slog.String("event", "run.ended"))`, page: "| `run.ended` | any | it ended |"},
		"debug":          {source: `log.Debug("detail"); log.LogAttrs(ctx, slog.LevelDebug, "detail")`, page: "| event |"},
		"no log":         {source: `t.Error(err); fmt.Println("a")`, page: "| event |"},
		"nothing":        {source: `log.Warn("it is away")`, problem: `main.go:2:12: "it is away" has no event`},
		"another first":  {source: `log.Warn("it is away", slog.Any("error", err))`, problem: "has no event"},
		"a bad spelling": {source: `log.Warn("it is away", slog.String("event", "Bus-Away"))`, problem: "has no event"},
		"shared":         {source: `log.Warn("a", slog.String("event", "a.b")); log.Warn("b", slog.String("event", "a.b"))`, problem: "the event a.b is also that of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, folder := range []string{"internal", "cmd", "plugin"} {
				if err := os.Mkdir(filepath.Join(root, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			source := "package p\nfunc f() { " + c.source + " }\n"
			if err := os.WriteFile(filepath.Join(root, "cmd", "main.go"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			var page strings.Builder
			err := write(&page, root)
			switch {
			case c.problem == "" && err != nil:
				t.Fatal(err)
			case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
				t.Fatalf("got %v, want %q", err, c.problem)
			case !strings.Contains(page.String(), c.page):
				t.Fatalf("no %q in\n%s", c.page, page.String())
			}
		})
	}
}
