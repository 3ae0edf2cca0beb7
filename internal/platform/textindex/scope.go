package textindex

import (
	"context"

	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

// scoped is a view as one query may see it.
type scoped struct {
	view    *View
	hidden  segment.Set // gone, or not in the scope
	visible uint64
	// narrowed says that the scope has some of the documents only, so that the
	// view's own counts are not the scope's.
	narrowed bool
}

// applyScope leaves what a query may see.
func applyScope(ctx context.Context, views []*View, scope Scope) ([]scoped, error) {
	var out []scoped
	for _, v := range views {
		documents, ok := scope[v.Segment().Collection()]
		switch {
		case !ok || v.Passages() == 0:
		case documents.all:
			out = append(out, scoped{view: v, hidden: v.Gone(), visible: uint64(v.Passages())}) //nolint:gosec // not negative
		case len(documents.only) > 0 || documents.that != nil:
			s, err := narrow(ctx, v, documents)
			if err != nil {
				return nil, err
			}
			if s.visible > 0 {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

func narrow(ctx context.Context, v *View, documents Documents) (scoped, error) {
	// A scope of many documents is asked by each segment for its own, which are few:
	// to look for all of them in every segment costs as much as the rest of a question.
	if documents.that != nil || v.Segment().CountDocuments() <= len(documents.only) {
		return leaveOut(ctx, v, documents.Has)
	}
	passages := v.Segment().Passages()
	s := scoped{view: v, narrowed: true, hidden: segment.NewSet(passages)}
	s.hidden.AddRange(0, uint32(passages)) //nolint:gosec // at most 2^31
	for i, document := range documents.only {
		if i%256 == 0 && ctx.Err() != nil {
			return s, ctx.Err()
		}
		from, to, ok, err := v.Segment().Span(document)
		if err != nil {
			return s, err
		}
		if ok {
			s.hidden.RemoveRange(from, to)
		}
	}
	for i, w := range v.Gone() {
		s.hidden[i] |= w
	}
	s.visible = uint64(passages) - uint64(s.hidden.Size()) //nolint:gosec // not negative
	return s, nil
}

// leaveOut hides what is not chosen. A view of which all is chosen keeps its own counts.
func leaveOut(ctx context.Context, v *View, chosen func(name string) bool) (scoped, error) {
	s := scoped{view: v, hidden: v.Gone(), visible: uint64(v.Passages())} //nolint:gosec // not negative
	steps := 0
	err := v.Segment().EachDocument(func(name string, from, to uint32) error {
		if steps++; steps%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if chosen(name) {
			return nil
		}
		if !s.narrowed {
			s.narrowed, s.hidden = true, segment.NewSet(v.Segment().Passages())
			copy(s.hidden, v.Gone())
		}
		s.hidden.AddRange(from, to)
		return nil
	})
	if s.narrowed {
		s.visible = uint64(v.Segment().Passages()) - uint64(s.hidden.Size()) //nolint:gosec // not negative
	}
	return s, err
}

// count returns in how many passages that the query may see a term is.
func (s scoped) count(e segment.TermEntry, reader *segment.Postings, spend segment.Spend) (uint32, error) {
	if s.narrowed {
		return s.view.Segment().CountOutside(e, s.hidden, reader, spend)
	}
	return s.view.Count(e, reader, spend)
}
