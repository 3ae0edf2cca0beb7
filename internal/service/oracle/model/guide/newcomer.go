package guide

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/guidebook"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/plugin"
)

// asQuoted is a passage as people read it, with the page that it is from.
func (p *Provider) asQuoted(h textindex.Passage) string {
	title := h.Title
	if h.Document == questionsPage {
		_, title, _ = strings.Cut(title, ": ")
	}
	return fmt.Sprintf("**%s**\n\n%s\n\n([%s](%s))", title, p.readable(h),
		strings.TrimSuffix(path.Base(h.Document), ".md"), p.address(h.Document, "#"+string(h.Meta)))
}

func (p *Provider) address(page, target string) string {
	return guidebook.Address(p.home, page, target)
}

var markLink = regexp.MustCompile(`(!?)\[([^\]\n]*)\]\(([^)\s]+)\)`)

// readable is a passage without pictures, which are not here, and with links that
// lead where they led on its page.
func (p *Provider) readable(h textindex.Passage) string {
	return strings.TrimSpace(markLink.ReplaceAllStringFunc(h.Text, func(mark string) string {
		m := markLink.FindStringSubmatch(mark)
		if m[1] == "!" {
			return ""
		}
		return "[" + m[2] + "](" + p.address(h.Document, m[3]) + ")"
	}))
}

var (
	openForm  = regexp.MustCompile(`(?i)^\W*(?:please )?(?:show|open|read|print|cat|display)\b.*?([\w./@-]*[\w-]+\.[a-z0-9]{1,5})\W*$`)
	saysAbout = regexp.MustCompile(`(?i)^\W*what (?:do|does|did) (?:the|my|our) .+? (?:say|tell|write) (?:me |us )?about (.+?)\W*$`)
)

// inFiles opens a file by its name, or looks for what files say about something.
func inFiles(req plugin.ModelRequest, question string) (answer, bool) {
	name, args := "", map[string]any{}
	switch opens, says := openForm.FindStringSubmatch(question), saysAbout.FindStringSubmatch(question); {
	case opens != nil && strings.HasPrefix(opens[1], "/"):
		name, args["path"] = "vfs_read", opens[1]
	case opens != nil:
		name, args["pattern"] = "vfs_glob", "**/"+opens[1]
	case says != nil:
		name, args["q"], args["ignoreCase"] = "vfs_grep", says[1], true
	default:
		return answer{}, false
	}
	t, ok := find(req.Tools, name)
	if !ok {
		return answer{}, false
	}
	data, err := json.Marshal(args)
	if err != nil {
		return answer{}, false
	}
	return call(t, data), true
}

// openFound reads the file that was just found by its name.
func openFound(req plugin.ModelRequest, question string, done []result) (answer, bool) {
	last := done[len(done)-1]
	opens := openForm.FindStringSubmatch(question)
	if opens == nil || last.call.Name != "vfs_glob" || last.failed {
		return answer{}, false
	}
	t, ok := find(req.Tools, "vfs_read")
	found := regexp.MustCompile(`/(?:[^\s"\\]*/)?` + regexp.QuoteMeta(opens[1])).FindString(last.text)
	if !ok || found == "" {
		return text("I found no file called `%s` that I may read.", opens[1]), true
	}
	data, err := json.Marshal(map[string]string{"path": found})
	if err != nil {
		return answer{}, false
	}
	return call(t, data), true
}

// noAccess is what people hear who have not allowed the oracle to use their files.
const noAccess = "I may not use your files yet. Allow it in the window that asks for it, or on the console's About page; you choose for how long, and can take it back."

// report is what a tool returned, in words for people.
func report(r result) string {
	switch {
	case r.call.Name == accessTool && (r.failed || !strings.HasPrefix(r.text, "You may use")):
		return noAccess
	case r.failed:
		return fmt.Sprintf("`%s` did not work: %s", r.call.Name, r.text)
	case r.call.Name == "vfs_list":
		return "Your files:\n\n" + pretty(r.text)
	case r.call.Name == "vfs_search", r.call.Name == "vfs_grep":
		return "Found in your files:\n\n" + pretty(r.text)
	}
	if said, ok := sentence(r.text); ok {
		return said
	}
	return fmt.Sprintf("`%s` answered:\n\n%s", r.call.Name, pretty(r.text))
}

var sentenceForm = regexp.MustCompile(`^\p{Lu}[^\n]{1,300}[.!?]$`)

// sentence is what a tool says for people: a text that is one sentence or a few,
// or such a message in an object.
func sentence(reply string) (string, bool) {
	said := strings.TrimSpace(reply)
	var plain string
	var object struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal([]byte(said), &plain) == nil:
		said = plain
	case json.Unmarshal([]byte(said), &object) == nil:
		said = object.Message
	}
	return said, sentenceForm.MatchString(said)
}
