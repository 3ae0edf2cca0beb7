package httprule

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// scalarValue is a parsed parameter: number holds the bits as they travel,
// text the bytes of what has a length.
type scalarValue struct {
	number uint64
	text   string
}

func (v scalarValue) append(dst []byte, kind protoreflect.Kind) []byte {
	switch wirejson.WireType(kind) {
	case protowire.VarintType:
		return protowire.AppendVarint(dst, v.number)
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(dst, uint32(v.number)) //nolint:gosec // parsed as 32 bits
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(dst, v.number)
	default:
		return protowire.AppendString(dst, v.text)
	}
}

func parseScalar(fd protoreflect.FieldDescriptor, kind protoreflect.Kind, text string,
	fromPath bool,
) (scalarValue, error) {
	switch kind {
	case protoreflect.StringKind:
		if !utf8.ValidString(text) {
			return scalarValue{}, errors.New("not UTF-8")
		}
		return scalarValue{text: text}, nil
	case protoreflect.BytesKind:
		b, err := parseBytes(text, fromPath)
		return scalarValue{text: string(b)}, err
	case protoreflect.EnumKind:
		return parseEnum(fd.Enum(), text)
	case protoreflect.BoolKind:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return scalarValue{}, fmt.Errorf("%q is not true or false", text)
		}
		return scalarValue{number: protowire.EncodeBool(v)}, nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return parseFloat(kind, text)
	default:
		return parseInteger(kind, text)
	}
}

func parseInteger(kind protoreflect.Kind, text string) (scalarValue, error) {
	bits := 64
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind, protoreflect.Uint32Kind,
		protoreflect.Fixed32Kind:
		bits = 32
	default:
	}
	switch kind {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		v, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			return scalarValue{}, fmt.Errorf("%q is not an unsigned %d-bit number", text, bits)
		}
		return scalarValue{number: v}, nil
	default:
	}
	v, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return scalarValue{}, fmt.Errorf("%q is not a %d-bit number", text, bits)
	}
	if kind == protoreflect.Sint32Kind || kind == protoreflect.Sint64Kind {
		return scalarValue{number: protowire.EncodeZigZag(v)}, nil
	}
	return scalarValue{number: uint64(v)}, nil //nolint:gosec // two's complement
}

func parseFloat(kind protoreflect.Kind, text string) (scalarValue, error) {
	bits := 64
	if kind == protoreflect.FloatKind {
		bits = 32
	}
	v, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return scalarValue{}, fmt.Errorf("%q is not a number", text)
	}
	if kind == protoreflect.FloatKind {
		return scalarValue{number: uint64(math.Float32bits(float32(v)))}, nil
	}
	return scalarValue{number: math.Float64bits(v)}, nil
}

// parseEnum takes a name or a number.
func parseEnum(ed protoreflect.EnumDescriptor, text string) (scalarValue, error) {
	if v := ed.Values().ByName(protoreflect.Name(text)); v != nil {
		return scalarValue{number: uint64(v.Number())}, nil //nolint:gosec // sign-extended, as protobuf does
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || ed.Values().ByNumber(protoreflect.EnumNumber(n)) == nil {
		return scalarValue{}, fmt.Errorf("%q is not one of %s", text, enumNames(ed))
	}
	return scalarValue{number: uint64(n)}, nil //nolint:gosec // as above
}

func enumNames(ed protoreflect.EnumDescriptor) string {
	const most = 12
	var names []string
	for i := range min(ed.Values().Len(), most) {
		names = append(names, string(ed.Values().Get(i).Name()))
	}
	if ed.Values().Len() > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// base64Alphabet maps the URL alphabet to the standard one, and repairs the
// plus sign that arrives as a blank when a client forgot to escape it.
var base64Alphabet = strings.NewReplacer("-", "+", "_", "/", " ", "+")

// parseBytes takes base64 in both alphabets. In a path the padding must be
// there: a twin route that takes a string must get the rest.
func parseBytes(text string, padded bool) ([]byte, error) {
	text = base64Alphabet.Replace(text)
	if !padded {
		text = strings.TrimRight(text, "=")
		text += "===="[:(4-len(text)%4)%4]
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("not base64")
	}
	return b, nil
}

// wellKnownParameter encodes the message types that have a textual form.
func wellKnownParameter(md protoreflect.MessageDescriptor, text string, fromPath bool) ([]byte, error) {
	switch wirejson.FormOf(md) {
	case wirejson.Timestamp:
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a time such as 2026-01-02T15:04:05Z", text)
		}
		return appendSecondsNanos(t.Unix(), int64(t.Nanosecond())), nil
	case wirejson.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a duration such as 1.5s", text)
		}
		return appendSecondsNanos(int64(d/time.Second), int64(d%time.Second)), nil
	case wirejson.FieldMask:
		var b []byte
		for path := range strings.SplitSeq(text, ",") {
			b = protowire.AppendTag(b, 1, protowire.BytesType)
			b = protowire.AppendString(b, snakeCase(path))
		}
		return b, nil
	case wirejson.Wrapper:
		fd := md.Fields().Get(0)
		kind := fd.Kind()
		v, err := parseScalar(fd, kind, text, fromPath)
		if err != nil {
			return nil, err
		}
		return v.append(protowire.AppendTag(nil, 1, wirejson.WireType(kind)), kind), nil
	default:
		return nil, fmt.Errorf("a message; name one of its fields, such as %s", exampleField(md))
	}
}

func exampleField(md protoreflect.MessageDescriptor) string {
	if md.Fields().Len() == 0 {
		return "none"
	}
	return string("." + md.Fields().Get(0).Name())
}

func appendSecondsNanos(seconds, nanos int64) []byte {
	var b []byte
	if seconds != 0 {
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(seconds)) //nolint:gosec // two's complement
	}
	if nanos != 0 {
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(nanos)) //nolint:gosec // two's complement
	}
	return b
}

// snakeCase turns someField into some_field.
func snakeCase(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			b.WriteByte(c - 'A' + 'a')
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
