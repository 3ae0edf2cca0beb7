// Package toolschema describes arguments and answers of tools, for agents of all kinds.
//
// It promises schemas of Go types in which each value has one type: many clients read
// no others. What need not be there is left out, and is never null; so members that may
// be nil, such as slices, need omitempty where a tool answers with them. What this
// program's own tools say beside their answers is named here.
package toolschema

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Unreached stands in the _meta of a result: the tool failed since the caller's token
// reaches nothing of what the call names: with another token it may be done.
const Unreached = "castalia/unreached"

// Of describes a type. It panics where a type has no schema: types are compiled in.
func Of[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err)
	}
	withoutNull(s)
	return s
}

func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, member := range s.Properties {
		withoutNull(member)
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
}
