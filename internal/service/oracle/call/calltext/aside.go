package calltext

import "strings"

// Aside reports whether a text is nothing to be answered while somebody else speaks:
// a cough, in which nothing was understood, or a word that says "go on".
func Aside(text string) bool {
	words := wordsOf(text)
	if len(words) > 2 {
		return false
	}
	for _, w := range words {
		if !asides[strings.ToLower(w)] {
			return false
		}
	}
	return true
}

// asides are what people say to show that they listen. "No", "wait" and "stop" are
// not among them.
var asides = setOf(
	"ah aha hm hmm huh mhm mm mmhm mmm oh ok okay right sure uh uhm uhhuh um yeah yep yes",
	"accord bien d'accord euh hein oui voilà",
	"aisee eeh haya naam ndio ndiyo sawa",
	"آه أجل أيوه تمام طيب نعم ها",
)
