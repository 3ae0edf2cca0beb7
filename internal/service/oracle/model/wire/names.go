package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/castalia-org/castalia/plugin"
)

// maxName is the longest name of a tool that endpoints accept.
const maxName = 64

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// Names translates tool names into those that endpoints accept, and back.
type Names struct{ wire, ours map[string]string }

// NewNames prepares the names of a request. Tools that are added at the end do
// not change the names of those before.
func NewNames(tools []plugin.ToolSpec) *Names {
	n := &Names{wire: map[string]string{}, ours: map[string]string{}}
	for _, t := range tools {
		name := wireName(t.Name)
		for i := 2; n.ours[name] != ""; i++ {
			name = fmt.Sprintf("%.58s_%d", wireName(t.Name), i)
		}
		n.wire[t.Name], n.ours[name] = name, t.Name
	}
	return n
}

// wireName is a name of allowed letters. One that is too long ends with a
// fingerprint, so that it is the same whichever others there are.
func wireName(name string) string {
	out := notInNames.ReplaceAllString(name, "_")
	if len(out) <= maxName {
		return out
	}
	sum := sha256.Sum256([]byte(name))
	return out[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
}

// Wire is a name as the endpoint sees it.
func (n *Names) Wire(name string) string {
	if w, ok := n.wire[name]; ok {
		return w
	}
	return wireName(name)
}

// Ours is a name as the oracle knows it.
func (n *Names) Ours(name string) string {
	if o, ok := n.ours[name]; ok {
		return o
	}
	return name
}

// The ids of calls that endpoints accept: 40 letters is the least of those that
// take any, and Mistral takes exactly nine.
var (
	callID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	strict = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
)

// CallID is the id of a call as endpoints accept it: ids of one endpoint break a
// conversation that goes on with another. The same id always becomes the same.
func CallID(id string) string {
	if callID.MatchString(id) {
		return id
	}
	return "call_" + fingerprint(id)[:24]
}

// StrictCallID is the id of a call at endpoints that want it short.
func StrictCallID(id string) string {
	if strict.MatchString(id) {
		return id
	}
	return fingerprint(id)[:9]
}

func fingerprint(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// TextWithNote is a text with what the model is told beside it.
func TextWithNote(m plugin.ModelMessage) string {
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
