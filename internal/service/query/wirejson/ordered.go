package wirejson

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// errDisorder stops the short way through a message whose fields do not come
// in the order in which they are written. The reply is then begun again the
// long way, once, however many of its messages are like that.
var errDisorder = errors.New("fields out of order")

// shortWay is what the short way through a message needs: most senders write
// fields by their numbers, in which order most messages declare them, so that
// JSON can be written while the wire is read, without notes in between: half the
// time of the long way. Going back for one message alone, instead of for the
// reply, would cost two to the power of the nesting.
type shortWay struct {
	// absents holds the members of all unset fields in a row, and ends where
	// that of each field ends in it: a gap between two fields is one copy.
	absents string
	ends    []int32
}

// maxOneofs is how many oneofs the short way can tell apart.
const maxOneofs = 64

// newShortWay returns nil when the fields are declared in another order than
// that of their numbers.
func newShortWay(p *messagePlan) *shortWay {
	if p.known != Ordinary || len(p.oneofs) > maxOneofs {
		return nil
	}
	s := &shortWay{ends: make([]int32, len(p.fields)+1)}
	for i := range p.fields {
		f := &p.fields[i]
		if i > 0 && f.number <= p.fields[i-1].number {
			return nil
		}
		if f.absent != "" {
			s.absents += f.key + f.absent
		}
		s.ends[i+1] = int32(len(s.absents)) //nolint:gosec // a descriptor is smaller than 2 GiB
	}
	return s
}

// gap returns the members of the unset fields from i up to j.
func (s *shortWay) gap(i, j int) string { return s.absents[s.ends[i]:s.ends[j]] }

// ordered writes the members of a message, each with a comma before it.
func (e *encoder) ordered(p *messagePlan, data []byte) error {
	var (
		way    = p.short
		out    = e.out
		next   int    // index of the first field that is not written yet
		open   bool   // the field before it is a list that may go on
		oneofs uint64 // that have a member already
	)
	for off := 0; off < len(data); {
		num, typ, size := consumeTag(data[off:])
		if size < 0 {
			return ErrMalformed
		}
		tag := off
		start, end, after := valueBounds(num, typ, data, off+size)
		if after < 0 {
			return ErrMalformed
		}
		off = after
		i := p.index(num)
		if i < 0 || !p.fields[i].accepts(typ) {
			continue
		}
		f := &p.fields[i]
		more := false // elements before this one
		if i < next {
			if more = open && i == next-1; !more {
				return e.disorder(p)
			}
		} else {
			if open {
				out, open = append(out, ']'), false
			}
			if i > next {
				out = append(out, way.gap(next, i)...)
			}
			out = append(out, f.key...)
			next = i + 1
		}
		if f.oneof >= 0 {
			bit := uint64(1) << f.oneof
			if oneofs&bit != 0 {
				return e.disorder(p)
			}
			oneofs |= bit
		}
		value := data[start:end]
		switch {
		case f.isMap:
			off = run(f, data, tag, after)
			e.out = out
			if err := e.mapField(f, data[tag:off]); err != nil {
				return err
			}
			out = e.out
			continue
		case f.repeated:
			if !more {
				out, open = append(out, '['), true
			}
			if typ == protowire.BytesType && f.packable() {
				e.out = out
				if err := e.packed(f, value, &more); err != nil {
					return err
				}
				out = e.out
				continue
			}
			if more {
				out = append(out, ',')
			}
		}
		switch f.kind {
		case kindString:
			out = AppendString(out, value)
		case kindEnum, kindBool, kindUint64, kindInt64, kindUint32, kindInt32:
			v := uint64(value[0])
			if v >= 0x80 {
				var n int
				if v, n = protowire.ConsumeVarint(value); n < 0 {
					return ErrMalformed
				}
			}
			out = appendVarint(out, f, v)
		default:
			e.out = out
			if err := e.value(f, value); err != nil {
				return err
			}
			out = e.out
		}
	}
	if open {
		out = append(out, ']')
	}
	e.out = append(out, way.gap(next, len(p.fields))...)
	return nil
}

// run returns where the entries of a map that follow each other end.
func run(f *fieldPlan, data []byte, tag, after int) int {
	for off := after; off < len(data); {
		num, typ, size := consumeTag(data[off:])
		if size < 0 || num != f.number || !f.accepts(typ) {
			break
		}
		_, _, next := valueBounds(num, typ, data, off+size)
		if next < 0 {
			break
		}
		off, after = next, next
	}
	return max(after, tag)
}

// disorder remembers that messages of this type come out of order.
func (e *encoder) disorder(p *messagePlan) error {
	p.scattered.Store(true)
	return errDisorder
}
