package wire

import (
	"encoding/json"

	"github.com/castalia-org/castalia/plugin"
)

// Tag names who made a state. It goes back to the same one alone: another
// endpoint, or another model of this one, refuses it.
type Tag struct{ Provider, Model string }

// Of is the state that a message carries for this tag, or nil.
func (t Tag) Of(m plugin.ModelMessage) json.RawMessage {
	if m.State == nil || m.State.Provider != t.Provider || m.State.Model != t.Model {
		return nil
	}
	return m.State.Data
}

// State wraps what an endpoint wants back.
func (t Tag) State(data any) *plugin.ModelState {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	return &plugin.ModelState{Provider: t.Provider, Model: t.Model, Data: raw}
}

// piece is a part of an answer in its place: something of the provider's own,
// so many bytes of the text, or the next call. Text and calls are not kept
// twice: the transcript has them.
type piece struct {
	Own  json.RawMessage `json:"own,omitempty"`
	Text int             `json:"text,omitempty"`
	Call bool            `json:"call,omitempty"`
	// Phase is what kind of text the endpoint said it was.
	Phase string `json:"phase,omitempty"`
}

// Part is a part of a message as it goes back: one of the three.
type Part struct {
	Own   json.RawMessage
	Text  string
	Phase string
	Call  *plugin.ModelToolCall
}

// Parts are the parts of an assistant's message in the order in which the
// endpoint said them. Without a state they are the text and the calls.
func (t Tag) Parts(m plugin.ModelMessage) []Part {
	var pieces []piece
	if json.Unmarshal(t.Of(m), &pieces) != nil {
		pieces = nil
	}
	total := 0
	for _, p := range pieces {
		if p.Text < 0 {
			pieces = nil
			break
		}
		total += p.Text
	}
	var out []Part
	text, calls := m.Text, m.ToolCalls
	if total != len(text) { // it was changed on its way: it goes first, whole
		out = append(out, Part{Text: text})
		text = ""
	}
	for _, p := range pieces {
		switch {
		case len(p.Own) > 0:
			out = append(out, Part{Own: p.Own})
		case p.Call:
			if len(calls) > 0 {
				out = append(out, Part{Call: &calls[0]})
				calls = calls[1:]
			}
		case text != "":
			out = append(out, Part{Text: text[:p.Text], Phase: p.Phase})
			text = text[p.Text:]
		}
	}
	for i := range calls {
		out = append(out, Part{Call: &calls[i]})
	}
	return out
}

// order keeps the places of what an endpoint says.
type order []piece

func (o *order) text(n int) {
	if last := len(*o) - 1; last >= 0 && (*o)[last].Text > 0 {
		(*o)[last].Text += n
		return
	}
	*o = append(*o, piece{Text: n})
}

// Keep remembers something of the endpoint's own at this place of the answer.
func (a *Answer) Keep(own json.RawMessage) { a.order = append(a.order, piece{Own: own}) }

// KeepPhase says what kind of text the last one was.
func (a *Answer) KeepPhase(phase string) {
	if last := len(a.order) - 1; last >= 0 && a.order[last].Text > 0 {
		a.order[last].Phase = phase
	}
}

// inOrder is the state of an answer of which something has to go back.
func (a *Answer) inOrder(t Tag) *plugin.ModelState {
	for _, p := range a.order {
		if len(p.Own) > 0 {
			return t.State([]piece(a.order))
		}
	}
	return nil
}

// Join is an answer and what followed it after a pause.
func Join(a, b plugin.ModelResponse) plugin.ModelResponse {
	out := b
	out.Text, out.Reasoning, out.Usage = a.Text+b.Text, a.Reasoning+b.Reasoning, a.Usage.Add(b.Usage)
	out.ToolCalls = append(a.ToolCalls, b.ToolCalls...)
	if a.State == nil {
		a.State = b.State
	}
	if out.State = a.State; a.State != nil {
		all := append(piecesOf(a), piecesOf(b)...)
		out.State = Tag{a.State.Provider, a.State.Model}.State(all)
	}
	return out
}

func piecesOf(r plugin.ModelResponse) []piece {
	var out []piece
	if r.State != nil && json.Unmarshal(r.State.Data, &out) == nil && len(out) > 0 {
		return out
	}
	if r.Text != "" {
		out = append(out, piece{Text: len(r.Text)})
	}
	for range r.ToolCalls {
		out = append(out, piece{Call: true})
	}
	return out
}
