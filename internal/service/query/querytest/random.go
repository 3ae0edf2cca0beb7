package querytest

import (
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// RandomMessage fills a message of the type with whatever protojson can write:
// special numbers, odd strings, empty and full lists, maps, and messages inside
// Any of the given types.
func RandomMessage(r *rand.Rand, md protoreflect.MessageDescriptor,
	inAny []protoreflect.MessageDescriptor,
) *dynamicpb.Message {
	g := generator{Rand: r, inAny: inAny, budget: 40}
	m := dynamicpb.NewMessage(md)
	g.fill(m.ProtoReflect(), 0)
	return m
}

type generator struct {
	*rand.Rand
	inAny  []protoreflect.MessageDescriptor
	budget int // of fields, so that recursive types end
}

func (g *generator) fill(m protoreflect.Message, depth int) {
	md := m.Descriptor()
	switch md.FullName() {
	case "google.protobuf.Any":
		g.fillAny(m, depth)
		return
	case "google.protobuf.Timestamp":
		g.setPair(m, g.Int64N(253402300799+62135596800)-62135596800, g.nanos())
		return
	case "google.protobuf.Duration":
		seconds, nanos := g.Int64N(2*315576000000)-315576000000, g.nanos()
		if seconds < 0 {
			nanos = -nanos
		}
		g.setPair(m, seconds, nanos)
		return
	case "google.protobuf.FieldMask":
		list := m.Mutable(md.Fields().ByName("paths")).List()
		for range g.IntN(3) {
			list.Append(protoreflect.ValueOfString([]string{"a", "foo_bar", "a.b_c.d"}[g.IntN(3)]))
		}
		return
	case "google.protobuf.Value":
		g.fillValue(m, depth)
		return
	}
	fields := md.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if g.budget <= 0 || g.IntN(10) < 3 && fd.Cardinality() != protoreflect.Required {
			continue
		}
		g.budget--
		g.set(m, fd, depth)
	}
}

func (g *generator) nanos() int64 {
	return []int64{0, 5e8, 123e6, 123456e3, 123456789, 1}[g.IntN(6)]
}

func (g *generator) setPair(m protoreflect.Message, seconds, nanos int64) {
	fields := m.Descriptor().Fields()
	m.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(seconds))
	m.Set(fields.ByName("nanos"), protoreflect.ValueOfInt32(int32(nanos)))
}

func (g *generator) fillAny(m protoreflect.Message, depth int) {
	if len(g.inAny) == 0 || depth > 4 {
		return
	}
	inner := dynamicpb.NewMessage(g.inAny[g.IntN(len(g.inAny))])
	g.fill(inner, depth+1)
	wire, err := proto.Marshal(inner)
	if err != nil {
		return
	}
	fields := m.Descriptor().Fields()
	m.Set(fields.ByName("type_url"), protoreflect.ValueOfString("/"+string(inner.Descriptor().FullName())))
	m.Set(fields.ByName("value"), protoreflect.ValueOfBytes(wire))
}

// fillValue sets exactly one member, since a Value without one has no JSON.
func (g *generator) fillValue(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	n := 4
	if depth < 5 && g.budget > 0 {
		n = 6
	}
	fd := fields.Get(g.IntN(n))
	if fd.Kind() == protoreflect.DoubleKind {
		m.Set(fd, protoreflect.ValueOfFloat64(float64(g.IntN(1000))/8))
		return
	}
	g.budget--
	g.set(m, fd, depth)
}

func (g *generator) set(m protoreflect.Message, fd protoreflect.FieldDescriptor, depth int) {
	deep := depth > 6
	switch {
	case fd.IsMap():
		if fd.MapValue().Message() != nil && deep {
			return
		}
		entries := m.Mutable(fd).Map()
		for range g.IntN(4) {
			key := g.scalar(fd.MapKey()).MapKey()
			if fd.MapValue().Message() == nil {
				entries.Set(key, g.scalar(fd.MapValue()))
				continue
			}
			v := entries.NewValue()
			g.fill(v.Message(), depth+1)
			entries.Set(key, v)
		}
	case fd.IsList():
		if fd.Message() != nil && deep {
			return
		}
		list := m.Mutable(fd).List()
		for range g.IntN(4) {
			if fd.Message() == nil {
				list.Append(g.scalar(fd))
				continue
			}
			v := list.NewElement()
			g.fill(v.Message(), depth+1)
			list.Append(v)
		}
	case fd.Message() != nil:
		if !deep {
			g.fill(m.Mutable(fd).Message(), depth+1)
		}
	default:
		m.Set(fd, g.scalar(fd))
	}
}

var (
	oddStrings = []string{"", "a", "did:ixo:entity:1", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<&>\u2028\u2029", "ж語🎈", strings.Repeat("long ", 40)}
	oddFloats  = []float64{
		0, 1, -1, 0.1, 1e-7, 1e-10, 1e20, 1e21, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(), 16777216, 3.4e38,
	}
	oddInts = []int64{0, 1, -1, 127, 128, 1 << 31, -1 << 31, 1 << 53, math.MaxInt64, math.MinInt64}
)

func (g *generator) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	n := oddInts[g.IntN(len(oddInts))]
	if g.IntN(2) == 0 {
		n = int64(g.Uint64())
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n&1 == 0)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if fd.Enum().FullName() != "google.protobuf.NullValue" && !fd.Enum().IsClosed() && g.IntN(8) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(n)))
		}
		return protoreflect.ValueOfEnum(values.Get(g.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(g.float()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(g.float())
	case protoreflect.BytesKind:
		b := make([]byte, g.IntN(20))
		for i := range b {
			b[i] = byte(g.Uint32())
		}
		return protoreflect.ValueOfBytes(b)
	default:
		return protoreflect.ValueOfString(oddStrings[g.IntN(len(oddStrings))])
	}
}

func (g *generator) float() float64 {
	if g.IntN(2) == 0 {
		return g.NormFloat64() * math.Pow(10, float64(g.IntN(40)-20))
	}
	return oddFloats[g.IntN(len(oddFloats))]
}
