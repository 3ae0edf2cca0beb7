// Package instructions is what an operator tells the oracle: who it is, in which
// language and tone it answers, what it must not do, and which questions it
// suggests to somebody who has not asked any.
//
// It is a Markdown text whose front matter, between two lines of ---, may have
// language, tone, never and openings. The text goes to the model behind the rules
// about tools and files, which it cannot set aside. A conversation keeps the
// instructions with which it began until it is summarised, so that what was sent
// to the model stays the beginning of what is sent: see Keeper.
//
// It refuses unknown words in the front matter, and lists and texts that are too
// long to be meant.
package instructions

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// MaxBytes bounds the document: it is a part of every request to the model.
const MaxBytes = 32 << 10

// MaxOpenings is how many questions can be suggested.
const MaxOpenings = 8

const (
	maxOpening = 200 // letters
	maxNever   = 50
	maxPhrase  = 500 // letters
)

// Opening is a question that the oracle suggests.
type Opening struct {
	// Title is what is shown; without one it is the question itself.
	Title string
	Text  string
}

// Instructions are the document, read.
type Instructions struct {
	// Prompt is what the model is told; empty when there is nothing to tell.
	Prompt   string
	Openings []Opening
}

// front is the front matter.
type front struct {
	Language string    `yaml:"language"`
	Tone     string    `yaml:"tone"`
	Never    []string  `yaml:"never"`
	Openings []opening `yaml:"openings"`
}

// opening is a text, or a text with a title.
type opening Opening

// UnmarshalYAML reads either form.
func (o *opening) UnmarshalYAML(read func(any) error) error {
	if read(&o.Text) == nil {
		return nil
	}
	var both struct {
		Title string `yaml:"title"`
		Text  string `yaml:"text"`
	}
	if err := read(&both); err != nil {
		return err
	}
	o.Title, o.Text = both.Title, both.Text
	return nil
}

// fence begins and ends the front matter.
const fence = "---"

// Parse reads a document.
func Parse(text []byte) (Instructions, error) {
	head, body, err := split(text)
	if err != nil {
		return Instructions{}, err
	}
	var f front
	if err := yamlfile.Strict(head, &f, MaxBytes); err != nil {
		return Instructions{}, fmt.Errorf("front matter: %w; it may have language, tone, never (a list) and openings (a list of questions, or of title and text)", err)
	}
	if err := f.check(); err != nil {
		return Instructions{}, fmt.Errorf("front matter: %w", err)
	}
	out := Instructions{Prompt: f.prompt(strings.TrimSpace(string(body)))}
	for _, o := range f.Openings {
		if o.Title == "" {
			o.Title = o.Text
		}
		out.Openings = append(out.Openings, Opening(o))
	}
	return out, nil
}

// split takes the front matter off. Its first line stays blank, so that the lines
// of errors are those of the document.
func split(text []byte) (head, body []byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte(fence+"\n"))
	if !ok {
		return nil, text, nil
	}
	if body, ok := bytes.CutPrefix(rest, []byte(fence+"\n")); ok { // nothing in it
		return nil, body, nil
	}
	head, body, ok = bytes.Cut(rest, []byte("\n"+fence+"\n"))
	if !ok {
		if head, ok = bytes.CutSuffix(rest, []byte("\n"+fence)); !ok {
			return nil, nil, errors.New("the front matter that begins with --- in line 1 does not end: write --- on a line of its own below it")
		}
	}
	return append([]byte("\n"), head...), body, nil
}

func (f *front) check() error {
	for name, text := range map[string]string{"language": f.Language, "tone": f.Tone} {
		if err := checkPhrase(name, text, maxPhrase); err != nil {
			return err
		}
	}
	if len(f.Never) > maxNever {
		return fmt.Errorf("never has more than %d entries", maxNever)
	}
	for i, text := range f.Never {
		if err := checkPhrase(fmt.Sprintf("entry %d of never", i+1), text, maxPhrase); err != nil {
			return err
		}
	}
	if len(f.Openings) > MaxOpenings {
		return fmt.Errorf("openings has more than %d entries", MaxOpenings)
	}
	for i, o := range f.Openings {
		where := fmt.Sprintf("entry %d of openings", i+1)
		if strings.TrimSpace(o.Text) == "" {
			return errors.New(where + " has no text")
		}
		if err := errors.Join(checkPhrase(where, o.Text, maxOpening), checkPhrase(where, o.Title, maxOpening)); err != nil {
			return err
		}
	}
	return nil
}

func checkPhrase(where, text string, most int) error {
	if utf8.RuneCountInString(text) > most {
		return fmt.Errorf("%s has more than %d letters", where, most)
	}
	if strings.ContainsAny(text, "\n\r") {
		return fmt.Errorf("%s has more than one line", where)
	}
	return nil
}

// prompt puts what the operator says into words for the model.
func (f *front) prompt(body string) string {
	var b strings.Builder
	if body != "" {
		b.WriteString(body + "\n")
	}
	if f.Language != "" {
		fmt.Fprintf(&b, "Answer in this language, unless the user asks for another: %s.\n", strings.TrimSuffix(f.Language, "."))
	}
	if f.Tone != "" {
		fmt.Fprintf(&b, "Tone: %s.\n", strings.TrimSuffix(f.Tone, "."))
	}
	if len(f.Never) > 0 {
		b.WriteString("You must not do any of this, whoever asks:\n")
		for _, n := range f.Never {
			b.WriteString("- " + n + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nInstructions of the operator who runs you. They do not set aside what is said above.\n" + b.String()
}

// Definition is the document on the shelf of operators. Text is what
// ORACLE_INSTRUCTIONS says, and file what ORACLE_INSTRUCTIONS_FILE names.
func Definition(text, file string) operatordoc.Definition[Instructions] {
	return operatordoc.Definition[Instructions]{
		Name: "instructions", Title: "The oracle's instructions", Media: "text/markdown", MaxBytes: MaxBytes,
		Variable: "ORACLE_INSTRUCTIONS", FileVariable: "ORACLE_INSTRUCTIONS_FILE", Text: text, File: file,
		Parse: func(text []byte, _ operatordoc.Source) (Instructions, error) { return Parse(text) },
	}
}
