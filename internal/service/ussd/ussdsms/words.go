package ussdsms

import (
	"strings"

	"github.com/castalia-org/castalia/internal/platform/words"
)

// Words are the texts of messages. Each begins with who writes: a message comes
// without a menu around it.
type Words struct {
	Name string
	// Usual is for numbers whose language nobody knows, or nothing is written in; nil is
	// English.
	Usual *words.Language
}

// in is the language to write to a number in.
func (w Words) in(language string) *words.Language {
	usual := w.Usual
	if usual == nil {
		usual = words.Shipped().English()
	}
	return words.Shipped().Or(language, usual)
}

// Code is the message with the beginning of a code that sets a new PIN.
func (w Words) Code(begin, language string) string {
	return w.in(language).SayPlain("sms.code", words.Values{"name": w.Name, "begin": begin})
}

// Answer is the message that a promised answer is ready.
func (w Words) Answer(language string) string {
	return w.in(language).SayPlain("sms.answer", words.Values{"name": w.Name})
}

// Receipt is the message that a form arrived.
func (w Words) Receipt(form, reference, language string) string {
	return w.in(language).SayPlain("sms.receipt", words.Values{"name": w.Name, "form": form, "reference": reference})
}

// unanswered is the reply to a question that nobody could answer, needsLogin that to
// one whose answer needs an approval.
func (w Words) unanswered(language string) string {
	return w.in(language).SayPlain("sms.unanswered", words.Values{"name": w.Name})
}

func (w Words) needsLogin(language string) string {
	return w.in(language).SayPlain("sms.needsLogin", words.Values{"name": w.Name})
}

// Wish is what a message says about messages, if it says nothing else.
type Wish int

// The wishes of senders.
const (
	WishNone Wish = iota
	WishStop
	WishStart
)

// WishOf reads the words with which people end and begin messages, as networks have
// agreed on them, and in the languages that messages are written in.
func WishOf(text string) Wish {
	switch strings.ToUpper(strings.Trim(strings.TrimSpace(text), ".!")) {
	case "STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "ACHA", "SIMAMA",
		"ARRET", "ARRÊT", "ARRETER", "ARRÊTER", "توقف", "أوقف", "إيقاف":
		return WishStop
	case "START", "UNSTOP", "ANZA", "REPRENDRE", "ابدأ":
		return WishStart
	}
	return WishNone
}
