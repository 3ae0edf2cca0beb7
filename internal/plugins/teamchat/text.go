package teamchat

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// mention is a user, a group or a channel inside a message.
var mention = regexp.MustCompile(`^\s*<@[A-Z0-9]+(\|[^<>]*)?>:?`)

// link is an address inside a message, with its text.
var link = regexp.MustCompile(`<((?:https?|mailto):[^<>|]+)(?:\|([^<>]*))?>`)

// plain is what somebody wrote, without the chat's markup and without the
// mention of the oracle in front.
func plain(text string) string {
	text = mention.ReplaceAllString(clip(text, maxText), "")
	text = link.ReplaceAllString(text, "$1")
	return strings.TrimSpace(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text))
}

var (
	heading = regexp.MustCompile(`(?m)^#{1,6}\s+(.+?)\s*#*$`)
	strong  = regexp.MustCompile(`\*\*([^*\n]+)\*\*`)
	bullet  = regexp.MustCompile(`(?m)^(\s*)[*-]\s+`)
	named   = regexp.MustCompile(`!?\[([^\]\n]*)\]\((https?://[^)\s|&]+)\)`)
)

// markup is an answer as the chat shows it. Everything that could be a command
// to the chat (a mention of everybody, a link with another text) is escaped
// first; only then are headings, bold text, bullets and links written its way.
func markup(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	parts := strings.Split(text, "```") // code stays as it is
	for i := 0; i < len(parts); i += 2 {
		t := bullet.ReplaceAllString(parts[i], "$1• ")
		t = heading.ReplaceAllString(t, "**$1**")
		t = strong.ReplaceAllString(t, "*$1*")
		parts[i] = named.ReplaceAllString(t, "<$2|$1>")
	}
	return strings.Join(parts, "```")
}

// The chat shows long messages badly and cuts very long ones.
const (
	pieceBytes = 3500
	maxPieces  = 10
)

// pieces cuts an answer at paragraphs, lines or words.
func pieces(text string) []string {
	var out []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if len(text) <= pieceBytes {
			return append(out, text)
		}
		if len(out) == maxPieces-1 {
			return append(out, clip(text, pieceBytes-4)+" …")
		}
		head := clip(text, pieceBytes)
		cut := len(head)
		for _, at := range []string{"\n\n", "\n", " "} {
			if i := strings.LastIndex(head, at); i > pieceBytes/2 {
				cut = i
				break
			}
		}
		out = append(out, strings.TrimSpace(head[:cut]))
		text = text[cut:]
	}
	return out
}

// clip shortens a text to n bytes, and to whole characters.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
