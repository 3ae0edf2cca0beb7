package knowledge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// Question is what somebody wants to know.
type Question struct {
	Text string
	// Language is a hint, such as "sw"; empty is none.
	Language string
	// Collections narrows the question; none is all that the caller may read.
	Collections []string
	Limit       int
}

// Answer is what the documents say.
type Answer struct {
	// Answered is false when no passage answers; Nearest are then titles of
	// documents that come closest.
	Answered   bool
	Confidence float64
	Hits       []Hit
	Nearest    []string
	// ByMeaning says that the hits were found by vectors too, so that their scores
	// are made of both.
	ByMeaning bool
}

// nearly is how much of the best hit's score another must have to be shown beside
// it where there is no model to choose.
const nearly = 0.6

// Best are the hits that answer about as well as the first.
func (a Answer) Best() []Hit {
	for i, h := range a.Hits {
		if h.Score < nearly*a.Hits[0].Score || a.ByMeaning && h.Confidence < nearly*a.Hits[0].Confidence {
			return a.Hits[:i]
		}
	}
	return a.Hits
}

// Source is where a passage stands.
type Source struct {
	// Collection and CollectionName say in which collection.
	Collection, CollectionName string
	// Document is the file's id, Name its name, Title what it calls itself.
	Document, Name, Title string
	// Number is the passage's place in the document.
	Number   int
	Page     int // 0: the document has no pages
	Part     string
	Anchor   string
	Line     int
	Headings []string
	// Pair says that people answered: Title is the question then, and Document
	// names the answer.
	Pair bool
}

// Hit is a passage that answers.
type Hit struct {
	Source
	// Sentences are the one to three sentences that answer, word for word, and Text
	// the passage that they stand in.
	Sentences []string
	Text      string
	Score     float64
	// Evidence is what the confidence was made of, for whoever measures it.
	Evidence textindex.Evidence
	// Confidence is how likely this passage answers, 0 to 1.
	Confidence float64
}

// CallerOf reads what a verified principal may read on a surface that proves who
// calls.
func (s *Service) CallerOf(ctx context.Context, userDID string) (Caller, error) {
	c := Caller{DID: userDID}
	if !strings.HasPrefix(userDID, "did:") {
		return Caller{}, nil // nobody's name, such as a telephone's account
	}
	var err error
	c.Member, err = s.Member(ctx, userDID)
	return c, err
}

// The abilities of a token that let its holder read passages of a folder.
const (
	AbilityRead     = "knowledge/read"
	AbilityFileRead = "fs/read"
)

// BearerOf reads what the holder of a token for files may read: the passages of
// folders that the token reaches. A token that also proves who calls, as one for
// the oracle does, counts as such too.
func (s *Service) BearerOf(ctx context.Context, p identity.Principal) (Caller, error) {
	var c Caller
	var err error
	if p.Allows("*", identity.OracleResource) {
		if c, err = s.CallerOf(ctx, p.DID); err != nil {
			return Caller{}, err
		}
	}
	if p.CIDs != nil {
		return c, nil // it reaches contents, not folders
	}
	if counted, err := s.Counted(ctx, p); err != nil || counted {
		return c, err
	}
	for _, ability := range []string{AbilityRead, AbilityFileRead} {
		namespace, areas, err := p.Areas(ability)
		if err != nil {
			continue // it does not have this one
		}
		if c.Namespace != "" && c.Namespace != namespace {
			return Caller{}, fault.New(fault.Forbidden, "The token names more than one namespace.").WithCode("ambiguous_namespace")
		}
		c.Namespace = namespace
		c.Areas = append(c.Areas, areas...)
	}
	return c, nil
}

// ManagedBy is where a token gives everything: what it takes to decide about
// collections. The owner is who signed it for this request, in their own name.
func ManagedBy(p identity.Principal) (Manager, error) {
	var all Reach
	for i, ability := range []string{"fs/list", "fs/read", "fs/write", "fs/delete"} {
		r, err := ListedBy(p, ability)
		if err != nil {
			return Manager{}, err
		}
		if i == 0 {
			all = r
			continue
		}
		if r.Namespace != all.Namespace {
			return Manager{}, fault.New(fault.Forbidden, "The token names more than one namespace.").WithCode("ambiguous_namespace")
		}
		all = all.both(r)
	}
	return Manager{all, p.Kind == identity.ByInvocation && p.Root == p.DID &&
		all.Namespace == identity.NamespaceOf(p.DID)}, nil
}

// ListedBy is where a token gives an ability, such as to list files.
func ListedBy(p identity.Principal, ability string) (Reach, error) {
	if p.CIDs != nil {
		return Reach{}, fault.New(fault.Forbidden, "This token reaches files by CID only.").WithCode("cid_scoped")
	}
	namespace, areas, err := p.Areas(ability)
	return Reach{Namespace: namespace, Areas: areas}, err
}

// Readable lists the collections that the caller may read.
func (s *Service) Readable(ctx context.Context, who Caller) ([]Collection, error) {
	return s.Store.Readable(ctx, who)
}

// reading is what of the index a caller may see, as it is now.
type reading struct {
	searcher *textindex.Searcher
	pairs    []*textindex.View
	synonyms *analyse.Synonyms
	scope    textindex.Scope
	// collections are in the order in which they are asked.
	collections []Collection
	names       map[string]string // of collections
	owners      map[string]string // of collections: namespaces
	open        map[string]*opened
}

// reading opens the collections that the caller may read, and no other.
func (s *Service) reading(ctx context.Context, who Caller, only []string) (*reading, error) {
	readable, err := s.Store.Searchable(ctx, who, only, MaxSearched)
	if err != nil {
		return nil, err
	}
	r := &reading{
		collections: readable, synonyms: s.synonyms(), scope: textindex.Scope{}, names: map[string]string{},
		owners: map[string]string{}, open: map[string]*opened{},
	}
	var views []*textindex.View
	for _, c := range readable {
		o, err := s.shelf.collection(ctx, c)
		if fault.Is(err, fault.NotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, g := range o.segments {
			views = append(views, g.view)
		}
		if o.pairs.view != nil {
			views, r.pairs = append(views, o.pairs.view), append(r.pairs, o.pairs.view)
		}
		r.names[c.ID], r.owners[c.ID], r.open[c.ID] = c.Name, c.Namespace, o
	}
	r.scope = scopeOf(readable, r.open)
	r.searcher = textindex.NewSearcher(views, r.synonyms)
	return r, nil
}

// nearestTitles is how many titles are named when nothing answers.
const nearestTitles = 3

// Search answers a question from what the caller may read.
func (s *Service) Search(ctx context.Context, who Caller, q Question) (Answer, error) {
	q.Text = strings.TrimSpace(q.Text)
	if q.Text == "" || len(q.Text) > MaxQuery {
		return Answer{}, fault.Newf(fault.Invalid, "A question has 1 to %d bytes.", MaxQuery)
	}
	if q.Limit <= 0 {
		q.Limit = DefaultHits
	}
	if len(q.Collections) > MaxCollections {
		return Answer{}, fault.Newf(fault.Invalid, "A question names at most %d collections.", MaxCollections)
	}
	r, err := s.reading(ctx, who, q.Collections)
	if err != nil {
		return Answer{}, err
	}
	asked := textindex.Query{
		Text: q.Text, Language: analyse.Language(q.Language), Scope: r.scope, Limit: spare * min(q.Limit, MaxHits),
	}
	if like := s.alike(ctx, r, q.Text); like != nil {
		asked.Near, asked.Likeness = like.near, like.likeness
	}
	found, err := r.searcher.Search(ctx, asked)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{ByMeaning: asked.Likeness != nil}
	for _, h := range mixed(found.Hits, min(q.Limit, MaxHits), r.owners) {
		source, ok := r.source(h.Collection, h.Document, int(h.Number), h.Title, h.Meta)
		if !ok {
			continue
		}
		a.Hits = append(a.Hits, Hit{
			Source: source, Sentences: h.Sentences(), Text: h.Text, Score: h.Score, Confidence: h.Confidence,
			Evidence: h.Evidence,
		})
		a.Confidence = max(a.Confidence, h.Confidence) // of what is shown, not of what was spare
	}
	a.Answered = a.Confidence >= textindex.Answerable
	asked.Near, asked.Likeness = nil, nil // pairs have no vectors
	if err := r.preferPair(ctx, asked, &a); err != nil {
		return Answer{}, err
	}
	a.Hits = a.Hits[:min(len(a.Hits), q.Limit)]
	if !a.Answered {
		for _, h := range a.Hits {
			if !slices.Contains(a.Nearest, h.Title) && len(a.Nearest) < nearestTitles {
				a.Nearest = append(a.Nearest, h.Title)
			}
		}
	}
	return a, nil
}

// source says where a passage stands; false when its document is not there any more.
func (r *reading) source(collection, generation string, number int, title string, meta []byte) (Source, bool) {
	o, ok := r.open[collection]
	if !ok {
		return Source{}, false
	}
	d, ok := o.docs[generation]
	if !ok {
		return Source{}, false
	}
	var at place
	_ = json.Unmarshal(meta, &at) // our own; without it only the place is unknown
	return Source{
		Collection: collection, CollectionName: r.names[collection], Document: d.FileID, Name: vfspath.BaseName(d.Path),
		Title:  title,
		Number: number, Page: at.Page, Part: at.Part, Anchor: at.Anchor, Line: at.Line, Headings: at.Headings, Pair: at.Pair,
	}, true
}

// PassageText is a passage with where it stands.
type PassageText struct {
	Source
	Text string
}

// maxAround bounds how many passages before and after one are read with it.
const maxAround = 3

// ReadPassages reads a passage and those around it, of a document that the caller
// may read. What is not there and what may not be read are the same.
func (s *Service) ReadPassages(ctx context.Context, who Caller, collection, file string, number,
	around int,
) ([]PassageText, error) {
	r, err := s.reading(ctx, who, []string{collection})
	if err != nil {
		return nil, err
	}
	none := fault.New(fault.NotFound, "There is no such passage.")
	o, ok := r.open[collection]
	if !ok {
		return nil, none
	}
	d, ok := o.files[file]
	if !ok || number < 0 || number > 1<<30 {
		return nil, none
	}
	around = min(max(around, 0), maxAround)
	var out []PassageText
	met := false
	for n := max(number-around, 0); n <= number+around; n++ {
		p, ok, err := r.searcher.Read(ctx, r.scope,
			textindex.Key{Collection: collection, Document: d.Generation, Number: uint32(n)})
		if err != nil {
			return nil, err
		}
		source, there := r.source(collection, d.Generation, n, p.Title, p.Meta)
		if !ok || !there {
			continue
		}
		met = met || n == number
		out = append(out, PassageText{Source: source, Text: p.Text})
	}
	if !met {
		return nil, none
	}
	return out, nil
}
