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
	text, err := r.changelogOf("Castalia "+r.version, func(string) bool { return true })
	if err != nil {
		return err
	}
	return writeFile(r.file(changelogFile), text)
}

// changelogOf joins the fragments whose names are about something.
func (r *release) changelogOf(title string, about func(name string) bool) (string, error) {
	files, err := filepath.Glob(filepath.Join(r.source, "changelog", "unreleased", "*.md"))
	if err != nil {
		return "", err
	}
	fragments := make(map[string]string)
	for _, file := range files {
		if name := filepath.Base(file); about(name) {
			text, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			fragments[name] = string(text)
		}
	}
	return changelog(fmt.Sprintf("%s (%s)", title, r.when.Format("2006-01-02")), fragments)
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
	_, _ = fmt.Fprintf(&b, "# %s\n", title)
	for _, kind := range kinds {
		if len(lines[kind]) == 0 {
			continue
		}
		slices.Sort(lines[kind])
		_, _ = fmt.Fprintf(&b, "\n## %s\n\n%s", kind, strings.Join(lines[kind], ""))
	}
	return b.String(), nil
}
