// Package guidebook knows how the documentation that is built in hangs together:
// its pages, the anchors of their headings, the passages that a search finds, and
// where a link of a page leads in a running program.
//
// It promises that a passage names the anchor under which its page shows it. It
// neither draws pages nor searches in them.
package guidebook

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// Home is the path below which the program serves the pages.
const Home = "/guides/"

// repository is where documents are read that the program does not serve.
const repository = "https://github.com/castalia-org/castalia/blob/main/"

var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)

// Address returns where a link leads that a page has: to what is served below home,
// and else to the project's own documents. page is the name of the page below docs.
func Address(home, page, target string) string {
	if scheme.MatchString(target) || strings.HasPrefix(target, "/") {
		return target
	}
	name, anchor, _ := strings.Cut(target, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	if name == "" {
		name = page
	} else {
		name = path.Join(path.Dir(page), name)
	}
	switch stem, isPage := strings.CutSuffix(name, ".md"); {
	case name == "README.md":
		return home + anchor
	case isPage && path.Dir(name) == "guides":
		return home + strings.TrimPrefix(stem, "guides/") + anchor
	case isPage && path.Dir(name) == "reference":
		return home + stem + anchor
	case path.Dir(name) == "images":
		return home + name
	}
	return repository + path.Join("docs", name) + anchor
}

// Page returns the name, below docs, of the page that is served at a path below
// Home; the inverse of Address.
func Page(served string) string {
	switch {
	case served == "":
		return "README.md"
	case strings.HasPrefix(served, "reference/"):
		return served + ".md"
	}
	return "guides/" + served + ".md"
}

// Anchors names the headings of one page, in their order, as forges do: a link that
// works there works here. The zero value begins a page.
type Anchors struct{ used map[string]int }

// Next returns the anchor of the next heading.
func (a *Anchors) Next(heading string) string {
	if a.used == nil {
		a.used = map[string]int{}
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(heading))
	before := a.used[name]
	a.used[name]++
	if before > 0 {
		name += "-" + strconv.Itoa(before)
	}
	return name
}

// Passages reads all Markdown files of a tree. The meta of a passage is the anchor
// of its heading, and its headings are other ways to ask for it.
func Passages(docs fs.FS) ([]textindex.Passage, error) {
	var all []textindex.Passage
	if docs == nil {
		return nil, nil
	}
	err := fs.WalkDir(docs, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		data, err := fs.ReadFile(docs, name)
		if err != nil {
			return fmt.Errorf("read page: %w", err)
		}
		all = append(all, split(name, string(data))...)
		return nil
	})
	return all, err
}

// most is how many bytes a passage should not exceed.
const most = 900

// alsoCalled is a remark of a page's source that readers do not see: other ways to
// ask for its section, with ";" between them.
var alsoCalled = regexp.MustCompile(`(?s)<!-- also: (.*?) -->\n*`)

// split cuts a Markdown file at its headings, and long sections at blank lines.
func split(name, text string) []textindex.Passage {
	var (
		out      []textindex.Passage
		headings []string
		body     []string
		anchors  Anchors
		anchor   string
		inCode   bool
	)
	flush := func() {
		whole, also := strings.Join(body, "\n"), ""
		if m := alsoCalled.FindStringSubmatch(whole); m != nil {
			whole, also = strings.Replace(whole, m[0], "", 1), m[1]
		}
		whole = strings.Trim(whole, "\n") // the indent of code stays
		body = nil
		if strings.TrimSpace(whole) == "" {
			return
		}
		title := strings.Join(headings, ": ")
		piece := ""
		emit := func() {
			if piece = strings.Trim(piece, "\n"); strings.TrimSpace(piece) != "" {
				out = append(out, textindex.Passage{
					//nolint:gosec // few
					Document: name, Number: uint32(len(out)), Language: analyse.English, Title: title, Headings: also, Text: piece,
					Meta: []byte(anchor),
				})
			}
			piece = ""
		}
		for paragraph := range strings.SplitSeq(whole, "\n\n") {
			if len(piece)+len(paragraph) > most {
				emit()
			}
			piece += paragraph + "\n\n"
		}
		emit()
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if inCode || level == 0 || level > 6 || !strings.HasPrefix(line[level:], " ") {
			body = append(body, line)
			continue
		}
		flush()
		heading := strings.TrimSpace(line[level:])
		headings, anchor = append(headings[:min(level-1, len(headings))], heading), anchors.Next(heading)
	}
	flush()
	return out
}
