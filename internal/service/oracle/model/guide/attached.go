package guide

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

var attachment = regexp.MustCompile(`(?m)^\[Attachment "([^"\n]+)", ([^\]\n]*)\](.*)$`)

// attached says what it sees of the files that came with the question: the
// lines that the question is about, or how each file begins.
func attached(_ plugin.ModelRequest, question string) (answer, bool) {
	marks := attachment.FindAllStringSubmatchIndex(question, -1)
	if len(marks) == 0 {
		return answer{}, false
	}
	asked := strings.TrimSpace(question[:marks[0][0]])
	var b strings.Builder
	for i, m := range marks {
		end := len(question)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		name, note := question[m[2]:m[3]], strings.TrimSpace(question[m[6]:m[7]])
		body := strings.TrimSpace(question[m[1]:end])
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if body == "" {
			fmt.Fprintf(&b, "I have `%s`, but cannot quote from it. %s", name, note)
			continue
		}
		lines := strings.Split(body, "\n")
		how, shown := "It begins", lines
		if found := linesAbout(lines, asked); len(found) > 0 {
			how, shown = "Your words are in", found
		}
		const most = 8
		fmt.Fprintf(&b, "I read `%s`: %s. %s:\n\n```\n%s\n```", name, count(len(lines), "line"), how, strings.Join(shown[:min(len(shown), most)], "\n"))
	}
	return answer{text: b.String()}, true
}

// linesAbout are the lines that hold words of the question.
func linesAbout(lines []string, question string) []string {
	wanted := map[string]bool{}
	for _, w := range terms(question) {
		wanted[w] = true
	}
	var out []string
	for _, line := range lines {
		for _, w := range terms(line) {
			if wanted[w] {
				out = append(out, line)
				break
			}
		}
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
