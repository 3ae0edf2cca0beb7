package analyse

import (
	"strings"
	"unicode"
)

// detectWords is how much of a text is read to tell its language.
const detectWords = 60

// Detect tells the language of a text by its script and by the commonest words
// in it. It says Undetermined when the text is in another language or when there
// is too little of it.
func Detect(text string) Language {
	best, sure := guess(text)
	if !sure {
		return Undetermined
	}
	return best
}

// guess returns the likeliest language and whether the text says enough.
func guess(text string) (Language, bool) {
	var hits [len(latin)]int
	words, arabic, hindi, other := 0, 0, 0, 0
	persian := false
	for at := 0; words < detectWords; {
		w, ok := nextWord(text, at)
		if !ok {
			break
		}
		at = w.end
		words++
		piece := text[w.start:w.end]
		first, _ := decode(piece, 0)
		switch {
		case first >= 'A' && first < 0x250:
			if len(piece) <= maxSign {
				for i, weight := range signs[lower(piece)] {
					hits[i] += int(weight)
				}
			}
		case unicode.Is(unicode.Arabic, first):
			arabic++
			for _, r := range piece {
				persian = persian || r == 'پ' || r == 'چ' || r == 'ژ' || r == 'گ' || r == 'ٹ' || r == 'ڈ' || r == 'ے'
			}
		case unicode.Is(unicode.Devanagari, first):
			hindi++
		case unicode.IsLetter(first):
			other++
		}
	}
	switch {
	case 2*arabic > words:
		return Arabic, !persian
	case 2*hindi > words:
		return Hindi, true
	case 2*other > words || words == 0:
		return Undetermined, true
	}
	best, second := 0, 0 // the place of the best, and the next best number
	for i, n := range hits[1:] {
		if n > hits[best] {
			best, second = i+1, hits[best]
		} else {
			second = max(second, n)
		}
	}
	// A twelfth of all words is far less than a text in the language has, and
	// more than names and loans give.
	enough := hits[best] >= 4 || words <= 5 && hits[best] >= 2
	sure := enough && 6*hits[best] >= words && hits[best] > second
	return latin[best], sure
}

// latin are the languages that only their words tell apart.
var latin = [...]Language{English, French, Spanish, Portuguese, Swahili}

// maxSign is the length of the longest word that is looked up, in bytes.
const maxSign = 14

// signs has, for the commonest words, how much each speaks for each language:
// stop words, and more for those that no other language has.
//
//nolint:misspell // words of other languages
var signs = gatherSigns(map[Language]string{
	English:    `the and of which what when where who how does is are with from this that`,
	French:     `les des du une est et dans pour avec qui quel quelle quand où combien sont nous vous être à`,
	Spanish:    `el los las del y qué cuándo cuánto dónde quién cómo cuál con una por es son muy`,
	Portuguese: `os do da dos das em não uma são com à ao pelo pela quando quem você é e o`,
	Swahili:    `ya wa za cha vya kwa ni katika gani nini nani lini wapi ngapi hii kwamba baada`,
})

func gatherSigns(sure map[Language]string) map[string][len(latin)]uint8 {
	out := make(map[string][len(latin)]uint8)
	for i, language := range latin {
		for w := range stopWords[language] {
			weights := out[w]
			weights[i] = 2
			out[w] = weights
		}
		for w := range strings.FieldsSeq(sure[language]) {
			weights := out[w]
			weights[i] = 3
			out[w] = weights
		}
	}
	return out
}

// Readings returns the languages in which a query may be meant, likeliest first.
// Few words rarely say enough, and a stem too many costs little; so what is not
// sure is read in every language that has the script.
func Readings(text string, expected Language) []Language {
	best, sure := guess(text)
	var out []Language
	add := func(languages ...Language) {
		for _, l := range languages {
			seen := l == Undetermined
			for _, have := range out {
				seen = seen || have == l
			}
			if !seen {
				out = append(out, l)
			}
		}
	}
	add(expected.Known())
	if sure {
		add(best)
		return out
	}
	switch best {
	case Arabic, Hindi:
		add(best)
	case English, French, Spanish, Portuguese, Swahili:
		add(best, English, French, Spanish, Portuguese, Swahili)
	case Undetermined:
	}
	return out
}
