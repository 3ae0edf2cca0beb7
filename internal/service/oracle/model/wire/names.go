package wire

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/castalia-org/castalia/plugin"
)

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// Names translates tool names into those that endpoints accept, and back.
type Names struct{ wire, ours map[string]string }

// NewNames prepares the names of a request.
func NewNames(tools []plugin.ToolSpec) *Names {
	n := &Names{wire: map[string]string{}, ours: map[string]string{}}
	for _, t := range tools {
		name := notInNames.ReplaceAllString(t.Name, "_")
		for i := 2; n.ours[name] != ""; i++ {
			name = fmt.Sprintf("%.60s_%d", notInNames.ReplaceAllString(t.Name, "_"), i)
		}
		n.wire[t.Name], n.ours[name] = name, t.Name
	}
	return n
}

// Wire is a name as the endpoint sees it.
func (n *Names) Wire(name string) string {
	if w, ok := n.wire[name]; ok {
		return w
	}
	return notInNames.ReplaceAllString(name, "_")
}

// Ours is a name as the oracle knows it.
func (n *Names) Ours(name string) string {
	if o, ok := n.ours[name]; ok {
		return o
	}
	return name
}

// Told is a text with what the model is told beside it.
func Told(m plugin.ModelMessage) string {
	if m.Note == "" {
		return m.Text
	}
	return m.Text + "\n\n<context>\n" + m.Note + "\n</context>"
}

// Schema is a schema that endpoints accept for a tool without one.
func Schema(s json.RawMessage) json.RawMessage {
	if len(s) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return s
}
