package main

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A handful of documents goes all the way: files, parsers, passages, sealed
// segments, questions, table.
func TestHandful(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if err := run(t.Context(), []string{"-data", "testdata", "-misses", "-strict"}, &out, &errs); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	said := out.String()
	for _, want := range []string{
		"3 documents, ", "8 questions", "== open", "== held-out",
		"BenchmarkKnowledge/open 1 1.0000 recall@5-words 1.0000 recall@5-paraphrase 1.0000 MRR 1.0000 answered 1.0000 refused 1.0000 refused-at-95",
		"BenchmarkKnowledge/held-out 1 1.0000 recall@5-words",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}

// Figures of words alone are not given for those of an embeddings service that did not
// answer.
func TestEmbeddingsThatDoNotCome(t *testing.T) {
	t.Parallel()
	var forPassages, forQuestions int // this server is asked one after the other
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Input []string `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		if !strings.Contains(asked.Input[0], "\n") { // passages have a title
			forQuestions++
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var answer struct {
			Data []map[string]any `json:"data"`
		}
		for i, text := range asked.Input {
			forPassages++
			answer.Data = append(answer.Data, map[string]any{"index": i, "embedding": []int{1, len(text)}})
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer service.Close()
	var out, errs strings.Builder
	err := run(t.Context(), []string{"-data", "testdata", "-embeddings", service.URL}, &out, &errs)
	if err == nil || !strings.Contains(err.Error(), "8 of 8 questions") || out.Len() > 0 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if forPassages == 0 || forQuestions == 0 {
		t.Errorf("asked for %d passages and %d questions", forPassages, forQuestions)
	}
}

// What is held out is counted and never shown.
func TestHeldIsNotShown(t *testing.T) {
	t.Parallel()
	wrong := outcome{question: question{ID: "secret", Question: "what is it", Kind: inItsWords, Answer: "it is this", Held: true}}
	var out strings.Builder
	if report(&out, []outcome{wrong}) {
		t.Error("a missed question meets the bars")
	}
	listMisses(&out, []outcome{wrong})
	if said := out.String(); strings.Contains(said, "secret") || strings.Contains(said, "it is") {
		t.Errorf("the report shows what is held out:\n%s", said)
	}
}

// The figures are those of the definitions.
func TestFigures(t *testing.T) {
	t.Parallel()
	var all []outcome
	add := func(n int, o outcome) {
		for range n {
			all = append(all, o)
		}
	}
	add(18, outcome{question: question{Kind: inItsWords}, rank: 1, confidence: 0.9, answered: true})
	add(1, outcome{question: question{Kind: inItsWords}, rank: 6, confidence: 0.6, answered: true})
	add(1, outcome{question: question{Kind: inItsWords}, confidence: 0.1})
	add(3, outcome{question: question{Kind: unanswerable}, confidence: 0.3})
	add(1, outcome{question: question{Kind: unanswerable}, confidence: 0.7, answered: true})
	// The line at which 19 of 20 are answered is 0.6.
	want := figures{words: 0.9, reciprocal: meanReciprocal(all[:20]), answered: 0.95, refused: 0.75, refusedAt: 0.75}
	if got := math.Abs(want.reciprocal - (18+1.0/6)/20); got > 1e-9 {
		t.Errorf("the mean reciprocal rank is off by %v", got)
	}
	if got := sum(all); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Questions that cannot be measured are refused, with their place.
func TestBadQuestions(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"not an answer of the document": `{"id":"a","lang":"en","question":"q","kind":"words","document":"d","answer":"never said"}`,
		"no such document":              `{"id":"a","lang":"en","question":"q","kind":"words","document":"e","answer":"said"}`,
		"no such kind":                  `{"id":"a","lang":"en","question":"q","kind":"guess","document":"d","answer":"said"}`,
		"an id twice":                   `{"id":"a","lang":"en","question":"q","kind":"none"}` + "\n" + `{"id":"a","lang":"en","question":"q","kind":"none"}`,
		"no JSON":                       `{"id"`,
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "documents", "en"), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "documents", "en", "d.md"), []byte("it is said"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "questions.jsonl"), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readQuestions(dir); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := readQuestions(t.TempDir()); err == nil {
		t.Error("no questions: taken")
	}
}
