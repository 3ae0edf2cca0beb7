package wirejson

import "google.golang.org/protobuf/reflect/protoreflect"

// Schemas collects the JSON Schema of the types that a description refers to.
type Schemas struct {
	// Named holds the schemas by the names that Ref refers to.
	Named map[string]any
}

// Ref returns a reference to a named schema.
func Ref(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }

// Message describes a type once and refers to it.
func (s *Schemas) Message(dialect Dialect, md protoreflect.MessageDescriptor) map[string]any {
	if md.IsPlaceholder() {
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	}
	if schema := s.known(md); schema != nil {
		return schema
	}
	name := string(md.FullName())
	if dialect == Plain {
		name += ".plain"
	}
	if _, ok := s.Named[name]; !ok {
		properties := make(map[string]any)
		s.Named[name] = map[string]any{"type": "object", "properties": properties}
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			properties[dialect.FieldName(fd)] = s.Field(dialect, fd)
		}
	}
	return Ref(name)
}

// Field describes a field of a reply.
func (s *Schemas) Field(dialect Dialect, fd protoreflect.FieldDescriptor) map[string]any {
	if fd.IsMap() {
		return map[string]any{"type": "object", "additionalProperties": s.single(dialect, fd.MapValue())}
	}
	if fd.IsList() {
		return map[string]any{"type": "array", "items": s.single(dialect, fd)}
	}
	schema := s.single(dialect, fd)
	if fd.Message() != nil {
		return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
	}
	return schema
}

func (s *Schemas) single(dialect Dialect, fd protoreflect.FieldDescriptor) map[string]any {
	if fd.Message() != nil {
		return s.Message(dialect, fd.Message())
	}
	kind := protoKinds[fd.Kind()]
	if dialect == Cosmos {
		switch cosmosKind(fd, kind) {
		case kindDecimal:
			return map[string]any{"type": []any{"string", "null"}, "format": "decimal"}
		case kindNumeral:
			return map[string]any{"type": "string", "format": "integer"}
		case kindHex:
			return map[string]any{"type": "string", "format": "hex"}
		case kindRawJSON:
			return map[string]any{}
		case kindBytes:
			if !fd.IsList() && fd.ContainingOneof() == nil {
				return map[string]any{"type": []any{"string", "null"}, "contentEncoding": "base64"}
			}
		default:
		}
	}
	return s.Scalar(fd)
}

// Scalar describes a value as it stands in a path, a query or a reply.
func (s *Schemas) Scalar(fd protoreflect.FieldDescriptor) map[string]any {
	switch kind := protoKinds[fd.Kind()]; kind {
	case kindBool:
		return map[string]any{"type": "boolean"}
	case kindInt32, kindSint32, kindSfixed32, kindUint32, kindFixed32:
		return map[string]any{"type": "integer"}
	case kindInt64, kindSint64, kindSfixed64:
		return map[string]any{"type": "string", "format": "int64"}
	case kindUint64, kindFixed64:
		return map[string]any{"type": "string", "format": "uint64"}
	case kindFloat, kindDouble:
		return map[string]any{"type": "number"}
	case kindBytes:
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case kindEnum:
		var names []any
		for i := range fd.Enum().Values().Len() {
			names = append(names, string(fd.Enum().Values().Get(i).Name()))
		}
		return map[string]any{"type": "string", "enum": names}
	case kindMessage:
		if schema := s.known(fd.Message()); schema != nil {
			return schema
		}
		return map[string]any{"type": "object"}
	default:
		return map[string]any{"type": "string"}
	}
}

// known describes the types with a JSON form of their own; nil for others.
func (s *Schemas) known(md protoreflect.MessageDescriptor) map[string]any {
	switch FormOf(md) {
	case Any:
		return map[string]any{
			"type": "object", "properties": map[string]any{"@type": map[string]any{"type": "string"}}, "additionalProperties": true,
		}
	case Timestamp:
		return map[string]any{"type": "string", "format": "date-time"}
	case Duration:
		return map[string]any{"type": "string", "description": "Seconds, such as 1.500s."}
	case FieldMask:
		return map[string]any{"type": "string"}
	case Struct:
		return map[string]any{"type": "object", "additionalProperties": true}
	case List:
		return map[string]any{"type": "array", "items": map[string]any{}}
	case Value:
		return map[string]any{}
	case Wrapper:
		return s.Scalar(md.Fields().Get(0))
	default:
		return nil
	}
}
