package ussdsms_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
)

// What is written in Latin letters stays within the alphabet of networks and takes one
// part, in any language that there is; other scripts take two at most.
func TestMessagesFitInEveryLanguage(t *testing.T) {
	t.Parallel()
	w := ussdsms.Words{Name: "Castalia Clinic"}
	for _, l := range words.Shipped().Languages() {
		for name, text := range map[string]string{
			"code": w.Code("1234", l.Code), "answer": w.Answer(l.Code), "receipt": w.Receipt("Visit", "K7M2-Q9", l.Code),
			"enough": (&ussdquestion.EnoughError{}).Text(l.Code), "questions": (&ussdquestion.EnoughError{Questions: 20}).Text(l.Code),
			"unanswered": l.SayPlain("sms.unanswered", words.Values{"name": w.Name}),
			"needsLogin": l.SayPlain("sms.needsLogin", words.Values{"name": w.Name}),
		} {
			most := 1
			if l.Code == "ar" {
				most = 2
			} else if ussdmenu.Measure(text).UCS2 {
				t.Errorf("%s %s leaves the alphabet of networks: %s", l.Code, name, text)
			}
			if n := ussdsms.Parts(text); n > most {
				t.Errorf("%s %s takes %d parts: %s", l.Code, name, n, text)
			}
			if strings.ContainsAny(text, "\u2068\u2069{}") {
				t.Errorf("%s %s has marks in it: %q", l.Code, name, text)
			}
		}
	}
}

// A number is written to in its own language, and else in the operator's.
func TestMessagesAreInTheLanguageOfTheNumber(t *testing.T) {
	t.Parallel()
	french, _ := words.Shipped().Named("fr")
	for _, c := range []struct {
		usual          *words.Language
		language, want string
	}{
		{nil, "", "your answer is ready"},
		{nil, "sw", "jibu lako liko tayari"},
		{nil, "ar", "جوابك جاهز"},
		{french, "", "votre réponse est là"},
		{french, "lg", "votre réponse est là"},
		{french, "en", "your answer is ready"},
	} {
		if got := (ussdsms.Words{Name: "Delphi", Usual: c.usual}).Answer(c.language); !strings.HasPrefix(got, "Delphi: "+c.want) {
			t.Errorf("%q: %s", c.language, got)
		}
	}
	for text, want := range map[string]ussdsms.Wish{
		"arrêt": ussdsms.WishStop, "توقف": ussdsms.WishStop, "ابدأ": ussdsms.WishStart, "reprendre": ussdsms.WishStart,
		"arrêt de bus?": ussdsms.WishNone,
	} {
		if got := ussdsms.WishOf(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// Every text that the program itself says to telephones is in the alphabet of networks
// where its letters are Latin, whatever numbers are in it: one mark beside it, such as
// the no-break space in French thousands, leaves 70 characters of 160.
func TestTextsForTelephonesAreInTheAlphabetOfNetworks(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, l := range words.Shipped().Languages() {
		if l.Code == "ar" {
			continue // no Arabic letter is in it
		}
		for _, key := range l.Keys() {
			if !strings.HasPrefix(key, "sms.") && !strings.HasPrefix(key, "phone.") {
				continue
			}
			for _, n := range []int64{0, 1, 2, 1200, 1_234_567} {
				values := words.Values{"n": n}
				for _, place := range l.Places(key) {
					if place != "n" {
						values[place] = "X"
					}
				}
				if text := l.SayPlain(key, values); ussdmenu.Measure(text).UCS2 {
					t.Errorf("%s %s leaves the alphabet of networks: %+q", l.Code, key, text)
				}
			}
			seen++
		}
	}
	if seen < 30 {
		t.Errorf("%d texts were looked at", seen)
	}
	french := (&ussdquestion.EnoughError{Questions: 1200}).Text("fr")
	if !strings.Contains(french, "1 200 questions") {
		t.Errorf("1200 in French: %q", french)
	}
}
