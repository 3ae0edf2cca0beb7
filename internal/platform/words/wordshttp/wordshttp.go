// Package wordshttp chooses the language of a page that the program draws.
//
// It promises that an answer says which language it is in and what that depends on, so
// that no cache gives a page to people who read another language.
package wordshttp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/words"
)

// Parameter is how an address names a language, for people whose browser asks for
// another one.
const Parameter = "language"

// Page is what a page needs to know of its language: html/template calls its methods.
type Page struct {
	*words.Language
	// Asked is the parameter to add to addresses of other pages, such as
	// "?language=sw"; empty where the browser chose.
	Asked string
	// Others are all languages, to choose from.
	Others []*words.Language
}

// Say is a text without places. It hides that of the language, for templates.
func (p Page) Say(key string) string { return p.Language.Say(key, nil) }

// Speaker chooses languages. The zero value is usable: English is usual then.
type Speaker struct {
	// Usual is the language for those who name none.
	Usual *words.Language
}

// Usual is a Speaker whose usual language has this code; without any it is English.
func Usual(code string) (Speaker, error) {
	if code == "" {
		return Speaker{}, nil
	}
	l, ok := words.Shipped().Named(code)
	if !ok {
		var all []string
		for _, one := range words.Shipped().Languages() {
			all = append(all, one.Code)
		}
		return Speaker{}, fmt.Errorf("there is no language %q, only %s", code, strings.Join(all, ", "))
	}
	return Speaker{Usual: l}, nil
}

// Asks are all that Asked of a page may be: nothing, and each language.
func (Speaker) Asks() []string {
	all := []string{""}
	for _, l := range words.Shipped().Languages() {
		all = append(all, asks(l))
	}
	return all
}

func asks(l *words.Language) string { return "?" + Parameter + "=" + l.Code }

// Choose finds the language of a page: as its address says, else as the browser asks,
// else the usual one. The answer says which it is.
func (s Speaker) Choose(w http.ResponseWriter, r *http.Request) Page {
	book := words.Shipped()
	usual := s.Usual
	if usual == nil {
		usual = book.English()
	}
	h := w.Header()
	if !slices.Contains(h.Values("Vary"), "Accept-Language") {
		h.Add("Vary", "Accept-Language")
	}
	p := Page{Others: book.Languages()}
	if l, ok := book.Named(r.URL.Query().Get(Parameter)); ok {
		p.Language, p.Asked = l, asks(l)
	} else {
		p.Language = book.Accepted(r.Header.Values("Accept-Language"), usual)
	}
	h.Set("Content-Language", p.Code)
	return p
}

// Called is how the list of languages calls one.
func (p Page) Called(l *words.Language) string {
	if l.Reviewed == "" {
		return l.Say("page.draft", words.Values{"name": l.Name})
	}
	return l.Name
}
