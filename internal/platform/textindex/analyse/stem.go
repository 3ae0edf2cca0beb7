package analyse

import (
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/spanish"
)

// MaxTerm is the length of the longest term in bytes; longer words are cut.
const MaxTerm = 48

// stem cuts a word in small letters to its stem and takes its accents away.
func stem(language Language, w string) string {
	if len(w) > 2*MaxTerm {
		w = cut(w, 2*MaxTerm)
	}
	if !hasDigit(w) {
		w = stemLetters(language, w)
	}
	return cut(fold(w), MaxTerm)
}

func stemLetters(language Language, w string) string {
	switch language {
	case English:
		if base, ok := englishForms[w]; ok {
			w = base
		}
		return snowball(w, english.Stem)
	case French:
		if base, ok := frenchForms[w]; ok {
			w = base
		}
		return snowball(w, french.Stem)
	case Spanish:
		if base, ok := spanishForms[w]; ok {
			w = base
		}
		return snowball(w, spanish.Stem)
	case Portuguese:
		if base, ok := portugueseForms[w]; ok {
			w = base
		}
		return snowball(w, portuguese.Stem)
	case Arabic:
		return snowball(w, arabic.Stem)
	case Swahili:
		return stemSwahili(w)
	case Hindi:
		return stemHindi(w)
	case Undetermined:
	}
	return w
}

func snowball(w string, run func(*snowballstem.Env) bool) string {
	env := snowballstem.NewEnv(w)
	run(env)
	if env.Current() == "" {
		return w
	}
	return env.Current()
}

func hasDigit(w string) bool {
	for i := range len(w) {
		if w[i] >= '0' && w[i] <= '9' {
			return true
		}
	}
	return false
}

// cut shortens a word at a letter's end.
func cut(w string, most int) string {
	if len(w) <= most {
		return w
	}
	for most > 0 && !utf8.RuneStart(w[most]) {
		most--
	}
	return w[:most]
}
