package openai

import "strings"

// The tags that models put around thoughts, where their server does not read them.
var (
	opening = []string{"<think>", "<thinking>", "<thought>"}
	closing = []string{"</think>", "</thinking>", "</thought>"}
)

// thinking takes thoughts out of content. They are at the beginning of an answer,
// after white space; tags may come in pieces; and where the prompt ends with the
// opening tag, the answer has the closing one only.
type thinking struct {
	at   place
	held string
	// alone says that the present thought began with the answer, without a tag.
	alone bool
	// last is what was said last, before what is held.
	last byte
}

type place int

const (
	beginning place = iota
	within          // thoughts
	beyond          // the answer; a closing tag may still show that it was none
	behind          // white space behind thoughts
	settled         // the answer
)

// prefilled begins within thoughts.
func prefilled() thinking { return thinking{at: within, alone: true} }

// take reads a piece of content. retract says that all text until now was a thought.
func (t *thinking) take(piece string) (text, thought string, retract bool) {
	t.held += piece
	for {
		switch t.at {
		case beginning:
			rest := strings.TrimLeft(t.held, " \t\r\n")
			if tag := leading(rest, opening); tag != "" {
				t.held, t.at = rest[len(tag):], within
				continue
			}
			if begins(rest, opening) { // also when there is nothing yet
				return text, thought, retract
			}
			t.at = beyond
		case within:
			at, tag := first(t.held, closing)
			if at < 0 {
				keep := partial(t.held, closing)
				thought += t.held[:len(t.held)-keep]
				t.held = t.held[len(t.held)-keep:]
				return text, thought, retract
			}
			thought += t.held[:at]
			t.held, t.at, t.alone = t.held[at+len(tag):], behind, false
		case beyond:
			at, tag := first(t.held, closing[:1])
			if at < 0 {
				keep := partial(t.held, closing[:1])
				t.say(t.held[:len(t.held)-keep], &text)
				t.held = t.held[len(t.held)-keep:]
				return text, thought, retract
			}
			before := t.last
			if at > 0 {
				before = t.held[at-1]
			}
			if strings.IndexByte("`\"'", before) >= 0 && before != 0 { // it speaks of the tag
				t.say(t.held[:at+len(tag)], &text)
				t.held = t.held[at+len(tag):]
				continue
			}
			thought += text + t.held[:at]
			text, retract = "", true
			t.held, t.at = t.held[at+len(tag):], behind
		case behind:
			if t.held = strings.TrimLeft(t.held, "\r\n"); t.held == "" {
				return text, thought, retract
			}
			t.at = settled
		case settled:
			text += t.held
			t.held = ""
			return text, thought, retract
		}
	}
}

func (t *thinking) say(s string, text *string) {
	if s != "" {
		*text += s
		t.last = s[len(s)-1]
	}
}

// end is what was held back when the answer is over.
func (t *thinking) end() (text, thought string) {
	held := t.held
	t.held = ""
	if t.at == within {
		return "", held
	}
	return held, ""
}

// leading is the tag that a text begins with.
func leading(s string, tags []string) string {
	for _, tag := range tags {
		if strings.HasPrefix(s, tag) {
			return tag
		}
	}
	return ""
}

// begins reports whether a text could become a tag.
func begins(s string, tags []string) bool {
	for _, tag := range tags {
		if strings.HasPrefix(tag, s) {
			return true
		}
	}
	return false
}

// first is the first tag in a text.
func first(s string, tags []string) (at int, tag string) {
	at = -1
	for _, t := range tags {
		if i := strings.Index(s, t); i >= 0 && (at < 0 || i < at) {
			at, tag = i, t
		}
	}
	return at, tag
}

// partial is how much of a text's end could be the beginning of a tag.
func partial(s string, tags []string) int {
	for i := max(0, len(s)-len("</thinking>")+1); i < len(s); i++ {
		if s[i] == '<' && begins(s[i:], tags) {
			return len(s) - i
		}
	}
	return 0
}
