package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const changelogFile = "CHANGELOG.md"

// writeChangelog joins the fragments of what was not released yet.
func (r *release) writeChangelog() error {
	files, err := filepath.Glob(filepath.Join(r.source, "changelog", "unreleased", "*.md"))
	if err != nil {
		return err
	}
	fragments := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fragments[filepath.Base(file)] = string(text)
	}
	text, err := changelog(fmt.Sprintf("%s (%s)", r.version, r.when.Format("2006-01-02")), fragments)
	if err != nil {
		return err
	}
	return writeFile(r.file(changelogFile), text)
}

// changelog sorts fragments by their kind, what people must act on first.
func changelog(title string, fragments map[string]string) (string, error) {
	kinds := []string{"Security", "Removed", "Changed", "Added", "Fixed"}
	lines := make(map[string][]string)
	for name, text := range fragments {
		kind, rest, ok := strings.Cut(strings.TrimSpace(text), ": ")
		if !ok || !slices.Contains(kinds, kind) {
			return "", fmt.Errorf("fragment %s begins with none of %s", name, strings.Join(kinds, ", "))
		}
		// What follows the first line stays below its point.
		rest = strings.ReplaceAll(rest, "\n", "\n  ")
		lines[kind] = append(lines[kind], "- "+strings.ReplaceAll(rest, "\n  \n", "\n\n")+"\n")
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "# Castalia %s\n", title)
	for _, kind := range kinds {
		if len(lines[kind]) == 0 {
			continue
		}
		slices.Sort(lines[kind])
		_, _ = fmt.Fprintf(&b, "\n## %s\n\n%s", kind, strings.Join(lines[kind], ""))
	}
	return b.String(), nil
}
