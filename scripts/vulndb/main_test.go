package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDatabaseHasEntriesAndIndexes(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "db")
	folder := filepath.Join(from, "data", "osv")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"GO-2026-0001.json": `{"id":"GO-2026-0001","modified":"2026-01-02T00:00:00Z","aliases":["CVE-1"],"summary":"kept","affected":[{"package":{"name":"example.org/a"},"ranges":[{"events":[{"introduced":"0"},{"fixed":"1.2.3"}]}]}]}`,
		"GO-2026-0002.json": `{"id":"GO-2026-0002","modified":"2026-02-02T00:00:00Z","database_specific":{"url":"u"},"affected":[{"package":{"name":"example.org/a"},"ranges":[{"events":[{"introduced":"0"}]}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run([]string{from, to}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for file, parts := range map[string][]string{
		"ID/GO-2026-0001.json": {`"summary":"kept"`, `"url":"https://pkg.go.dev/vuln/GO-2026-0001"`},
		"ID/GO-2026-0002.json": {`"url":"u"`},
		"index/db.json":        {`{"modified":"2026-02-02T00:00:00Z"}`},
		"index/vulns.json":     {`{"id":"GO-2026-0001","modified":"2026-01-02T00:00:00Z","aliases":["CVE-1"]}`},
		"index/modules.json":   {`[{"path":"example.org/a","vulns":[{"id":"GO-2026-0001","modified":"2026-01-02T00:00:00Z","fixed":"1.2.3"},{"id":"GO-2026-0002","modified":"2026-02-02T00:00:00Z"}]}]`},
	} {
		text, err := os.ReadFile(filepath.Join(to, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %s: %s", file, part, text)
			}
		}
	}
}

func TestWhatIsNoCheckoutIsRefused(t *testing.T) {
	t.Parallel()
	if err := run([]string{t.TempDir(), t.TempDir()}, io.Discard); err == nil {
		t.Error("an empty folder passes")
	}
	for _, text := range []string{`{"id":"../x"}`, `{"id":"GO-1/../../x"}`, `{`, `{}`} {
		if _, _, err := read([]byte(text)); err == nil {
			t.Errorf("%s passes", text)
		}
	}
}
