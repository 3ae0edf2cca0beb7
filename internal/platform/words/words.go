// Package words is what the program itself says to people, on the pages that it draws
// and in text messages: one file of languages for each language.
//
// It promises that every language says all that English says and takes the same values,
// which a test holds for the files that are built in, and that numbers, plural forms and
// dates are those of the language. A language that somebody asks for is chosen among
// those that there are, and there is always one to answer in. A file is read within
// bounds, and refused whole when a text is not well formed.
//
// It refuses to translate what programs read: answers of routes, errors on the wire,
// logs. Those have codes; the console says them in its own words (web/console/languages).
// The sentences of operators' health stand beside their codes (platform/trouble).
//
// Decision: ADR 0285.
package words

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

//go:embed languages/*.json
var shippedFiles embed.FS

// The bounds of a file.
const (
	maxFile = 256 << 10
	maxText = 2000 // bytes of one text
)

// source is the language that the others are held to.
const source = "en"

// Book is the languages that there are, English first and the others by their codes.
type Book struct{ all []*Language }

// Language is all that is said in one language.
type Language struct {
	// Code is the primary subtag, such as "sw".
	Code string
	// Name is what the language calls itself.
	Name string
	// Direction is "ltr" or "rtl".
	Direction string
	// Reviewed says who has read all of it; empty is a draft.
	Reviewed string

	texts   map[string][]node
	tag     language.Tag
	printer *message.Printer
	digits  *strings.Replacer
}

// Values fill the places of a text: a string as it is, an int64 as the language writes
// numbers.
type Values = map[string]any

var shipped = sync.OnceValues(func() (*Book, error) {
	files, err := fs.Sub(shippedFiles, "languages")
	if err != nil {
		return nil, fmt.Errorf("open languages: %w", err)
	}
	return Read(files)
})

// Shipped is the languages that are built in. They are read when somebody first asks.
func Shipped() *Book {
	b, err := shipped()
	if err != nil {
		panic(err) // they are part of the program, and a test reads them
	}
	return b
}

// Read reads a folder of files, one for each language, named by its code.
func Read(files fs.FS) (*Book, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list languages: %w", err)
	}
	b := &Book{}
	for _, name := range names {
		l, err := readLanguage(files, name)
		if err != nil {
			return nil, fmt.Errorf("language file %s: %w", name, err)
		}
		if l.Code == source {
			b.all = slices.Insert(b.all, 0, l)
			continue
		}
		b.all = append(b.all, l)
	}
	if len(b.all) == 0 || b.all[0].Code != source {
		return nil, errors.New("languages: there is no file en.json, which the others are held to")
	}
	return b, nil
}

func readLanguage(files fs.FS, name string) (*Language, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, fmt.Errorf("look: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("it has %d bytes, at most %d", info.Size(), maxFile)
	}
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	var areas map[string]map[string]string
	if err := strictjson.Unmarshal(raw, &areas); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	l := &Language{Code: strings.TrimSuffix(path.Base(name), ".json"), texts: map[string][]node{}}
	if l.tag, err = language.Parse(l.Code); err != nil {
		return nil, fmt.Errorf("%q is not the code of a language: %w", l.Code, err)
	}
	about := areas["$language"]
	l.Name, l.Direction, l.Reviewed = about["name"], about["direction"], about["reviewed"]
	if l.Name == "" || l.Direction != "ltr" && l.Direction != "rtl" {
		return nil, errors.New("$language: give the name, and the direction ltr or rtl")
	}
	delete(areas, "$language")
	for area, texts := range areas {
		for key, text := range texts {
			if l.texts[area+"."+key], err = parse(text); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", area, key, err)
			}
		}
	}
	l.printer = message.NewPrinter(l.tag)
	var pairs []string
	for d := range 10 {
		pairs = append(pairs, fmt.Sprint(d), l.printer.Sprint(number.Decimal(d)))
	}
	l.digits = strings.NewReplacer(pairs...)
	return l, nil
}

// Languages are all that there are, English first.
func (b *Book) Languages() []*Language { return b.all }

// English is the language that has always every text.
func (b *Book) English() *Language { return b.all[0] }

// Or is the language of a code, or another where there is none of it.
func (b *Book) Or(code string, otherwise *Language) *Language {
	if l, ok := b.Named(code); ok {
		return l
	}
	return otherwise
}

// Named finds a language by its code; of a tag such as "sw-KE" the first part counts.
func (b *Book) Named(code string) (*Language, bool) {
	primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(code)), "-")
	for _, l := range b.all {
		if l.Code == primary {
			return l, true
		}
	}
	return nil, false
}
