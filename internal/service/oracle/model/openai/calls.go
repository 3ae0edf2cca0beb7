package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// deltaCall is a piece of a call.
type deltaCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	// ExtraContent is what Gemini wants back; it may come in a piece of its own.
	ExtraContent json.RawMessage `json:"extra_content"`
}

// resolver finds out which pieces belong to the same call. Endpoints number their
// calls, or all with 0, or not at all; they repeat ids and names, or leave them
// out. An id that is known wins; a new id with a name begins a call; so does a
// name with the beginning of an object behind a call that is complete; else the
// number counts; else the piece belongs to the last call.
type resolver struct{ answer *wire.Answer }

// take adds a piece.
func (r resolver) take(c deltaCall) {
	var piece string
	if json.Unmarshal(c.Function.Arguments, &piece) != nil {
		piece = string(c.Function.Arguments) // an object instead of a text
	}
	id, name := strings.TrimSpace(c.ID), strings.TrimSpace(c.Function.Name)
	call := r.find(c.Index, id, name, piece)
	if call == nil {
		if id == "" && name == "" && piece == "" {
			return
		}
		call = r.answer.Begin(&wire.Call{Index: -1})
		if c.Index != nil {
			call.Index = *c.Index
		}
	}
	if call.ID == "" {
		call.ID = id
	}
	if name != "" {
		call.Name = name
	}
	call.Args.WriteString(piece)
	if len(c.ExtraContent) > 0 && string(c.ExtraContent) != "null" {
		call.Extra = c.ExtraContent
	}
}

// find is the call that a piece belongs to, or nil when it begins one.
func (r resolver) find(index *int, id, name, piece string) *wire.Call {
	calls := r.answer.Calls
	if len(calls) == 0 {
		return nil
	}
	present := calls[len(calls)-1]
	numbered := false
	for _, c := range slices.Backward(calls) { // the newest of those with one number
		if id != "" && c.ID == id {
			return c
		}
		if index != nil && c.Index == *index && !numbered {
			present, numbered = c, true
		}
	}
	switch {
	case id != "" && name != "" && present.ID != "":
		return nil
	case id != "" && name != "" && present.Name != "" && !numbered:
		return nil
	case name != "" && strings.HasPrefix(strings.TrimSpace(piece), "{") && json.Valid([]byte(present.Args.String())):
		return nil
	case numbered:
		return present
	case index != nil && *index >= 0:
		return nil
	case name != "" && present.Name != "" && name != present.Name:
		return nil
	}
	return present
}

// settle splits calls whose arguments are several objects, and drops what never
// became a call.
func (r resolver) settle() {
	var out []*wire.Call
	for _, c := range r.answer.Calls {
		if c.Name == "" && c.Args.Len() == 0 {
			continue
		}
		out = append(out, c)
		for i, object := range objects(c.Args.String()) {
			if i == 0 {
				c.Args.Reset()
			} else {
				c = &wire.Call{Index: -1, Name: c.Name}
				out = append(out, c)
			}
			c.Args.WriteString(object)
		}
	}
	r.answer.Calls = out
}

// objects are the objects that stand one behind the other in a text, if that is
// all there is in it and they are several.
func objects(text string) []string {
	if json.Valid([]byte(text)) {
		return nil
	}
	var out []string
	for d := json.NewDecoder(bytes.NewReader([]byte(text))); ; {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			if len(out) > 1 && d.InputOffset() >= int64(len(strings.TrimSpace(text))) {
				return out
			}
			return nil
		}
		if raw[0] != '{' {
			return nil
		}
		out = append(out, string(raw))
	}
}
