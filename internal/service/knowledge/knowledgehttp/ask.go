package knowledgehttp

import (
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// AskBody is a question.
type AskBody struct {
	Query string `json:"query"`
	// Language is a hint, such as sw.
	Language string `json:"language,omitempty"`
	// Collections narrows the question to some.
	Collections []string `json:"collections,omitempty"`
	Limit       int      `json:"limit,omitempty"`
}

// SourceEntry is where a passage stands.
type SourceEntry struct {
	Collection     string `json:"collection"`
	CollectionName string `json:"collectionName"`
	// Document is the file's id; to open it takes a right to the file.
	Document string   `json:"document"`
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Number   int      `json:"number"`
	Page     int      `json:"page,omitempty"`
	Part     string   `json:"part,omitempty"`
	Anchor   string   `json:"anchor,omitempty"`
	Line     int      `json:"line,omitempty"`
	Headings []string `json:"headings"`
	// Pair says that people answered: title is the question.
	Pair bool `json:"pair,omitempty"`
}

// HitEntry is a passage that answers.
type HitEntry struct {
	SourceEntry
	Sentences []string `json:"sentences"`
	Text      string   `json:"text"`
	Score     float64  `json:"score"`
}

// AnswerBody is what the documents say.
type AnswerBody struct {
	Answered   bool       `json:"answered"`
	Confidence float64    `json:"confidence"`
	Hits       []HitEntry `json:"hits"`
	// Nearest are titles of documents that come closest when nothing answers.
	Nearest []string `json:"nearest"`
}

// ReadableEntry is a collection that the caller may read.
type ReadableEntry struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ReadableList are they all.
type ReadableList struct {
	Collections []ReadableEntry `json:"collections"`
}

// PassageEntry is a passage.
type PassageEntry struct {
	SourceEntry
	Text string `json:"text"`
}

// PassageList is a passage and those around it.
type PassageList struct {
	Passages []PassageEntry `json:"passages"`
}

func sourceEntry(s knowledge.Source) SourceEntry {
	headings := s.Headings
	if headings == nil {
		headings = []string{}
	}
	return SourceEntry{
		s.Collection, s.CollectionName, s.Document, s.Name, s.Title, s.Number, s.Page, s.Part, s.Anchor,
		s.Line, headings, s.Pair,
	}
}

func (a *api) search(w http.ResponseWriter, r *http.Request, who knowledge.Caller) error {
	var body AskBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	found, err := a.svc.Search(r.Context(), who,
		knowledge.Question{Text: body.Query, Language: body.Language, Collections: body.Collections, Limit: body.Limit})
	if err != nil {
		return err
	}
	out := AnswerBody{
		Answered: found.Answered, Confidence: found.Confidence, Hits: []HitEntry{},
		Nearest: append([]string{}, found.Nearest...),
	}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, HitEntry{sourceEntry(h.Source), h.Sentences, h.Text, h.Score})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) searchBearing(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
	who, err := a.svc.BearerOf(r.Context(), p)
	if err != nil {
		return err
	}
	if len(who.Areas) == 0 {
		return fault.New(fault.Forbidden, "The token does not grant fs/read or knowledge/read, or is a link for a number of readings, which is for files alone.").WithCode("ability_not_granted")
	}
	return a.search(w, r, who)
}

func (a *api) readable(w http.ResponseWriter, r *http.Request, who knowledge.Caller) error {
	all, err := a.svc.Readable(r.Context(), who)
	if err != nil {
		return err
	}
	out := ReadableList{Collections: make([]ReadableEntry, 0, len(all))}
	for _, c := range all {
		out.Collections = append(out.Collections, ReadableEntry{c.ID, c.Name})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) passages(w http.ResponseWriter, r *http.Request, who knowledge.Caller) error {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return fault.New(fault.NotFound, "There is no such passage.")
	}
	around := 0
	if text := r.URL.Query().Get("around"); text != "" {
		if around, err = strconv.Atoi(text); err != nil || around < 0 {
			return fault.New(fault.Invalid, "around must be a number of at least 0")
		}
	}
	found, err := a.svc.ReadPassages(r.Context(), who, r.PathValue("collection"), r.PathValue("document"), number, around)
	if err != nil {
		return err
	}
	out := PassageList{}
	for _, p := range found {
		out.Passages = append(out.Passages, PassageEntry{sourceEntry(p.Source), p.Text})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}
