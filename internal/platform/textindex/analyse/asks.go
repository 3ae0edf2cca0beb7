package analyse

import (
	"slices"
	"strings"
)

// Asked is the kind of answer that a question wants.
type Asked uint8

// What a question may want. Anything stands for all that is not clear.
const (
	Anything Asked = iota
	Time
	Number
	Someone
	Place
)

// Asks tells from its asking words what a question wants.
func Asks(question string) Asked {
	words := strings.FieldsFunc(Plain(question), func(r rune) bool { return !isWordPart(r) })
	has := func(list string) bool {
		for w := range strings.FieldsSeq(list) {
			if slices.Contains(words, w) {
				return true
			}
		}
		return false
	}
	joined := " " + strings.Join(words, " ") + " "
	phrase := func(list ...string) bool {
		for _, p := range list {
			if strings.Contains(joined, " "+p+" ") {
				return true
			}
		}
		return false
	}
	switch {
	case phrase("how much", "how many", "how long", "how often", "how far", "how old", "how big", "how deep", "que precio", "quel prix", "bei gani", "shilingi ngapi") ||
		has("combien cuanto cuanta cuantos cuantas quanto quanta quantos quantas ngapi كم कितना कितने कितनी price cost"):
		return Number
	case has("when quand cuando quando lini متي कब") || phrase("what time", "what day", "which day", "quelle heure", "quel jour", "a que hora", "que hora", "que horas", "saa ngapi", "siku gani", "que dia"):
		return Time
	case has("who whom whose qui quien quienes quem nani कौन किस किसे"):
		return Someone
	case has("where ou donde onde wapi اين कहां कहाँ"):
		return Place
	}
	return Anything
}
