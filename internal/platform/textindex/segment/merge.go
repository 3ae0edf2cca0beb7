package segment

import (
	"cmp"
	"context"
	"errors"
	"io"
)

// Merge writes one segment from what is left in several of one collection: the
// same bytes that a Builder would have written from these passages. It holds
// the dictionary, one term's postings and a few passages in memory, and no more
// however long the texts are. A passage that is in two views is an error: the
// older document has to be taken out first.
func Merge(ctx context.Context, out io.Writer, views ...*View) (int64, error) {
	if len(views) == 0 {
		return 0, errors.New("merge search segments: there are none")
	}
	collection := views[0].segment.Collection()
	for _, v := range views {
		if v.segment.Collection() != collection {
			return 0, errors.New("merge search segments: they belong to different collections")
		}
	}
	w, err := newSegmentWriter(out, collection)
	if err != nil {
		return 0, err
	}
	numbers, err := mergePassages(ctx, w, views)
	if err != nil {
		return 0, err
	}
	if err := mergeTerms(ctx, w, views, numbers); err != nil {
		return 0, err
	}
	return w.finish()
}

// passageCursor walks over the passages that are left in a view.
type passageCursor struct {
	view  *View
	at    uint32
	block storedBlock
}

func (c *passageCursor) done() bool { return uint64(c.at) >= c.view.segment.contents.passages }

func (c *passageCursor) passage() *storedPassage { return &c.block.passages[c.at%blockPassages] }

// settle moves to the first passage that is left, at or after where it stands.
func (c *passageCursor) settle(fresh bool) error {
	for !c.done() && c.view.gone.Has(c.at) {
		c.at++
		fresh = fresh || c.at%blockPassages == 0
	}
	if c.done() || !fresh {
		return nil
	}
	return c.block.read(c.view.segment, int(c.at/blockPassages))
}

func (c *passageCursor) next() error {
	c.at++
	return c.settle(c.at%blockPassages == 0)
}

// mergePassages writes the passages in order and returns, for each view, the new
// number of each old passage.
func mergePassages(ctx context.Context, w *segmentWriter, views []*View) ([][]uint32, error) {
	numbers := make([][]uint32, len(views))
	cursors := make([]*passageCursor, len(views))
	for i, v := range views {
		numbers[i] = make([]uint32, v.segment.contents.passages)
		cursors[i] = &passageCursor{view: v}
		if err := cursors[i].settle(true); err != nil {
			return nil, err
		}
	}
	for n := uint32(0); ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		least := -1
		for i, c := range cursors {
			if c.done() {
				continue
			}
			if least >= 0 {
				p, q := c.passage(), cursors[least].passage()
				if cmp.Or(cmp.Compare(p.document, q.document), cmp.Compare(p.number, q.number)) >= 0 {
					continue
				}
			}
			least = i
		}
		if least < 0 {
			return numbers, w.endPassages()
		}
		c := cursors[least]
		if err := w.addStored(*c.passage()); err != nil {
			return nil, err
		}
		numbers[least][c.at] = n
		if err := c.next(); err != nil {
			return nil, err
		}
	}
}

func mergeTerms(ctx context.Context, w *segmentWriter, views []*View, numbers [][]uint32) error {
	cursors := make([]*Terms, len(views))
	heads := make([]TermEntry, len(views))
	left := make([]bool, len(views))
	next := func(i int) (err error) {
		heads[i], left[i], err = cursors[i].Next()
		return err
	}
	for i, v := range views {
		cursors[i] = v.segment.allTerms(ctx.Err)
		if err := next(i); err != nil {
			return err
		}
	}
	var all postingRuns
	for {
		term, some := "", false
		for i, e := range heads {
			if left[i] && (!some || e.Term < term) {
				term, some = e.Term, true
			}
		}
		if !some {
			return nil
		}
		all.reset()
		for i, e := range heads {
			if !left[i] || e.Term != term {
				continue
			}
			if err := all.add(views[i], e, numbers[i]); err != nil {
				return err
			}
			if err := next(i); err != nil {
				return err
			}
		}
		all.each(w.postings.add)
		if err := w.addTerm(term); err != nil {
			return err
		}
	}
}

// postingRuns are the postings of one term, a run for each segment that has it. In each
// run passages ascend, since joining keeps the order of a segment's passages, and no
// passage is in two.
type postingRuns struct {
	reader Postings
	list   []posting
	heads  []int // where each run goes on
	ends   []int
}

func (r *postingRuns) reset() { r.list, r.heads, r.ends = r.list[:0], r.heads[:0], r.ends[:0] }

// add reads a segment's postings that are left, under their new numbers.
func (r *postingRuns) add(v *View, e TermEntry, numbers []uint32) error {
	r.heads = append(r.heads, len(r.list))
	p := &r.reader
	if err := p.open(v.segment.from, e, v.segment.contents.passages); err != nil {
		return err
	}
	for block := range p.blocks {
		if err := p.decode(block); err != nil {
			return err
		}
		d, err := p.positions()
		if err != nil {
			return err
		}
		for i, doc := range p.docs[:p.n] {
			begin := d.at
			skipPositions(&d)
			if !v.gone.Has(doc) {
				r.list = append(r.list, posting{numbers[doc], p.impacts[i], d.data[begin:d.at]})
			}
		}
		if d.failed {
			return corrupt("positions end early")
		}
	}
	r.ends = append(r.ends, len(r.list))
	return nil
}

// each hands the postings over in order of their passages. A document's passages are
// neighbours, so that a run mostly goes on for a while before another is next.
func (r *postingRuns) each(yield func(passage uint32, impact uint8, positions []byte)) {
	for {
		least, next := -1, NoPassage // the run that goes on, and where another does
		for i, head := range r.heads {
			switch {
			case head == r.ends[i]:
			case least < 0:
				least = i
			case r.list[head].passage < r.list[r.heads[least]].passage:
				least, next = i, r.list[r.heads[least]].passage
			default:
				next = min(next, r.list[head].passage)
			}
		}
		if least < 0 {
			return
		}
		for r.heads[least] < r.ends[least] && r.list[r.heads[least]].passage < next {
			p := &r.list[r.heads[least]]
			yield(p.passage, p.impact, p.positions)
			r.heads[least]++
		}
	}
}
