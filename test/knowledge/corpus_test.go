// Package main_test holds the corpus on which the quality of retrieval is measured to its word.
package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// promised is what the README says of each language. A file that is not written yet is left out; one
// that is there keeps the promise.
var promised = map[string]struct{ documents, words, paraphrase, none int }{
	"en": {60, 60, 60, 30},
	"sw": {40, 40, 40, 20},
	"fr": {60, 60, 60, 30},
	"ar": {40, 40, 40, 20},
}

var documentName = regexp.MustCompile(`^([0-9]{3})-[a-z0-9]+(-[a-z0-9]+)*\.md$`)

type question struct {
	ID       string `json:"id"`
	Lang     string `json:"lang"`
	Question string `json:"question"`
	Kind     string `json:"kind"`
	Document string `json:"document"`
	Answer   string `json:"answer"`
	Held     bool   `json:"held"`
}

func TestCorpus(t *testing.T) {
	corpus := os.DirFS(".")
	files, err := fs.Glob(corpus, "questions-*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := fs.ReadDir(corpus, "documents")
	if err != nil {
		t.Fatal(err)
	}
	langs := map[string]bool{}
	for _, file := range files {
		langs[strings.TrimSuffix(strings.TrimPrefix(file, "questions-"), ".jsonl")] = true
	}
	for _, folder := range folders {
		langs[folder.Name()] = true
	}
	for lang := range langs {
		t.Run(lang, func(t *testing.T) {
			if _, ok := promised[lang]; !ok {
				t.Fatalf("nothing is promised of %q", lang)
			}
			checkQuestions(t, corpus, lang, readDocuments(t, corpus, lang))
		})
	}
}

// readDocuments returns the text of each document of a language by the name that questions use.
func readDocuments(t *testing.T, corpus fs.FS, lang string) map[string]string {
	t.Helper()
	entries, err := fs.ReadDir(corpus, "documents/"+lang)
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string]string{}
	for i, entry := range entries {
		name := lang + "/" + entry.Name()
		match := documentName.FindStringSubmatch(entry.Name())
		if match == nil || match[1] != fmt.Sprintf("%03d", i+1) {
			t.Errorf("%s: want %03d-words-of-the-title.md", name, i+1)
		}
		text, err := fs.ReadFile(corpus, "documents/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(text) {
			t.Errorf("%s: not UTF-8", name)
		}
		documents[strings.TrimSuffix(name, ".md")] = string(text)
	}
	if got, want := len(documents), promised[lang].documents; got != want {
		t.Errorf("%d documents, want %d", got, want)
	}
	return documents
}

func checkQuestions(t *testing.T, corpus fs.FS, lang string, documents map[string]string) {
	t.Helper()
	text, err := fs.ReadFile(corpus, "questions-"+lang+".jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	kinds, asked := map[string]int{}, map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		q, err := parse(line)
		if err != nil {
			t.Errorf("line %d: %v", i+1, err)
			continue
		}
		// Numbered by line: so every id is there once, and which questions are held follows from it.
		if want := fmt.Sprintf("%s-%03d", lang, i+1); q.ID != want {
			t.Errorf("line %d: id %q, want %q", i+1, q.ID, want)
		}
		if want := (i+1)%3 == 0; q.Held != want {
			t.Errorf("%s: held %t, want %t", q.ID, q.Held, want)
		}
		if q.Lang != lang {
			t.Errorf("%s: language %q", q.ID, q.Lang)
		}
		if strings.TrimSpace(q.Question) == "" || asked[q.Question] {
			t.Errorf("%s: empty, or asked before: %q", q.ID, q.Question)
		}
		asked[q.Question] = true
		kinds[q.Kind]++
		if err := answered(q, documents); err != nil {
			t.Errorf("%s: %v", q.ID, err)
		}
	}
	want := promised[lang]
	for kind, count := range map[string]int{"words": want.words, "paraphrase": want.paraphrase, "none": want.none} {
		if kinds[kind] != count {
			t.Errorf("%d questions of kind %s, want %d", kinds[kind], kind, count)
		}
		delete(kinds, kind)
	}
	if len(kinds) > 0 {
		t.Errorf("unknown kinds: %v", kinds)
	}
}

func parse(line string) (question, error) {
	var q question
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, fmt.Errorf("decode question: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return q, errors.New("more than one object")
	}
	return q, nil
}

func answered(q question, documents map[string]string) error {
	if q.Kind == "none" {
		if q.Document != "" || q.Answer != "" {
			return errors.New("names an answer though it has none")
		}
		return nil
	}
	text, ok := documents[q.Document]
	if !ok {
		return fmt.Errorf("no document %q", q.Document)
	}
	if q.Answer == "" || !strings.Contains(text, q.Answer) {
		return fmt.Errorf("answer %q is not in %s", q.Answer, q.Document)
	}
	return nil
}
