package textindex

import (
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// The bounds of one query.
const (
	MaxQuery = 2 << 10 // bytes of a question; the rest is not read
	MaxHits  = 100
	MaxWords = 24 // words of a question that are looked for
)

// Scope says what may be found: collections, and which of their documents. What
// it does not name does not exist for the query; an empty one finds nothing.
type Scope map[string]Documents

// Documents is a choice of a collection's documents. The zero value has none.
type Documents struct {
	all  bool
	only []string // in order
	that func(name string) bool
}

// AllDocuments chooses all documents of a collection.
func AllDocuments() Documents { return Documents{all: true} }

// OnlyDocuments chooses documents by their names.
func OnlyDocuments(names ...string) Documents {
	return Documents{only: slices.Sorted(slices.Values(names))}
}

// DocumentsThat chooses documents by their names, each time that a question is asked.
func DocumentsThat(chosen func(name string) bool) Documents { return Documents{that: chosen} }

// Has reports whether a document is chosen.
func (d Documents) Has(name string) bool {
	if d.that != nil {
		return d.that(name)
	}
	_, found := slices.BinarySearch(d.only, name)
	return d.all || found
}

// Query is a question.
type Query struct {
	Text string
	// Language is a hint, such as what the person reads the page in.
	Language analyse.Language
	Scope    Scope
	// Limit is how many passages are wanted: 10 if it is 0, at most MaxHits.
	Limit int
	// All finds documents that have every word, wherever in the document, and one
	// passage of each: the best. A word that is a stop word in some language of the
	// question need not be there, unless all are. Documents must be whole in a segment;
	// Near is not asked.
	All bool
	// Part lets a word stand for longer ones that begin with it, as while somebody
	// types, and for those that have it inside if none does. Whole words come first.
	Part bool
	// Near are passages that are alike by other means, best first, such as by
	// vectors. They join if the scope has them.
	Near []Key
	// Likeness, if it is set, says how much a passage is alike by those means: 0 is as
	// usual, 1 as the most alike of as many that have nothing to do with the question
	// would be by chance. It is added to what words say; false leaves it to Near's order.
	Likeness func(Key) (float64, bool)
}

// Result is what was found.
type Result struct {
	Hits []Hit
	// Confidence is how likely the hits answer the question, 0 to 1.
	Confidence float64
	// Answered is false when the honest answer is that nobody knows.
	Answered bool
	// Language is the one in which the question was read.
	Language analyse.Language
	// Cut says that the question has more words than are looked for.
	Cut bool
	// Spent says that so many words fit a part of one, or look like one, that not all
	// were looked at. The words themselves always are.
	Spent bool
}

// Hit is a passage that was found.
type Hit struct {
	Key
	Language        analyse.Language
	Title, Headings string
	Text            string
	Meta            []byte
	// Score orders the hits of one result and means nothing else.
	Score      float64
	Confidence float64
	// Evidence is what the confidence was made of.
	Evidence Evidence
	// Answer has the sentences that answer best, one to three, in their order.
	Answer []analyse.Span
	// Words are where in Text words of the question stand; none where they are in the
	// title alone, or elsewhere in the document.
	Words []Place
}

// Place is where a word of a question stands in a text.
type Place struct {
	analyse.Span
	// Word tells the words of the question apart.
	Word int
}

// Sentences returns what answers best, word for word.
func (h Hit) Sentences() []string {
	out := make([]string, len(h.Answer))
	for i, s := range h.Answer {
		out[i] = h.Text[s.Start:s.End]
	}
	return out
}
