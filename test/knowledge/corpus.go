package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/docreader"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/formats"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// The kinds of questions: in the document's own words, in other words, and what no
// document answers.
const (
	inItsWords   = "words"
	inOtherWords = "paraphrase"
	unanswerable = "none"
)

// question is a line of a file of questions.
type question struct {
	ID       string `json:"id"`
	Language string `json:"lang"`
	Question string `json:"question"`
	Kind     string `json:"kind"`
	// Document is LANG/NAME, or NAME of the question's language.
	Document string `json:"document"`
	// Answer is what the document says, word for word.
	Answer string `json:"answer"`
	Held   bool   `json:"held"`
}

// source is the document as LANG/NAME without its ending.
func (q question) source() string {
	name := strings.TrimPrefix(strings.TrimSuffix(q.Document, ".md"), "documents/")
	if !strings.Contains(name, "/") {
		name = q.Language + "/" + name
	}
	return name
}

func readQuestions(folder string) ([]question, error) {
	files, err := filepath.Glob(filepath.Join(folder, "questions*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no questions*.jsonl in %s", folder)
	}
	slices.Sort(files)
	var all []question
	known := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			var q question
			if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			if known[q.ID] || q.ID == "" || q.Question == "" ||
				!slices.Contains([]string{inItsWords, inOtherWords, unanswerable}, q.Kind) {
				return nil, fmt.Errorf("%s:%d: a question needs an id of its own, a text and a kind", name, n)
			}
			known[q.ID] = true
			if err := checkAnswer(folder, q); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			all = append(all, q)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

// checkAnswer refuses a question whose document does not say the answer.
func checkAnswer(folder string, q question) error {
	if q.Kind == unanswerable {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(folder, "documents", filepath.FromSlash(q.source())+".md"))
	if err != nil {
		return err
	}
	if q.Answer == "" || !strings.Contains(string(text), q.Answer) {
		return fmt.Errorf("%s: its document does not say the answer", q.ID)
	}
	return nil
}

// corpus is the documents as a server has them.
type corpus struct {
	svc                 *knowledge.Service
	documents, passages int
	close               func()
}

// owner has all documents. Whoever asks is nobody in particular.
const owner = "corpus"

func loadCorpus(ctx context.Context, folder string, embedder knowledge.Embedder) (*corpus, error) {
	dir, err := os.MkdirTemp("", "knowledge-")
	if err != nil {
		return nil, err
	}
	c := &corpus{close: func() { _ = os.RemoveAll(dir) }}
	if err := c.load(ctx, folder, dir, embedder); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *corpus) load(ctx context.Context, folder, dir string, embedder knowledge.Embedder) error {
	db, err := sqldb.Open(ctx, "sqlite:"+filepath.Join(dir, "castalia.db"), sqldb.Options{})
	if err != nil {
		return err
	}
	remove := c.close
	c.close = func() { _ = db.Close(); remove() }
	if err := db.Migrate(ctx, knowledgesql.Migrations()); err != nil {
		return err
	}
	disk, err := blobdisk.New(filepath.Join(dir, "objects"))
	if err != nil {
		return err
	}
	files := knowledgetest.NewFiles()
	c.svc = knowledge.New(knowledge.Deps{
		Store: knowledgesql.New(db), Files: files, Blobs: disk, Reader: docreader.Here{Formats: formats.All()},
		Embedder: embedder,
	}, knowledge.Config{MasterKey: knowledgetest.MasterKey, Node: "bench"})
	languages, err := putDocuments(os.DirFS(filepath.Join(folder, "documents")), files)
	if err != nil {
		return err
	}
	for _, language := range languages {
		made, err := c.svc.Create(ctx, knowledgetest.OwnerOf(owner),
			knowledge.NewCollection{Name: language, Folder: "/" + language, Readers: knowledge.Everybody})
		if err != nil {
			return err
		}
		_, err = c.svc.Publish(ctx, made.ID, made.Readers)
		if err != nil {
			return err
		}
	}
	return c.settle(ctx)
}

// putDocuments stores the documents as files, a folder for each language.
func putDocuments(root fs.FS, files *knowledgetest.Files) (languages []string, err error) {
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if language := path.Dir(name); !slices.Contains(languages, language) {
			languages = append(languages, language)
		}
		files.Put(owner, "/"+name, string(text))
		return nil
	})
	return languages, err
}

// settle reads all documents and joins their segments, as workers do in time.
func (c *corpus) settle(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = c.svc.FollowOnce(ctx); err != nil {
			return err
		}
		for did := true; did; {
			if did, err = c.svc.ReadOne(ctx, "bench"); err != nil {
				return err
			}
			more = more || did
		}
	}
	for {
		n, err := c.svc.TidyOnce(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	for did := true; did; {
		var err error
		if did, err = c.svc.EmbedOne(ctx, "bench"); err != nil {
			return err
		}
	}
	all, _, err := c.svc.Store.CollectionsOf(ctx, knowledge.Whole(owner))
	if err != nil {
		return err
	}
	for _, each := range all {
		for after := ""; ; {
			docs, err := c.svc.Store.Documents(ctx, owner, each.ID, after, knowledge.MaxPage)
			if err != nil {
				return err
			}
			for _, d := range docs {
				if d.State != knowledge.Read || d.Passages == 0 {
					return fmt.Errorf("%s: %v, %d passages %s", d.Path, d.State, d.Passages, d.Why)
				}
				c.documents++
				c.passages += d.Passages
				after = d.Path
			}
			if len(docs) < knowledge.MaxPage {
				break
			}
		}
	}
	if c.documents == 0 {
		return errors.New("there are no documents")
	}
	return nil
}

// outcome is what became of a question.
type outcome struct {
	question
	rank       int // of the passage that answers, 0 if it is not there
	confidence float64
	answered   bool
	quoted     bool // the answer is in the sentences of its passage
	top        string
	evidence   []textindex.Evidence // of the hits
}

func (c *corpus) ask(ctx context.Context, q question) (outcome, error) {
	a, err := c.svc.Search(ctx, knowledge.Caller{}, knowledge.Question{Text: q.Question, Limit: firstHits})
	if err != nil {
		return outcome{}, err
	}
	o := outcome{question: q, confidence: a.Confidence, answered: a.Answered}
	want := bare(q.Answer)
	shown := 0.0
	for _, h := range a.Hits {
		o.evidence = append(o.evidence, h.Evidence)
		shown = max(shown, h.Confidence)
	}
	if a.Confidence > shown {
		return outcome{}, fmt.Errorf("confidence %.3f is of a passage that is not shown", a.Confidence)
	}
	for i, h := range a.Hits {
		source := h.CollectionName + "/" + strings.TrimSuffix(h.Name, ".md")
		o.top = cmp.Or(o.top, source+": "+strings.Join(h.Sentences, " "))
		if q.Kind != unanswerable && source == q.source() && strings.Contains(bare(h.Text), want) {
			o.rank = i + 1
			o.quoted = strings.Contains(bare(strings.Join(h.Sentences, " ")), want)
			break
		}
	}
	return o, nil
}

// bare leaves letters and digits: the answer is a piece of Markdown, and the
// passage what its parser made of it.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return r
		}
		return -1
	}, text)
}
