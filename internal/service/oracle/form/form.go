// Package form reads what a tool wants to know from a person, and judges what the
// person says.
//
// A form is the restricted JSON Schema of MCP's elicitation: an object of texts,
// numbers, yes-or-no and choices, one level deep. Forms come from strangers' servers:
// Parse promises a form that is bounded, keeps the order of its fields and says
// nothing but what pages know how to draw. What it does not know of a field it leaves
// out; a field that it cannot draw refuses the form.
//
// Decision: ADR 0267.
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Bounds of a form, and of what a person says.
const (
	MaxForm    = 32 << 10
	MaxContent = 32 << 10
	maxFields  = 32
	maxOptions = 200
	maxText    = 500
	maxName    = 64
)

// Form is what is asked for.
type Form struct {
	Fields []Field
}

// Field is one thing that is asked for.
type Field struct {
	Name     string
	Required bool
	property
}

// property is a field's JSON Schema, as far as it is known.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Format      string          `json:"format,omitempty"`
	MinLength   *int            `json:"minLength,omitempty"`
	MaxLength   *int            `json:"maxLength,omitempty"`
	Minimum     *float64        `json:"minimum,omitempty"`
	Maximum     *float64        `json:"maximum,omitempty"`
	Enum        []string        `json:"enum,omitempty"`
	EnumNames   []string        `json:"enumNames,omitempty"`
	OneOf       []option        `json:"oneOf,omitempty"`
	Items       *items          `json:"items,omitempty"`
	MinItems    *int            `json:"minItems,omitempty"`
	MaxItems    *int            `json:"maxItems,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
}

// items are the choices of a field that takes several.
type items struct {
	Type  string   `json:"type,omitempty"`
	Enum  []string `json:"enum,omitempty"`
	AnyOf []option `json:"anyOf,omitempty"`
}

type option struct {
	Const string `json:"const"`
	Title string `json:"title,omitempty"`
}

// Parse reads a form.
func Parse(raw json.RawMessage) (Form, error) {
	if len(raw) > MaxForm {
		return Form{}, fmt.Errorf("the form has more than %d bytes", MaxForm)
	}
	var outer struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(raw, &outer); err != nil {
		return Form{}, fmt.Errorf("decode form: %w", err)
	}
	if outer.Type != "object" {
		return Form{}, fmt.Errorf("the form is of type %q, not object", outer.Type)
	}
	f := Form{}
	err := members(outer.Properties, func(name string, raw json.RawMessage) error {
		field := Field{Name: name, Required: slices.Contains(outer.Required, name)}
		if err := json.Unmarshal(raw, &field.property); err != nil {
			return fmt.Errorf("decode field %q: %w", name, err)
		}
		if err := field.bounded(); err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		if field.Default != nil && field.judge(field.Default) != nil {
			field.Default = nil
		}
		if f.Fields = append(f.Fields, field); len(f.Fields) > maxFields {
			return fmt.Errorf("the form has more than %d fields", maxFields)
		}
		return nil
	})
	if err != nil {
		return Form{}, err
	}
	for _, name := range outer.Required {
		if !slices.ContainsFunc(f.Fields, func(field Field) bool { return field.Name == name }) {
			return Form{}, fmt.Errorf("the form requires %.80q and does not have it", name)
		}
	}
	return f, nil
}

// members goes through the members of an object in their order.
func members(raw json.RawMessage, each func(name string, value json.RawMessage) error) error {
	if len(raw) == 0 {
		return nil
	}
	seen := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return errors.New("the properties of the form are no object")
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return fmt.Errorf("decode properties: %w", err)
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("decode property %q: %w", name, err)
		}
		if seen[name] {
			return fmt.Errorf("the form has %q twice", name)
		}
		seen[name] = true
		if err := each(name, value); err != nil {
			return err
		}
	}
	return nil
}

// bounded refuses what no page can draw, and cuts what is only to be read.
func (f *Field) bounded() error {
	if f.Name == "" || len(f.Name) > maxName || !utf8.ValidString(f.Name) {
		return fmt.Errorf("its name must have 1 to %d bytes", maxName)
	}
	f.Title, f.Description = cut(f.Title), cut(f.Description)
	if len(f.EnumNames) != len(f.Enum) {
		f.EnumNames = nil
	}
	for i := range f.EnumNames {
		f.EnumNames[i] = cut(f.EnumNames[i])
	}
	for i := range f.OneOf {
		f.OneOf[i].Title = cut(f.OneOf[i].Title)
	}
	if f.Items != nil {
		for i := range f.Items.AnyOf {
			f.Items.AnyOf[i].Title = cut(f.Items.AnyOf[i].Title)
		}
	}
	switch f.Type {
	case "string":
		f.Items = nil
	case "number", "integer", "boolean":
		f.Items, f.Format = nil, "" // a number is no date, and pages would draw one
	case "array":
		if len(f.options()) == 0 {
			return errors.New("a list needs choices")
		}
	default:
		return fmt.Errorf("its type is %.40q; known are string, number, integer, boolean and array", f.Type)
	}
	if len(f.options()) > maxOptions {
		return fmt.Errorf("it has more than %d choices", maxOptions)
	}
	return nil
}

// cut bounds a text that is only read.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// options are the choices of a field; none when it takes anything.
func (f *Field) options() []string {
	list, named := f.Enum, f.OneOf
	if f.Type == "array" {
		list, named = nil, nil
		if f.Items != nil {
			list, named = f.Items.Enum, f.Items.AnyOf
		}
	}
	out := slices.Clone(list)
	for _, o := range named {
		out = append(out, o.Const)
	}
	return out
}

// Encode writes the form so that Parse reads it again: one that is too long in the way
// in which it is kept, where what looks like HTML takes more room, is refused.
func (f Form) Encode() (json.RawMessage, error) {
	out, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode form: %w", err)
	}
	if len(out) > MaxForm {
		return nil, fmt.Errorf("the form has more than %d bytes when it is kept", MaxForm)
	}
	return out, nil
}

// MarshalJSON writes the form as a JSON Schema, its fields in their order.
func (f Form) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	required := []string{}
	for i, field := range f.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(field.Name)
		if err != nil {
			return nil, fmt.Errorf("encode name: %w", err)
		}
		schema, err := json.Marshal(field.property)
		if err != nil {
			return nil, fmt.Errorf("encode field %q: %w", field.Name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(schema)
		if field.Required {
			required = append(required, field.Name)
		}
	}
	list, err := json.Marshal(required)
	if err != nil {
		return nil, fmt.Errorf("encode required: %w", err)
	}
	b.WriteString(`},"required":`)
	b.Write(list)
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Check says what is wrong with what a person says, naming the field.
func (f Form) Check(content json.RawMessage) error {
	if len(content) > MaxContent {
		return fmt.Errorf("content must have at most %d bytes", MaxContent)
	}
	if err := strictjson.Check(content, &struct{}{}); err != nil {
		return fmt.Errorf("content cannot be read: %w", err)
	}
	var said map[string]json.RawMessage
	if err := json.Unmarshal(content, &said); err != nil || said == nil {
		return errors.New("content must be an object")
	}
	for _, field := range f.Fields {
		value, there := said[field.Name]
		delete(said, field.Name)
		if !there {
			if field.Required {
				return fmt.Errorf("content.%s is missing", field.Name)
			}
			continue
		}
		if err := field.judge(value); err != nil {
			return fmt.Errorf("content.%s %w", field.Name, err)
		}
	}
	for name := range said {
		return fmt.Errorf("content.%.80s is not asked for", name)
	}
	return nil
}
