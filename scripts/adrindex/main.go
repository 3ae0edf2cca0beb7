// Command adrindex writes the index of docs/adr from the headings of its pages:
//
//	go run ./scripts/adrindex docs/adr > docs/adr/README.md
package main

import (
	"bufio"
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
// colon; the third says what became of the decision.
var (
	heading = regexp.MustCompile(`^# (\d{4})\. (?:([A-Z][A-Za-z]+): )?(.+)$`)
	status  = regexp.MustCompile(`^Status: (accepted|superseded|rejected)\. Date: \d{4}-\d\d-\d\d\b`)
)

// general is the area of pages that name none.
const general = "General"

func readPage(path string) (page, error) {
	f, err := os.Open(path)
	if err != nil {
		return page{}, err
	}
	defer func() { _ = f.Close() }()
	var lines [3]string
	scanner := bufio.NewScanner(f)
	for i := range lines {
		if scanner.Scan() {
			lines[i] = scanner.Text()
		}
	}
	file := filepath.Base(path)
	m := heading.FindStringSubmatch(lines[0])
	switch {
	case m == nil || !strings.HasPrefix(file, m[1]+"-"):
		return page{}, fmt.Errorf("%s: the first line is not `# %.4s. Area: title`", file, file)
	case lines[1] != "" || !status.MatchString(lines[2]):
		return page{}, fmt.Errorf("%s: the third line is not `Status: accepted. Date: 2006-01-02.`", file)
	}
	p := page{file: file, number: m[1], area: m[2], title: m[3]}
	if p.area == "" {
		p.area = general
	}
	return p, nil
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
	b.WriteString("# Decisions\n\nWhat the next person might undo by accident, and why it is so. Written by `make generate` from the\nheadings: `# 0000. Area: title`, a blank line, `Status: accepted. Date: 2006-01-02.`\n")
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
