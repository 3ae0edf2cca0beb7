// Command adrindex writes the index of docs/adr from the headings of its pages:
//
//	go run ./scripts/adrindex docs/adr > docs/adr/README.md
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	folder := "docs/adr"
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := write(os.Stdout, folder); err != nil {
		fmt.Fprintln(os.Stderr, "adrindex:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

// page is one decision, as its first lines tell.
type page struct{ file, number, area, title string }

// The first line names the number and the subject, with its area before a
// colon; the third says what became of the decision. What follows has the
// sections of form, in their order; the last two may be missing.
var (
	heading = regexp.MustCompile(`^# (\d{4})\. ([A-Z][A-Za-z]+): (.+)$`)
	status  = regexp.MustCompile(`^Status: accepted\. Date: \d{4}-\d\d-\d\d\.`)
	section = regexp.MustCompile(`(?m)^## .+\n`)
	form    = regexp.MustCompile(`^## Context\n## Decision\n(## Consequences\n)?(## Alternatives\n)?$`)
)

func readPage(path string) (page, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return page{}, err
	}
	file, lines := filepath.Base(path), append(strings.Split(string(text), "\n"), "", "", "")
	m := heading.FindStringSubmatch(lines[0])
	switch {
	case m == nil || !strings.HasPrefix(file, m[1]+"-"):
		return page{}, fmt.Errorf("%s: the first line is not `# %.4s. Area: title`", file, file)
	case lines[1] != "" || !status.MatchString(lines[2]):
		return page{}, fmt.Errorf("%s: the third line is not `Status: accepted. Date: 2006-01-02.`", file)
	case !form.MatchString(strings.Join(section.FindAllString(string(text), -1), "")):
		return page{}, fmt.Errorf("%s: its sections are not Context, Decision, Consequences, Alternatives", file)
	}
	return page{file: file, number: m[1], area: m[2], title: m[3]}, nil
}

func write(w io.Writer, folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "[0-9]*.md"))
	if err != nil {
		return err
	}
	areas := map[string][]page{}
	for _, path := range paths { // in the order of their numbers
		p, err := readPage(path)
		if err != nil {
			return err
		}
		areas[p.area] = append(areas[p.area], p)
	}
	var b strings.Builder
	b.WriteString("# Decisions\n\nWhat the next person might undo by accident, and why it is so. A mend, a measurement or a detail belongs in\nthe package's own words; a change of a decision, into its page. Written by `make generate` from the headings:\n`# 0000. Area: title`, a blank line, `Status: accepted. Date: 2006-01-02.`, then the sections Context, Decision and,\nwhere there is something to say, Consequences and Alternatives.\n")
	names := make([]string, 0, len(areas))
	for name := range areas {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "\n## %s\n\n| number | decision |\n|---|---|\n", name)
		for _, p := range areas[name] {
			fmt.Fprintf(&b, "| [%s](%s) | %s |\n", p.number, p.file, p.title)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
