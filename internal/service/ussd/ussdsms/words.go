package ussdsms

import (
	"fmt"
	"strings"
)

// Words are the texts of messages. Each begins with who writes: a message comes
// without a menu around it.
type Words struct{ Name string }

// Code is the message with the beginning of a code that sets a new PIN.
func (w Words) Code(begin, language string) string {
	if language == "sw" {
		return fmt.Sprintf("%s: msimbo wa PIN mpya unaanza na %s; tarakimu zinazobaki utaambiwa nasi. Unatumika mara moja, kwa dakika 30, kwenye simu hii.", w.Name, begin)
	}
	return fmt.Sprintf("%s: your code for a new PIN begins with %s; we tell you the other digits. It is good once, for 30 minutes, on this telephone.", w.Name, begin)
}

// Answer is the message that a promised answer is ready.
func (w Words) Answer(language string) string {
	if language == "sw" {
		return w.Name + ": jibu lako liko tayari. Piga tena na uingie kulisoma."
	}
	return w.Name + ": your answer is ready. Dial again and log in to read it."
}

// Receipt is the message that a form arrived.
func (w Words) Receipt(form, reference, language string) string {
	if language == "sw" {
		return fmt.Sprintf("%s: tumepokea fomu yako (%s). Kumbukumbu: %s", w.Name, form, reference)
	}
	return fmt.Sprintf("%s: we have received your form (%s). Reference: %s", w.Name, form, reference)
}

// unanswered is the reply to a question that nobody could answer, needsLogin that to
// one whose answer needs an approval.
func (w Words) unanswered(language string) string {
	if language == "sw" {
		return w.Name + ": samahani, hakuna jibu kwa sasa. Uliza tena baadaye."
	}
	return w.Name + ": sorry, there is no answer now. Please ask again later."
}

func (w Words) needsLogin(language string) string {
	if language == "sw" {
		return w.Name + ": jambo hilo linahitaji idhini yako. Piga, ingia, kisha uulize hapo."
	}
	return w.Name + ": that needs your approval. Dial, log in and ask there."
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
// agreed on them.
func WishOf(text string) Wish {
	switch strings.ToUpper(strings.Trim(strings.TrimSpace(text), ".!")) {
	case "STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "ACHA", "SIMAMA":
		return WishStop
	case "START", "UNSTOP", "ANZA":
		return WishStart
	}
	return WishNone
}
