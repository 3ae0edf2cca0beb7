package textindex

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

// rarityUnit is one unit of rarity (a power of two) in the whole numbers that
// ranking computes with.
const rarityUnit = 1 << 12

// weights of what stands for a word, in 256ths of the word itself.
const (
	wholeWeight   = 256
	synonymWeight = 208
	everydayShare = 200 // of what a community's synonym weighs
	phraseWeight  = 150 // a word of a synonym that has several
	nearWeight    = 190 // a term that looks like the word, times its likeness
	maxNear       = 4
	maxTold       = 128 // terms of the lexicon for a word
)

// variant is a term that stands for a word of the query.
type variant struct {
	term   string
	weight int32 // in 256ths
	df     uint32
	// worth is the weight times the rarity.
	worth   int32
	entries []segment.TermEntry // per scoped view; df is 0 where it is not
}

// group is a word of the query with all terms that stand for it.
type group struct {
	word     string
	position int
	variants []variant
	// rarity is the worth of the word itself; a word that nobody wrote has the
	// most.
	rarity int32
	// exact says that the word itself was found, in some form.
	exact bool
	// part is what longer words may contain to stand for the word; often empty.
	part string
	// needed says that a document must have the word where all are asked for.
	needed bool
	// meant says that the everyday words, the lexicon or the community have the word;
	// name that it is a number, or has a capital within a sentence.
	meant, name bool
	// told are terms of the lexicon that say the word. Passages are not looked for by
	// them, only judged (ADR 0272).
	told []toldTerm
}

type toldTerm struct {
	term     string
	language analyse.Language
}

// plan is a query made ready for the views that it may see.
type plan struct {
	groups   []group
	asked    analyse.Asked
	language analyse.Language
	total    int64 // the rarity of all groups
	cut      bool  // there are more words than are looked for
	spent    bool  // there are more longer or mistyped words than are looked at
	passages uint64
	lexicon  bool // the lexicon is known
}

// rarity is log2 of how many passages there are for one that has the term (the
// idf of BM25), computed in whole numbers, so that all machines agree.
func rarity(passages, df uint64) int32 {
	num, den := 2*passages+2, 2*min(df, passages)+1
	whole := bits.Len64(num) - bits.Len64(den)
	if num < den<<whole {
		whole--
	}
	const unit = 30
	m := num << unit / (den << whole)
	out := int32(whole) //nolint:gosec // at most 64
	for step := rarityUnit; step > 1; step /= 2 {
		out *= 2
		m = m * m >> unit
		if m >= 2<<unit {
			out++
			m /= 2
		}
	}
	return out
}

type planner struct {
	analyser *analyse.Analyser
	synonyms *analyse.Synonyms
	views    []scoped
	passages uint64
	counter  segment.Postings
	left     int  // work, in blocks
	spent    bool // some was not done
}

// plan reads a question.
func (p *planner) plan(ctx context.Context, q Query) (plan, error) {
	readings := analyse.Readings(q.Text, q.Language)
	out := plan{
		passages: p.passages, lexicon: p.synonyms.HasConcepts(), asked: analyse.Asks(q.Text), language: analyse.Undetermined,
	}
	if len(readings) > 0 {
		out.language = readings[0]
	}
	words := p.analyser.Words(readings, q.Text)
	informative := slices.ContainsFunc(words, func(w analyse.Word) bool { return !w.Stop })
	groups := make([]*group, len(words))
	for i, w := range words {
		if w.Stop && informative {
			continue
		}
		if slices.ContainsFunc(groups[:i], func(g *group) bool { return g != nil && g.word == w.Forms[0] }) {
			continue
		}
		groups[i] = &group{word: w.Forms[0], position: w.Position, needed: !w.Common, name: w.Name}
		if q.Part {
			groups[i].part = w.Part
		}
		for _, form := range w.Forms {
			groups[i].add(form, wholeWeight)
		}
	}
	p.addSynonyms(words, groups, readings)
	loose := len(readings) != 1 // no stemmer is sure to fit
	for _, g := range groups {
		if g == nil {
			continue
		}
		if out.cut = len(out.groups) >= MaxWords; out.cut {
			break
		}
		if err := p.resolve(ctx, g, loose); err != nil {
			return plan{}, err
		}
		out.total += int64(g.rarity)
		out.groups = append(out.groups, *g)
	}
	if !slices.ContainsFunc(out.groups, func(g group) bool { return g.needed }) {
		for i := range out.groups {
			out.groups[i].needed = true
		}
	}
	out.spent = p.spent
	return out, nil
}

func (g *group) add(term string, weight int32) {
	for i := range g.variants {
		if g.variants[i].term == term {
			g.variants[i].weight = max(g.variants[i].weight, weight)
			return
		}
	}
	g.variants = append(g.variants, variant{term: term, weight: weight})
}

// addSynonyms puts what the community says beside the words that it says it of.
func (p *planner) addSynonyms(words []analyse.Word, groups []*group, readings []analyse.Language) {
	if len(readings) == 0 {
		readings = analyse.Languages()
	}
	for _, match := range p.synonyms.Find(words, readings) {
		for _, g := range groups[match.First : match.Last+1] {
			if g != nil {
				g.meant = true
			}
		}
		if match.Concept {
			addTold(groups[match.First:match.Last+1], match.Means)
			continue
		}
		for _, meaning := range match.Means {
			others := p.analyser.Words(readings, meaning.Text)
			weight := int32(synonymWeight)
			if len(others) > 1 {
				weight = phraseWeight
			}
			if match.Language != analyse.Undetermined {
				weight = weight * everydayShare / wholeWeight
			}
			for i := match.First; i <= match.Last; i++ {
				if groups[i] == nil {
					continue
				}
				for _, other := range others {
					if other.Stop && len(others) > 1 {
						continue
					}
					for _, form := range other.Forms {
						groups[i].add(form, weight)
					}
				}
			}
		}
	}
}

// toldShare is how surely a phrase of the lexicon says a word: as an everyday word does.
const toldShare = float64(synonymWeight*everydayShare) / (wholeWeight * wholeWeight)

// addTold notes what the lexicon has for words of a question.
func addTold(groups []*group, means []analyse.Meaning) {
	for _, g := range groups {
		if g == nil {
			continue
		}
		for _, m := range means {
			for _, term := range m.Terms {
				if len(g.told) < maxTold {
					g.told = append(g.told, toldTerm{term, m.Language})
				}
			}
		}
	}
}

// resolve looks a group's terms up, adds terms that look like a word that was
// not found, and drops what is nowhere.
func (p *planner) resolve(ctx context.Context, g *group, loose bool) error {
	main := uint32(0)
	for i := range g.variants {
		v := &g.variants[i]
		if err := p.lookUp(v, ctx.Err); err != nil {
			return err
		}
		if v.weight == wholeWeight {
			main = max(main, v.df)
		}
	}
	g.exact = main > 0
	parts, err := p.addParts(ctx, g)
	if err != nil {
		return err
	}
	if found := main > 0 || parts; !found || loose {
		if err := p.addNear(ctx, g, found); err != nil {
			return err
		}
	}
	g.variants = slices.DeleteFunc(g.variants, func(v variant) bool { return v.df == 0 })
	g.rarity = rarity(p.passages, uint64(main))
	for i := range g.variants {
		v := &g.variants[i]
		v.worth = rarity(p.passages, uint64(max(main, v.df))) * v.weight / wholeWeight
	}
	return nil
}

// lookUp finds a variant in every view.
func (p *planner) lookUp(v *variant, spend segment.Spend) error {
	entries := make([]segment.TermEntry, len(p.views))
	for i, view := range p.views {
		if err := spend(); err != nil {
			return err
		}
		e, ok, err := view.view.Segment().Find(v.term)
		if err != nil {
			return err
		}
		if ok {
			entries[i] = e
		}
	}
	df, err := p.countTerm(entries, spend)
	v.entries, v.df = entries, df
	return err
}

// countTerm returns in how many passages of the scope a term is, and leaves the
// entries of the views where it is.
func (p *planner) countTerm(entries []segment.TermEntry, spend segment.Spend) (uint32, error) {
	df := uint32(0)
	for i, e := range entries {
		if e.DF == 0 {
			continue
		}
		n, err := p.views[i].count(e, &p.counter, spend)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			entries[i] = segment.TermEntry{}
		}
		df += n
	}
	return df, nil
}

// addNear adds terms that differ from a word by a typing mistake or an ending.
// Beside a word that was found only those that are very like it.
func (p *planner) addNear(ctx context.Context, g *group, found bool) error {
	likest := make(map[string]float64)
	for i, v := range g.variants {
		if v.weight < wholeWeight || i >= 3 {
			continue
		}
		for _, view := range p.views {
			near, err := view.view.Segment().Near(v.term, ctx.Err)
			if err != nil {
				return err
			}
			for _, n := range near {
				if !found || n.Likeness >= 0.8 {
					likest[n.Term] = max(likest[n.Term], n.Likeness)
				}
			}
		}
	}
	var candidates []variant
	for term, likeness := range likest {
		if !slices.ContainsFunc(g.variants, func(v variant) bool { return v.term == term }) {
			candidates = append(candidates, variant{term: term, weight: int32(nearWeight * likeness)})
		}
	}
	slices.SortFunc(candidates, func(a, b variant) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.term, b.term))
	})
	near, err := p.nearest(candidates, p.spend(ctx))
	if err != nil && !errors.Is(err, errSpent) {
		return err
	}
	g.variants = append(g.variants, near...)
	return nil
}

// nearest are the heaviest candidates that the scope has, of equals those that most
// passages have. Candidates come heaviest first; those that are too light to be among
// them are not looked up.
func (p *planner) nearest(candidates []variant, spend segment.Spend) (near []variant, err error) {
	for _, v := range candidates {
		if len(near) >= maxNear && v.weight < near[len(near)-1].weight {
			break
		}
		if err = p.lookUp(&v, spend); err != nil {
			break
		}
		if v.df > 0 {
			near = append(near, v)
		}
	}
	slices.SortFunc(near, func(a, b variant) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.df, a.df), cmp.Compare(a.term, b.term))
	})
	return near[:min(len(near), maxNear)], err
}
