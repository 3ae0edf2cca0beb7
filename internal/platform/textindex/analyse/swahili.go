package analyse

import "strings"

// Swahili changes words at their beginning: nouns by class (mtoto, watoto;
// kituo, vituo) and verbs by person and tense (ninalipa, tulilipa, atalipa).
// The stemmer takes away a verb's beginning or else a noun's, the endings of
// place, passive and cause, and the last vowel. What it leaves is no word, but
// it is the same for the forms of one.
var (
	swahiliPersons = strings.Fields(`hatu hawa hamu haku haya hazi hai haki havi hali ni tu wa mw ki vi li ya zi ku pa u a m i si ha`)
	swahiliTenses  = strings.Fields(`nge ngali na li ta me ja ka po ki`)
	swahiliObjects = strings.Fields(`ni ku mw wa tu ki vi zi li ya ji m u i`)
	swahiliClasses = strings.Fields(`wana mwana ki vi wa mi ma mw ku ny ji m u`)
)

const swahiliRest = 3 // the least letters of a stem

func stemSwahili(w string) string {
	if rest, ok := strings.CutSuffix(w, "ni"); ok && len(rest) >= 4 { // in, at, on
		w = rest
	}
	if rest, ok := cutSwahiliVerb(w); ok {
		w = rest
	} else {
		for _, class := range swahiliClasses {
			if rest, ok := strings.CutPrefix(w, class); ok && len(rest) >= swahiliRest && hasSwahiliVowel(rest) {
				w = rest
				break
			}
		}
	}
	return stemSwahiliEnding(w)
}

func stemSwahiliEnding(w string) string {
	for _, ending := range []string{"ishwa", "eshwa", "isha", "esha", "liwa", "lewa", "wa", "ia", "ea"} {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) >= swahiliRest {
			return rest
		}
	}
	if n := len(w) - 1; n >= swahiliRest && strings.IndexByte("aeiou", w[n]) >= 0 {
		return w[:n]
	}
	return w
}

// cutSwahiliVerb takes person and tense away together: neither alone is sure.
func cutSwahiliVerb(w string) (string, bool) {
	if len(w) < 6 || strings.IndexByte("aeiu", w[len(w)-1]) < 0 {
		return w, false
	}
	for _, person := range swahiliPersons {
		rest, ok := strings.CutPrefix(w, person)
		if !ok {
			continue
		}
		for _, tense := range swahiliTenses {
			if verb, ok := strings.CutPrefix(rest, tense); ok && len(verb) >= 4 && strings.IndexByte("aeiou", verb[0]) < 0 {
				return verb, true
			}
		}
	}
	if rest, ok := strings.CutPrefix(w, "hu"); ok && len(rest) >= 4 { // what is usual
		return rest, true
	}
	return w, false
}

// swahiliRoots are other stems that a word of a question may have: who does it, when,
// to which and to whom are all said in a verb's beginning (nitakachokupa), and what is
// taken away for the index is not always enough. Only the lexicon is asked for them:
// as words of documents they are too short and too many.
func swahiliRoots(w string) []string {
	w = strings.TrimSuffix(w, "je") // how
	if len(w) < 6 {
		return nil
	}
	var roots []string
	add := func(verb string) {
		if len(verb) >= 4 && hasSwahiliVowel(verb) {
			roots = append(roots, stemSwahiliEnding(verb))
		}
	}
	addBare := func(verb string) {
		for _, object := range swahiliObjects {
			if bare, ok := strings.CutPrefix(verb, object); ok {
				add(bare)
			}
		}
	}
	for _, person := range swahiliPersons {
		rest, ok := strings.CutPrefix(w, person)
		if !ok {
			continue
		}
		if strings.HasSuffix(rest, "e") { // as it should be: nifanye, nimwone
			add(rest)
			addBare(rest)
		}
		for _, tense := range swahiliTenses {
			if verb, ok := strings.CutPrefix(rest, tense); ok {
				add(verb)
				addBare(verb)
			}
		}
	}
	if verb, ok := strings.CutPrefix(w, "ku"); ok {
		addBare(verb)
	}
	return roots[:min(len(roots), maxSwahiliRoots)]
}

// maxSwahiliRoots bounds what the lexicon is asked for one word.
const maxSwahiliRoots = 6

func hasSwahiliVowel(w string) bool { return strings.ContainsAny(w, "aeiou") }
