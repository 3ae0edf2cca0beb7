// Command vulndb makes the database that govulncheck reads from a checkout of
// github.com/golang/vulndb, for machines that cannot reach vuln.go.dev:
//
//	go run ./scripts/vulndb ../vulndb bin/vulndb
//	make vuln VULNDB_CHECKOUT=../vulndb
//
// The layout is that of https://go.dev/doc/security/vuln/database: an entry of each
// vulnerability, and three indexes over them.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

// entry is what the indexes need of a vulnerability; the rest is kept as it is.
type entry struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
	Affected []struct {
		Module struct {
			Path string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

type indexed struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Fixed    string    `json:"fixed,omitempty"`
	Aliases  []string  `json:"aliases,omitempty"`
}

type module struct {
	Path  string    `json:"path"`
	Vulns []indexed `json:"vulns"`
}

func run(args []string, log io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: vulndb CHECKOUT FOLDER")
	}
	files, err := filepath.Glob(filepath.Join(args[0], "data", "osv", "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s has no data/osv/*.json: is it a checkout of github.com/golang/vulndb? %w", args[0], err)
	}
	for _, folder := range []string{"ID", "index"} {
		if err := os.MkdirAll(filepath.Join(args[1], folder), 0o755); err != nil { //nolint:gosec // public
			return err
		}
	}
	var newest time.Time
	var vulns []indexed
	modules := make(map[string][]indexed)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		e, text, err := read(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := write(text, args[1], "ID", e.ID+".json"); err != nil {
			return err
		}
		vulns = append(vulns, indexed{ID: e.ID, Modified: e.Modified, Aliases: e.Aliases})
		for path, fixed := range e.modules() {
			modules[path] = append(modules[path], indexed{ID: e.ID, Modified: e.Modified, Fixed: fixed})
		}
		if e.Modified.After(newest) {
			newest = e.Modified
		}
	}
	var all []module
	for path, vulns := range modules {
		all = append(all, module{Path: path, Vulns: vulns})
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	for name, index := range map[string]any{"db.json": map[string]time.Time{"modified": newest}, "vulns.json": vulns, "modules.json": all} {
		text, err := json.Marshal(index)
		if err == nil {
			err = write(text, args[1], "index", name)
		}
		if err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(log, "%d vulnerabilities of %d modules\n", len(vulns), len(all))
	return err
}

// read returns an entry and its text. govulncheck ends badly on one without an
// address, so each is given one.
func read(text []byte) (entry, []byte, error) {
	var e entry
	var whole map[string]any
	if err := errors.Join(json.Unmarshal(text, &e), json.Unmarshal(text, &whole)); err != nil {
		return e, nil, err
	}
	if !strings.HasPrefix(e.ID, "GO-") || e.ID != filepath.Base(e.ID) {
		return e, nil, fmt.Errorf("%q is no name of a vulnerability", e.ID)
	}
	if _, ok := whole["database_specific"]; !ok {
		whole["database_specific"] = map[string]string{"url": "https://pkg.go.dev/vuln/" + e.ID}
	}
	text, err := json.Marshal(whole)
	return e, text, err
}

// modules says where a vulnerability is, and the last version that ends it; empty
// when one range has no end.
func (e entry) modules() map[string]string {
	fixed := make(map[string]string)
	for _, a := range e.Affected {
		version := ""
		for _, r := range a.Ranges {
			for _, event := range r.Events {
				version = cmp.Or(event.Fixed, version)
			}
		}
		fixed[a.Module.Path] = version
	}
	return fixed
}

func write(text []byte, elements ...string) error {
	return os.WriteFile(filepath.Join(elements...), text, 0o644) //nolint:gosec // public
}
