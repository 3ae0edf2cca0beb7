package wirejson

import (
	"encoding/json"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Dialect says how replies are written.
type Dialect uint8

const (
	// Cosmos is what the gateways of Cosmos chains write: field names as in
	// the .proto file, decimals with their point, absent bytes as null.
	Cosmos Dialect = iota
	// Plain is proto3 JSON with lower camel-case names and default values.
	Plain
)

// String returns the dialect's name, as used in the configuration.
func (d Dialect) String() string {
	if d == Plain {
		return "plain"
	}
	return "cosmos"
}

// valueKind says how the bytes of one value are written. The first group are
// the kinds of protobuf, the second what the Cosmos dialect adds.
type valueKind uint8

const (
	kindBool valueKind = iota
	kindInt32
	kindSint32
	kindUint32
	kindSfixed32
	kindFixed32
	kindInt64
	kindSint64
	kindUint64
	kindSfixed64
	kindFixed64
	kindFloat
	kindDouble
	kindString
	kindBytes
	kindEnum
	kindMessage
	kindGroup

	kindDecimal // an integer scaled by 10^18, in a string or bytes field
	kindNumeral // the digits of a big integer in a bytes field
	kindHex     // bytes as upper-case hexadecimal digits
	kindRawJSON // bytes that are JSON already
	kindUnknown // a message whose descriptor is missing
)

var protoKinds = map[protoreflect.Kind]valueKind{
	protoreflect.BoolKind: kindBool, protoreflect.EnumKind: kindEnum,
	protoreflect.Int32Kind: kindInt32, protoreflect.Sint32Kind: kindSint32, protoreflect.Uint32Kind: kindUint32,
	protoreflect.Int64Kind: kindInt64, protoreflect.Sint64Kind: kindSint64, protoreflect.Uint64Kind: kindUint64,
	protoreflect.Sfixed32Kind: kindSfixed32, protoreflect.Fixed32Kind: kindFixed32, protoreflect.FloatKind: kindFloat,
	protoreflect.Sfixed64Kind: kindSfixed64, protoreflect.Fixed64Kind: kindFixed64, protoreflect.DoubleKind: kindDouble,
	protoreflect.StringKind: kindString, protoreflect.BytesKind: kindBytes,
	protoreflect.MessageKind: kindMessage, protoreflect.GroupKind: kindGroup,
}

// WireType returns the wire type under which a value of the kind travels.
func WireType(kind protoreflect.Kind) protowire.Type { return protoKinds[kind].wireType() }

// wireType returns the wire type under which a value of the kind travels.
func (k valueKind) wireType() protowire.Type {
	switch k {
	case kindBool, kindEnum, kindInt32, kindSint32, kindUint32, kindInt64, kindSint64, kindUint64:
		return protowire.VarintType
	case kindSfixed32, kindFixed32, kindFloat:
		return protowire.Fixed32Type
	case kindSfixed64, kindFixed64, kindDouble:
		return protowire.Fixed64Type
	case kindGroup:
		return protowire.StartGroupType
	default:
		return protowire.BytesType
	}
}

// zero returns what an absent value of the kind looks like.
func (k valueKind) zero(d Dialect) string {
	switch k {
	case kindBool:
		return "false"
	case kindInt64, kindSint64, kindUint64, kindSfixed64, kindFixed64, kindNumeral:
		return `"0"`
	case kindString, kindHex:
		return `""`
	case kindBytes:
		if d == Plain {
			return `""`
		}
		return "null"
	case kindMessage, kindGroup, kindDecimal, kindRawJSON, kindUnknown:
		return "null"
	default:
		return "0"
	}
}

// fieldPlan is a field, made ready for the encoder.
type fieldPlan struct {
	number   protowire.Number
	kind     valueKind
	wire     protowire.Type
	repeated bool
	isMap    bool
	oneof    int32  // index into messagePlan.oneofs, or -1
	key      string // `,"name":`
	absent   string // what is written when the field is unset; "" leaves it out
	message  *messagePlan
	enum     *enumPlan
}

// accepts reports whether a value that travels as typ belongs to the field. A
// list of numbers may come packed or not, whatever its declaration says.
func (f *fieldPlan) accepts(typ protowire.Type) bool {
	return typ == f.wire || typ == protowire.BytesType && f.packable()
}

func (f *fieldPlan) packable() bool {
	return f.repeated && f.wire != protowire.BytesType && f.wire != protowire.StartGroupType
}

// messagePlan is a message type, made ready for the encoder. Plans refer to
// each other and may be cyclic; they do not change once they are built, but for
// what is learned about the order of fields.
type messagePlan struct {
	name   string
	fields []fieldPlan // in the order of declaration
	dense  [64]int32   // field number to index+1
	sparse map[protowire.Number]int32
	oneofs [][]int32
	known  Form

	short     *shortWay   // nil: only the long way leads through it
	scattered atomic.Bool // fields were seen out of order
}

func (p *messagePlan) index(n protowire.Number) int {
	if n >= 0 && int(n) < len(p.dense) {
		return int(p.dense[n]) - 1
	}
	return int(p.sparse[n]) - 1
}

// enumPlan holds the quoted names of an enum.
type enumPlan struct {
	dense  []string // numbers from 0
	sparse map[int32]string
	null   bool // google.protobuf.NullValue
}

// planner builds plans and remembers them.
type planner struct {
	dialect Dialect
	types   map[protoreflect.FullName]*messagePlan
	enums   map[protoreflect.FullName]*enumPlan
}

func newPlanner(d Dialect) *planner {
	return &planner{
		dialect: d,
		types:   make(map[protoreflect.FullName]*messagePlan),
		enums:   make(map[protoreflect.FullName]*enumPlan),
	}
}

func (pl *planner) message(md protoreflect.MessageDescriptor) *messagePlan {
	if p := pl.types[md.FullName()]; p != nil {
		return p
	}
	p := &messagePlan{name: string(md.FullName()), known: FormOf(md)}
	pl.types[md.FullName()] = p
	fields := md.Fields()
	p.fields = make([]fieldPlan, fields.Len())
	p.oneofs = make([][]int32, md.Oneofs().Len())
	for i := range fields.Len() {
		fd := fields.Get(i)
		p.fields[i] = pl.field(fd)
		if o := p.fields[i].oneof; o >= 0 {
			p.oneofs[o] = append(p.oneofs[o], int32(i))
		}
		index := int32(i + 1)
		if n := fd.Number(); int(n) < len(p.dense) {
			p.dense[n] = index
		} else {
			if p.sparse == nil {
				p.sparse = make(map[protowire.Number]int32)
			}
			p.sparse[n] = index
		}
	}
	p.short = newShortWay(p)
	return p
}

func (pl *planner) field(fd protoreflect.FieldDescriptor) fieldPlan {
	f := fieldPlan{
		number:   fd.Number(),
		kind:     protoKinds[fd.Kind()],
		repeated: fd.IsList() || fd.IsMap(),
		isMap:    fd.IsMap(),
		oneof:    -1,
		key:      "," + quote(pl.dialect.FieldName(fd)) + ":",
	}
	f.wire = f.kind.wireType()
	if o := fd.ContainingOneof(); o != nil {
		f.oneof = int32(o.Index()) //nolint:gosec // a descriptor is smaller than 2 GiB
	}
	switch f.kind {
	case kindEnum:
		f.enum = pl.enum(fd.Enum())
	case kindMessage, kindGroup:
		if fd.Message().IsPlaceholder() {
			f.kind = kindUnknown
		} else {
			f.message = pl.message(fd.Message())
		}
	default:
	}
	if pl.dialect == Cosmos {
		f.kind = cosmosKind(fd, f.kind)
	}
	switch {
	case f.oneof >= 0: // proto3 optional fields are a oneof of their own
	case f.isMap:
		f.absent = "{}"
	case f.repeated:
		f.absent = "[]"
	case fd.HasPresence():
		f.absent = "null"
	case f.enum != nil:
		f.absent = string(f.enum.append(nil, 0))
	default:
		f.absent = f.kind.zero(pl.dialect)
	}
	return f
}

// FieldName returns the name under which the dialect writes a field.
func (d Dialect) FieldName(fd protoreflect.FieldDescriptor) string {
	if d == Plain {
		return fd.JSONName()
	}
	return fd.TextName()
}

func (pl *planner) enum(ed protoreflect.EnumDescriptor) *enumPlan {
	if e := pl.enums[ed.FullName()]; e != nil {
		return e
	}
	e := &enumPlan{null: ed.FullName() == "google.protobuf.NullValue"}
	pl.enums[ed.FullName()] = e
	values := ed.Values()
	for i := values.Len() - 1; i >= 0; i-- { // backwards: the first alias wins
		v := values.Get(i)
		name := string(v.Name())
		if pl.dialect == Cosmos && ed.FullName() == accessType {
			name = accessTypeName(name)
		}
		n := int32(v.Number())
		if n >= 0 && n < 256 {
			for int(n) >= len(e.dense) {
				e.dense = append(e.dense, "")
			}
			e.dense[n] = quote(name)
			continue
		}
		if e.sparse == nil {
			e.sparse = make(map[int32]string)
		}
		e.sparse[n] = quote(name)
	}
	return e
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// Extensions of field options that change how Cosmos gateways write a field.
// They arrive as unknown bytes, since nobody here imports their packages.
const (
	optionCustomType = 65003 // gogoproto.customtype
	optionCastType   = 65007 // gogoproto.casttype
	optionScalar     = 93002 // cosmos_proto.scalar
)

// accessType is the one enum whose Go type writes its own names.
const accessType = "cosmwasm.wasm.v1.AccessType"

// accessTypeName turns ACCESS_TYPE_ONLY_ADDRESS into OnlyAddress.
func accessTypeName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimPrefix(name, "ACCESS_TYPE_"), "_") {
		if word != "" {
			b.WriteString(word[:1] + strings.ToLower(word[1:]))
		}
	}
	return b.String()
}

// cosmosKind looks for the options that make a string or bytes field something
// else in the JSON of a Cosmos gateway.
func cosmosKind(fd protoreflect.FieldDescriptor, kind valueKind) valueKind {
	if kind != kindString && kind != kindBytes || fd.Options() == nil {
		return kind
	}
	options, err := proto.Marshal(fd.Options())
	if err != nil {
		return kind
	}
	for len(options) > 0 {
		num, typ, n := protowire.ConsumeTag(options)
		if n < 0 {
			return kind
		}
		size := protowire.ConsumeFieldValue(num, typ, options[n:])
		if size < 0 {
			return kind
		}
		value := options[n : n+size]
		options = options[n+size:]
		if typ != protowire.BytesType {
			continue
		}
		text, _ := protowire.ConsumeBytes(value)
		if k, ok := kindOfOption(num, string(text), kind); ok {
			return k
		}
	}
	return kind
}

func kindOfOption(option protowire.Number, text string, kind valueKind) (valueKind, bool) {
	name := text[strings.LastIndexAny(text, "./")+1:]
	switch option {
	case optionScalar:
		return kindDecimal, text == "cosmos.Dec"
	case optionCustomType:
		switch name {
		case "LegacyDec", "Dec":
			return kindDecimal, true
		case "Int", "Uint":
			return kindNumeral, kind == kindBytes
		}
	case optionCastType:
		switch name {
		case "HexBytes":
			return kindHex, kind == kindBytes
		case "RawContractMessage":
			return kindRawJSON, kind == kindBytes
		}
	}
	return kind, false
}
