package analyse

import (
	"strings"
	"unicode/utf8"
)

// hindiEndings are those of number, case, gender and tense, longest first. They
// are taken away once, and only where at least two characters remain.
var hindiEndings = strings.Fields(`
	ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयाँ ाइयों ाइयां
	ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं ताएं ियाँ ियों ियां
	ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं
	कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ाँ ां ों ें
	ो े ू ु ी ि ा`)

func stemHindi(w string) string {
	for _, ending := range hindiEndings {
		if rest, ok := strings.CutSuffix(w, ending); ok && utf8.RuneCountInString(rest) >= 2 {
			return rest
		}
	}
	return w
}
