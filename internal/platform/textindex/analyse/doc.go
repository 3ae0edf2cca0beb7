// Package analyse turns text in people's languages into the terms that an index
// holds.
//
// A term is a word in its plainest form: small letters, without accents, cut to
// its stem. English, French, Spanish, Portuguese and Arabic have Snowball's
// stemmers, Swahili and Hindi light ones of our own, and all other languages
// keep their words as they are. Scripts without spaces (Chinese, Japanese, Thai
// and others) give overlapping pairs of characters instead of words.
//
// The package promises that the same text gives the same terms on every machine
// and that its work grows with the length of the text alone. It does not
// correct, translate or understand: typing mistakes are met at the time of the
// query, by the character trigrams that Grams gives. It reads text that
// strangers wrote, which may be no UTF-8 at all.
package analyse

// Language names what a text is written in, by the code that web pages use.
type Language string

// The languages with a stemmer, and Undetermined for all others.
const (
	English      Language = "en"
	French       Language = "fr"
	Spanish      Language = "es"
	Portuguese   Language = "pt"
	Swahili      Language = "sw"
	Arabic       Language = "ar"
	Hindi        Language = "hi"
	Undetermined Language = "und"
)

// Languages lists those with a stemmer, in the order in which ties are decided.
func Languages() []Language {
	return []Language{English, French, Spanish, Portuguese, Swahili, Arabic, Hindi}
}

// Known returns the language itself if it has a stemmer, and Undetermined.
func (l Language) Known() Language {
	switch l {
	case English, French, Spanish, Portuguese, Swahili, Arabic, Hindi:
		return l
	}
	return Undetermined
}
