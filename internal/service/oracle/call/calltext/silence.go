package calltext

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// How long the silence after a sentence must last to be its end: after a whole one,
// and after one that breaks off.
const (
	Whole     = 250 * time.Millisecond
	BrokenOff = time.Second
)

// SilenceAfter tells how long to wait after a text for more of it: little after a
// whole sentence, long after one that breaks off; zero when its end tells neither.
func SilenceAfter(text string) time.Duration {
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"')]”’»`, r) })
	last, _ := utf8.DecodeLastRuneInString(text)
	words := wordsOf(text)
	switch {
	case len(words) == 0:
		return 0
	case strings.HasSuffix(text, "..."), strings.ContainsRune("…,;:-–—،؛、，", last), joins[strings.ToLower(words[len(words)-1])]:
		return BrokenOff
	case strings.ContainsRune(".!?。！？؟।።", last):
		return Whole
	}
	return 0
}

// joins are words after which something follows, whatever mark a service puts
// behind them. A word that is missing here costs a caller an answer to half of a
// sentence, one too many costs them less than a second.
var joins = setOf(
	"a an and as at because but by for from if in into my of on or our so than that the their then to when which while with your",
	"au aux avec car ce cette comme dans de des donc du en entre et la le les leur ma mais mes mon notre nos ou par parce pour quand que qui sans si ses son sur un une vers votre",
	"au bila cha hadi ili ingawa kama kutoka kwa kwamba kwenye la lakini na pia ya yangu yetu wa wakati za",
	"أن أو إذا إلى الذي التي ثم حتى عن على في قبل كما لأن لكن مع من و",
)

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' })
}

func setOf(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
	}
	return set
}
