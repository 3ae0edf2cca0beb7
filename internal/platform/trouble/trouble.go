// Package trouble is what is wrong with a part of the program, as operators are told it.
//
// It promises that each trouble has a code by which programs and pages know it, and a
// sentence in every language of platform/words, area health. What outsiders said of it
// (errors of networks and services) stays as they said it.
//
// Decision: ADR 0275.
package trouble

import (
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/words"
)

// area is where the sentences are.
const area = "health."

// Trouble is one thing that is wrong. It is an error, in English.
type Trouble struct { //nolint:errname // it is told first, and an error beside
	key    string
	values words.Values
	// Detail is what whoever failed said; it may change while the trouble stays.
	Detail string
	// Because is what is wrong with what the sentence names.
	Because *Trouble
}

// New makes a trouble of the name of a sentence, such as "health.disk", and of texts
// that fill it.
func New(key string, values words.Values) *Trouble { return &Trouble{key: key, values: values} }

// With returns the trouble with what whoever failed said.
func (t Trouble) With(detail string) *Trouble {
	t.Detail = detail
	return &t
}

// Of returns a trouble of what a sentence names: this one is why.
func (t *Trouble) Of(key string, values words.Values) *Trouble {
	return &Trouble{key: key, values: values, Because: t}
}

// Code is what programs know the trouble by, such as "disk".
func (t *Trouble) Code() string { return strings.TrimPrefix(t.key, area) }

// Values are what fills the sentence.
func (t *Trouble) Values() map[string]string {
	if len(t.values) == 0 {
		return nil
	}
	out := make(map[string]string, len(t.values))
	for name, value := range t.values {
		out[name] = fmt.Sprint(value)
	}
	return out
}

// In is the trouble as a sentence of a language.
func (t *Trouble) In(l *words.Language) string {
	text := l.Say(t.key, t.values)
	if t.Because != nil {
		text = l.Say("health.because", words.Values{"what": text, "why": t.Because.In(l)})
	}
	if t.Detail != "" {
		text = l.Say("health.detail", words.Values{"what": text, "detail": t.Detail})
	}
	return text
}

// Error implements error.
func (t *Trouble) Error() string { return t.In(words.Shipped().English()) }

// Cause is what the trouble is known again by while it lasts: its sentence without what
// follows a semicolon, which is detail.
func (t *Trouble) Cause() string {
	cause, _, _ := strings.Cut(t.Error(), ";")
	return cause
}
