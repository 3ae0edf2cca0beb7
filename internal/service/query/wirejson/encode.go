package wirejson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds the nesting of messages in a reply.
const maxDepth = 100

// Reasons why a reply cannot be written.
var (
	ErrMalformed = errors.New("malformed reply")
	ErrTooLarge  = errors.New("reply too large")
)

// span remembers where a field of the message at hand was seen.
type span struct {
	first      int32 // start of the first occurrence, at its tag
	start, end int32 // value of the last occurrence
	count      int32
}

// encoder turns the wire form of a message into JSON. The zero value is ready,
// and an encoder may be used again: it then allocates nothing.
type encoder struct {
	out     []byte
	spans   []span
	depth   int
	limit   int // of len(out)
	dialect Dialect
	long    bool                           // take the long way everywhere
	lookup  func(name string) *messagePlan // types inside Any; may be nil
	unknown []string                       // names that lookup did not know
}

func (e *encoder) reset(d Dialect, limit int, lookup func(string) *messagePlan) {
	e.out, e.spans, e.unknown = e.out[:0], e.spans[:0], nil
	e.depth, e.limit, e.dialect, e.lookup, e.long = 0, limit, d, lookup, false
}

// reply writes a whole reply behind dst.
func (e *encoder) reply(dst []byte, write func(*encoder) error) ([]byte, error) {
	e.limit += len(dst)
	e.out = dst
	err := write(e)
	if errors.Is(err, errDisorder) {
		e.long, e.depth = true, 0
		e.out, e.spans, e.unknown = e.out[:len(dst)], e.spans[:0], nil
		err = write(e)
	}
	if err == nil && len(e.out) > e.limit {
		err = ErrTooLarge
	}
	out := e.out
	e.out = nil
	return out, err
}

// message writes the message in data, well-known types in their own forms.
func (e *encoder) message(p *messagePlan, data []byte) error {
	if e.depth++; e.depth > maxDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrMalformed, maxDepth)
	}
	if len(e.out) > e.limit {
		return ErrTooLarge
	}
	var err error
	if p.known != Ordinary {
		err = e.wellKnown(p, data)
	} else {
		mark := len(e.out)
		if err = e.members(p, data); err == nil {
			if mark == len(e.out) {
				e.out = append(e.out, '{')
			}
			e.out[mark] = '{' // in place of the first comma
			e.out = append(e.out, '}')
		}
	}
	e.depth--
	return err
}

// members writes the fields without the braces, each with a comma before it.
func (e *encoder) members(p *messagePlan, data []byte) error {
	if p.short != nil && !e.long && !p.scattered.Load() {
		return e.ordered(p, data)
	}
	base, err := e.locate(p, data)
	if err != nil {
		return err
	}
	for i := range p.fields {
		f := &p.fields[i]
		s := e.spans[base+i]
		if s.count == 0 && f.absent == "" {
			continue
		}
		e.out = append(e.out, f.key...)
		if err := e.field(f, data, s); err != nil {
			return err
		}
	}
	e.spans = e.spans[:base]
	return nil
}

// locate finds the fields of a message, and returns the index of its first span.
func (e *encoder) locate(p *messagePlan, data []byte) (int, error) {
	if len(data) > math.MaxInt32 {
		return 0, ErrTooLarge
	}
	base, n := len(e.spans), len(p.fields)
	e.spans = slices.Grow(e.spans, n)[:base+n]
	spans := e.spans[base:]
	clear(spans)
	for off := 0; off < len(data); {
		tag := off
		num, typ, size := consumeTag(data[off:])
		if size < 0 {
			return 0, ErrMalformed
		}
		off += size
		start, end, next := valueBounds(num, typ, data, off)
		if next < 0 {
			return 0, ErrMalformed
		}
		off = next
		i := p.index(num)
		if i < 0 || !p.fields[i].accepts(typ) {
			continue
		}
		if o := p.fields[i].oneof; o >= 0 {
			for _, other := range p.oneofs[o] {
				if int(other) != i {
					spans[other] = span{}
				}
			}
		}
		s := &spans[i]
		if s.count == 0 {
			s.first = int32(tag)
		}
		s.start, s.end = int32(start), int32(end) //nolint:gosec // len(data) was checked above
		s.count++
	}
	return base, nil
}

// consumeTag is protowire.ConsumeTag with a short way for small numbers.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	if b[0] < 0x80 && b[0] >= 8 {
		return protowire.Number(b[0] >> 3), protowire.Type(b[0] & 7), 1
	}
	return protowire.ConsumeTag(b)
}

// valueBounds returns where the payload of a value starts and ends, and where
// the next tag stands; next is negative when the bytes are malformed.
func valueBounds(num protowire.Number, typ protowire.Type, data []byte, off int) (start, end, next int) {
	switch typ {
	case protowire.VarintType:
		for i := off; i < len(data) && i < off+10; i++ {
			if data[i] < 0x80 {
				return off, i + 1, i + 1
			}
		}
		return 0, 0, -1
	case protowire.BytesType:
		var size uint64
		n := 1
		if off < len(data) && data[off] < 0x80 {
			size = uint64(data[off])
		} else if size, n = protowire.ConsumeVarint(data[off:]); n < 0 {
			return 0, 0, -1
		}
		start = off + n
		if size > uint64(len(data)-start) { //nolint:gosec // start is at most len(data)
			return 0, 0, -1
		}
		end = start + int(size) //nolint:gosec // bounded by len(data)
		return start, end, end
	case protowire.Fixed32Type:
		next = off + 4
	case protowire.Fixed64Type:
		next = off + 8
	case protowire.StartGroupType:
		body, n := protowire.ConsumeGroup(num, data[off:])
		if n < 0 {
			return 0, 0, -1
		}
		return off, off + len(body), off + n
	default:
		return 0, 0, -1
	}
	if next > len(data) {
		return 0, 0, -1
	}
	return off, next, next
}

// only writes a single field of the message in place of the whole.
func (e *encoder) only(p *messagePlan, field int, data []byte) error {
	base, err := e.locate(p, data)
	if err != nil {
		return err
	}
	s := e.spans[base+field]
	if s.count == 0 && p.fields[field].absent == "" {
		e.out = append(e.out, "null"...)
		return nil
	}
	return e.field(&p.fields[field], data, s)
}

func (e *encoder) field(f *fieldPlan, data []byte, s span) error {
	switch {
	case s.count == 0:
		e.out = append(e.out, f.absent...)
		return nil
	case f.isMap:
		return e.mapField(f, data[s.first:s.end])
	case f.repeated:
		return e.list(f, data[s.first:], int(s.end-s.first))
	case s.count > 1 && f.message != nil:
		return e.message(f.message, mergeOccurrences(f, data[s.first:]))
	default:
		return e.value(f, data[s.start:s.end])
	}
}

// mergeOccurrences joins the parts of a message that came in pieces: the
// concatenation of encodings is the encoding of the merged message.
func mergeOccurrences(f *fieldPlan, data []byte) []byte {
	var merged []byte
	for off := 0; off < len(data); {
		num, typ, n := consumeTag(data[off:])
		start, end, next := valueBounds(num, typ, data, off+n)
		if num == f.number && f.accepts(typ) {
			merged = append(merged, data[start:end]...)
		}
		off = next
	}
	return merged
}

// list writes the elements whose tags start before limit. The bytes were
// walked by locate, so they are well formed on this level.
func (e *encoder) list(f *fieldPlan, data []byte, limit int) error {
	e.out = append(e.out, '[')
	comma := false
	for off := 0; off < limit; {
		num, typ, n := consumeTag(data[off:])
		start, end, next := valueBounds(num, typ, data, off+n)
		off = next
		if num != f.number || !f.accepts(typ) {
			continue
		}
		if typ == protowire.BytesType && f.packable() {
			if err := e.packed(f, data[start:end], &comma); err != nil {
				return err
			}
			continue
		}
		if comma {
			e.out = append(e.out, ',')
		}
		comma = true
		if err := e.value(f, data[start:end]); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) packed(f *fieldPlan, data []byte, comma *bool) error {
	for off := 0; off < len(data); {
		_, end, next := valueBounds(f.number, f.wire, data, off)
		if next < 0 {
			return ErrMalformed
		}
		if *comma {
			e.out = append(e.out, ',')
		}
		*comma = true
		if err := e.value(f, data[off:end]); err != nil {
			return err
		}
		off = next
		if len(e.out) > e.limit {
			return ErrTooLarge
		}
	}
	return nil
}

type mapEntry struct {
	key  string
	data []byte
}

// mapField writes a map with its keys in order, the last of equal keys winning.
func (e *encoder) mapField(f *fieldPlan, data []byte) error {
	var entries []mapEntry
	key, val := &f.message.fields[0], &f.message.fields[1]
	for off := 0; off < len(data); {
		num, typ, n := consumeTag(data[off:])
		start, end, next := valueBounds(num, typ, data, off+n)
		off = next
		if num != f.number || !f.accepts(typ) {
			continue
		}
		mark := len(e.out)
		base, err := e.locate(f.message, data[start:end])
		if err != nil {
			return err
		}
		if s := e.spans[base]; s.count == 0 {
			e.out = append(e.out, key.kind.zero(e.dialect)...)
		} else if err := e.value(key, data[start:end][s.start:s.end]); err != nil {
			return err
		}
		e.spans = e.spans[:base]
		entries = append(entries, mapEntry{string(e.out[mark:]), data[start:end]})
		e.out = e.out[:mark]
	}
	slices.SortStableFunc(entries, func(a, b mapEntry) int { return strings.Compare(a.key, b.key) })
	e.out = append(e.out, '{')
	comma := false
	for i, entry := range entries {
		if i+1 < len(entries) && entries[i+1].key == entry.key {
			continue
		}
		if comma {
			e.out = append(e.out, ',')
		}
		comma = true
		if entry.key[0] == '"' {
			e.out = append(e.out, entry.key...)
		} else {
			e.out = append(append(append(e.out, '"'), entry.key...), '"')
		}
		e.out = append(e.out, ':')
		if err := e.mapValue(f.message, val, entry.data); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

func (e *encoder) mapValue(p *messagePlan, val *fieldPlan, data []byte) error {
	base, err := e.locate(p, data)
	if err != nil {
		return err
	}
	s := e.spans[base+1]
	switch {
	case s.count > 0:
		err = e.field(val, data, s)
	case val.message != nil:
		err = e.message(val.message, nil)
	case val.enum != nil:
		e.out = val.enum.append(e.out, 0)
	default:
		e.out = append(e.out, val.kind.zero(e.dialect)...)
	}
	e.spans = e.spans[:base]
	return err
}

// value writes one value; its bytes have the length that their wire type asks for.
func (e *encoder) value(f *fieldPlan, b []byte) error {
	switch f.kind {
	case kindMessage, kindGroup:
		return e.message(f.message, b)
	case kindString:
		e.out = AppendString(e.out, b)
	case kindBytes, kindUnknown:
		e.out = appendBase64(e.out, b)
	case kindDecimal:
		e.out = appendDecimal(e.out, b)
	case kindNumeral:
		e.out = AppendString(e.out, b)
	case kindHex:
		e.out = appendHex(e.out, b)
	case kindRawJSON:
		e.out = appendRawJSON(e.out, b)
	case kindFixed32, kindSfixed32, kindFloat:
		e.out = appendFixed32(e.out, f.kind, binary.LittleEndian.Uint32(b))
	case kindFixed64, kindSfixed64, kindDouble:
		e.out = appendFixed64(e.out, f.kind, binary.LittleEndian.Uint64(b))
	default:
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return ErrMalformed
		}
		e.out = appendVarint(e.out, f, v)
	}
	return nil
}

func appendVarint(dst []byte, f *fieldPlan, v uint64) []byte {
	switch f.kind {
	case kindBool:
		return strconv.AppendBool(dst, v != 0)
	case kindEnum:
		return f.enum.append(dst, int32(v)) //nolint:gosec // the low 32 bits, as protobuf does
	case kindInt32:
		return strconv.AppendInt(dst, int64(int32(v)), 10) //nolint:gosec // as above
	case kindSint32:
		return strconv.AppendInt(dst, int64(int32(protowire.DecodeZigZag(v&math.MaxUint32))), 10) //nolint:gosec // as above
	case kindUint32:
		return strconv.AppendUint(dst, v&math.MaxUint32, 10)
	case kindInt64:
		return append(strconv.AppendInt(append(dst, '"'), int64(v), 10), '"') //nolint:gosec // two's complement
	case kindSint64:
		return append(strconv.AppendInt(append(dst, '"'), protowire.DecodeZigZag(v), 10), '"')
	default:
		return append(strconv.AppendUint(append(dst, '"'), v, 10), '"')
	}
}

func appendFixed32(dst []byte, kind valueKind, v uint32) []byte {
	switch kind {
	case kindFloat:
		return appendFloat(dst, float64(math.Float32frombits(v)), 32)
	case kindSfixed32:
		return strconv.AppendInt(dst, int64(int32(v)), 10) //nolint:gosec // two's complement
	default:
		return strconv.AppendUint(dst, uint64(v), 10)
	}
}

func appendFixed64(dst []byte, kind valueKind, v uint64) []byte {
	switch kind {
	case kindDouble:
		return appendFloat(dst, math.Float64frombits(v), 64)
	case kindSfixed64:
		return append(strconv.AppendInt(append(dst, '"'), int64(v), 10), '"') //nolint:gosec // two's complement
	default:
		return append(strconv.AppendUint(append(dst, '"'), v, 10), '"')
	}
}

// append writes the name of the number, or the number when it has no name.
func (e *enumPlan) append(dst []byte, n int32) []byte {
	if e.null {
		return append(dst, "null"...)
	}
	if n >= 0 && int(n) < len(e.dense) && e.dense[n] != "" {
		return append(dst, e.dense[n]...)
	}
	if name, ok := e.sparse[n]; ok {
		return append(dst, name...)
	}
	return strconv.AppendInt(dst, int64(n), 10)
}
