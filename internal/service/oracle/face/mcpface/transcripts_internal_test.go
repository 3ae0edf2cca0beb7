package mcpface

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// A page of a transcript is told as far as a model reads, in whole characters.
func TestATranscriptIsCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u00e9", 400_000)
	var page oracle.Page
	for range 12 {
		page.Messages = append(page.Messages, oracle.Message{Role: oracle.Human, Content: long})
	}
	text := transcript("s", page)
	if len(text) > maxTranscript+100 || !utf8.ValidString(text) || !strings.Contains(text, "left out") {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-60:])
	}
	page.Messages = page.Messages[:2]
	if text := transcript("s", page); strings.Contains(text, "left out") || strings.Count(text, long) != 2 {
		t.Errorf("two messages are %d bytes", len(text))
	}
}
