package wirejson

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Form says how JSON writes a message type: most are objects of their fields,
// the well-known ones have a form of their own.
type Form uint8

// The forms.
const (
	Ordinary Form = iota
	Any
	Timestamp
	Duration
	FieldMask
	Struct
	List
	Value
	Wrapper
)

var wellKnownTypes = map[protoreflect.FullName]Form{
	"google.protobuf.Any":         Any,
	"google.protobuf.Timestamp":   Timestamp,
	"google.protobuf.Duration":    Duration,
	"google.protobuf.FieldMask":   FieldMask,
	"google.protobuf.Struct":      Struct,
	"google.protobuf.ListValue":   List,
	"google.protobuf.Value":       Value,
	"google.protobuf.BoolValue":   Wrapper,
	"google.protobuf.Int32Value":  Wrapper,
	"google.protobuf.UInt32Value": Wrapper,
	"google.protobuf.Int64Value":  Wrapper,
	"google.protobuf.UInt64Value": Wrapper,
	"google.protobuf.FloatValue":  Wrapper,
	"google.protobuf.DoubleValue": Wrapper,
	"google.protobuf.StringValue": Wrapper,
	"google.protobuf.BytesValue":  Wrapper,
}

// wellKnownFields is how many fields the special form needs: a descriptor that
// only borrows the name is treated as an ordinary message.
var wellKnownFields = map[Form][]protoreflect.Kind{
	Any:       {protoreflect.StringKind, protoreflect.BytesKind},
	Timestamp: {protoreflect.Int64Kind, protoreflect.Int32Kind},
	Duration:  {protoreflect.Int64Kind, protoreflect.Int32Kind},
	FieldMask: {protoreflect.StringKind},
	Struct:    {protoreflect.MessageKind},
	List:      {protoreflect.MessageKind},
	Value: {
		protoreflect.EnumKind, protoreflect.DoubleKind, protoreflect.StringKind,
		protoreflect.BoolKind, protoreflect.MessageKind, protoreflect.MessageKind,
	},
}

// FormOf returns the form of a message type.
func FormOf(md protoreflect.MessageDescriptor) Form {
	known := wellKnownTypes[md.FullName()]
	if known == Ordinary {
		return Ordinary
	}
	fields := md.Fields()
	if known == Wrapper {
		if fields.Len() != 1 || fields.Get(0).Number() != 1 || fields.Get(0).HasPresence() {
			return Ordinary
		}
		return known
	}
	want := wellKnownFields[known]
	if fields.Len() != len(want) {
		return Ordinary
	}
	for i, kind := range want {
		fd := fields.Get(i)
		if fd.Kind() != kind || fd.Number() != protowire.Number(i+1) {
			return Ordinary
		}
		list := known == FieldMask || known == List
		if fd.IsList() != list || fd.IsMap() != (known == Struct) {
			return Ordinary
		}
	}
	return known
}

// wellKnown writes a message whose type has a JSON form of its own.
func (e *encoder) wellKnown(p *messagePlan, data []byte) error {
	switch p.known {
	case Any:
		return e.anyMessage(p, data)
	case Timestamp:
		if seconds, nanos, ok := plainTimestamp(data); ok {
			e.out = appendTimestamp(e.out, seconds, nanos)
			return nil
		}
	}
	base, err := e.locate(p, data)
	if err != nil {
		return err
	}
	spans := e.spans[base:]
	switch p.known {
	case Timestamp, Duration:
		var parts [2]int64
		for i := range parts {
			if s := spans[i]; s.count > 0 {
				v, _ := protowire.ConsumeVarint(data[s.start:s.end])
				parts[i] = int64(v) //nolint:gosec // two's complement
			}
		}
		nanos := int64(int32(parts[1])) //nolint:gosec // an int32 on the wire
		if p.known == Timestamp {
			e.out = appendTimestamp(e.out, parts[0], nanos)
		} else {
			e.out = appendDuration(e.out, parts[0], nanos)
		}
	case FieldMask:
		e.fieldMask(p, data)
	case Struct, List:
		// The only field stands for the whole.
		err = e.field(&p.fields[0], data, spans[0])
	case Wrapper:
		if f := &p.fields[0]; spans[0].count > 0 {
			err = e.value(f, data[spans[0].start:spans[0].end])
		} else {
			e.out = append(e.out, f.kind.zero(Plain)...)
		}
	default:
		err = e.dynamicValue(p, data, base)
	}
	e.spans = e.spans[:base]
	return err
}

// plainTimestamp reads a timestamp whose fields come once and in order, as they
// nearly always do.
func plainTimestamp(data []byte) (seconds, nanos int64, ok bool) {
	seconds, data = leadingVarint(data, 1)
	nanos, data = leadingVarint(data, 2)
	return seconds, int64(int32(nanos)), len(data) == 0 //nolint:gosec // an int32 on the wire
}

// leadingVarint takes a field off the beginning of a message, if it is there.
func leadingVarint(data []byte, field byte) (v int64, rest []byte) {
	if len(data) == 0 || data[0] != field<<3 {
		return 0, data
	}
	u, n := protowire.ConsumeVarint(data[1:])
	if n < 0 {
		return 0, data
	}
	return int64(u), data[1+n:] //nolint:gosec // two's complement
}

// dynamicValue writes google.protobuf.Value; one without a kind is null.
func (e *encoder) dynamicValue(p *messagePlan, data []byte, base int) error {
	for i := range p.fields {
		s := e.spans[base+i]
		if s.count == 0 {
			continue
		}
		if p.fields[i].kind == kindDouble {
			v := math.Float64frombits(binary.LittleEndian.Uint64(data[s.start:s.end]))
			e.out = appendFloat(e.out, v, 64)
			return nil
		}
		return e.field(&p.fields[i], data, s)
	}
	e.out = append(e.out, "null"...)
	return nil
}

func (e *encoder) fieldMask(p *messagePlan, data []byte) {
	var paths []string
	for off := 0; off < len(data); {
		num, typ, n := consumeTag(data[off:])
		start, end, next := valueBounds(num, typ, data, off+n)
		if num == 1 && p.fields[0].accepts(typ) {
			paths = append(paths, camelCase(string(data[start:end])))
		}
		off = next
	}
	e.out = AppendString(e.out, []byte(strings.Join(paths, ",")))
}

// camelCase turns some_field.other_name into someField.otherName.
func camelCase(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '_' && i+1 < len(s) && 'a' <= s[i+1] && s[i+1] <= 'z' {
			i++
			b = append(b, s[i]-'a'+'A')
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

// The range of google.protobuf.Timestamp: the years 1 to 9999.
const (
	minTimestamp = -62135596800
	maxTimestamp = 253402300799
	maxDuration  = 315576000000
)

// appendTimestamp writes RFC 3339 with 0, 3, 6 or 9 digits; a time outside the
// years 1 to 9999 is null.
func appendTimestamp(dst []byte, seconds, nanos int64) []byte {
	if seconds < minTimestamp || seconds > maxTimestamp || nanos < 0 || nanos > 999999999 {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = appendDateTime(dst, seconds)
	return append(appendFraction(dst, nanos), 'Z', '"')
}

// The proleptic Gregorian calendar repeats every 400 years; its eras are
// counted from the first of March of the year 0, so that a leap day is last.
const (
	daysPerEra    = 146097
	daysToEpoch   = 719468 // from 0000-03-01 to 1970-01-01
	secondsPerDay = 24 * 60 * 60
)

// appendDateTime writes the seconds since 1970 as 2006-01-02T15:04:05. It does
// what package time does, without its time zones, which a list of claims asks
// for hundreds of times.
func appendDateTime(dst []byte, seconds int64) []byte {
	days, rest := seconds/secondsPerDay, seconds%secondsPerDay
	if rest < 0 {
		days, rest = days-1, rest+secondsPerDay
	}
	days += daysToEpoch // not negative from the year 1 on
	era, day := days/daysPerEra, days%daysPerEra
	yearOfEra := (day - day/1460 + day/36524 - day/146096) / 365
	day -= 365*yearOfEra + yearOfEra/4 - yearOfEra/100
	month := (5*day + 2) / 153 // 0 is March
	day -= (153*month+2)/5 - 1
	year := era*400 + yearOfEra
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	dst = append(dst, "0000-00-00T00:00:00"...)
	text := dst[len(dst)-19:]
	putDigits(text[0:2], year/100)
	putDigits(text[2:4], year%100)
	putDigits(text[5:7], month)
	putDigits(text[8:10], day)
	putDigits(text[11:13], rest/3600)
	putDigits(text[14:16], rest/60%60)
	putDigits(text[17:19], rest%60)
	return dst
}

// putDigits writes a number below 100 with two digits.
func putDigits(dst []byte, n int64) { dst[0], dst[1] = hexDigits[n/10], hexDigits[n%10] }

// appendDuration writes seconds with 0, 3, 6 or 9 digits and an s.
func appendDuration(dst []byte, seconds, nanos int64) []byte {
	if seconds < -maxDuration || seconds > maxDuration || nanos < -999999999 || nanos > 999999999 ||
		seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	if seconds < 0 || nanos < 0 {
		dst = append(dst, '-')
		seconds, nanos = -seconds, -nanos
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	return append(appendFraction(dst, nanos), 's', '"')
}

func appendFraction(dst []byte, nanos int64) []byte {
	if nanos == 0 {
		return dst
	}
	digits := 9
	for nanos%1000 == 0 {
		nanos /= 1000
		digits -= 3
	}
	dst = append(dst, '.')
	mark := len(dst)
	for range digits {
		dst = append(dst, '0')
	}
	for i := mark + digits - 1; nanos > 0; i-- {
		dst[i] = byte('0' + nanos%10)
		nanos /= 10
	}
	return dst
}

// anyMessage writes {"@type": …} with the fields of the message inside. A type
// that nobody knows is written as base64 and noted, so that the caller can
// look for it.
func (e *encoder) anyMessage(p *messagePlan, data []byte) error {
	base, err := e.locate(p, data)
	if err != nil {
		return err
	}
	var url, value []byte
	if s := e.spans[base]; s.count > 0 {
		url = data[s.start:s.end]
	}
	if s := e.spans[base+1]; s.count > 0 {
		value = data[s.start:s.end]
	}
	e.spans = e.spans[:base]
	if len(url) == 0 && len(value) == 0 {
		e.out = append(e.out, "{}"...)
		return nil
	}
	e.out = append(e.out, `{"@type":`...)
	e.out = AppendString(e.out, url)
	name := string(url)
	name = name[strings.LastIndexByte(name, '/')+1:]
	var inner *messagePlan
	if e.lookup != nil {
		inner = e.lookup(name)
	}
	switch {
	case inner == nil:
		if len(e.unknown) < 16 && typeName(name) && !slices.Contains(e.unknown, name) {
			e.unknown = append(e.unknown, name)
		}
		e.out = append(e.out, `,"value":`...)
		e.out = appendBase64(e.out, value)
	case inner.known != Ordinary:
		e.out = append(e.out, `,"value":`...)
		err = e.message(inner, value)
	default:
		err = e.members(inner, value)
	}
	e.out = append(e.out, '}')
	return err
}

// maxTypeName is the longest name of a type that is looked for.
const maxTypeName = 512

// typeName reports whether a type can have the name: what stands in a reply may
// have been written by anybody.
func typeName(name string) bool {
	return len(name) <= maxTypeName && protoreflect.FullName(name).IsValid()
}
