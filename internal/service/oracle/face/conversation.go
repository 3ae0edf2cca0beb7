package face

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// Bounds of a request.
const (
	MaxMessages = 4096
	MaxName     = 256     // bytes of the name of a call, and of its id
	maxText     = 1 << 20 // bytes of all messages and schemas, which are stored with the run
	maxTools    = 128
	maxImages   = 10
)

// Entry is a message of a conversation as a face read it.
type Entry struct {
	oracle.GivenMessage
	// System says that it is an instruction.
	System bool
	Images []plugin.Image
}

// Converse divides the messages: what follows the last answer is new.
func (a *Ask) Converse(list []Entry) {
	q := &a.Request
	var instructions []string
	list = slices.DeleteFunc(list, func(m Entry) bool {
		if m.System && m.Text != "" {
			instructions = append(instructions, m.Text)
		}
		return m.System
	})
	q.Instructions = strings.Join(instructions, "\n\n")
	last := len(list) - 1
	for last >= 0 && list[last].Role != plugin.RoleAssistant {
		last--
	}
	names := map[string]string{}
	for _, m := range list[:last+1] {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		a.Said = append(a.Said, m.GivenMessage)
	}
	if a.Conversation == "" {
		q.Given = a.Said
	}
	var texts []string
	for _, m := range list[last+1:] {
		if m.Role == plugin.RoleTool {
			q.Results = append(q.Results, oracle.ToolCall{
				ID: m.CallID, Name: names[m.CallID], Status: plugin.Done, Output: m.Text,
			})
			continue
		}
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
		a.Images = append(a.Images, m.Images...)
	}
	a.Images = a.Images[:min(len(a.Images), maxImages)]
	q.Message = strings.Join(texts, "\n\n")
	if last == len(list)-1 && last >= 0 { // programs ask so for more of an answer
		q.Message = "Go on from where your last answer stopped."
	}
	if q.Message == "" && len(a.Images) > 0 {
		q.Message = "(a picture)"
	}
}

// Empty reports whether nothing is asked.
func (a *Ask) Empty() bool {
	return a.Request.Message == "" && len(a.Request.Results) == 0 && len(a.Images) == 0
}

// Storable is a text that both engines keep.
func Storable(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// Picture reads a data: address. Others are not fetched.
func Picture(address string) (plugin.Image, bool) {
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		return plugin.Image{}, false
	}
	media, data, ok := strings.Cut(rest, ";base64,")
	if !ok || !strings.HasPrefix(media, "image/") {
		return plugin.Image{}, false
	}
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return plugin.Image{}, false
	}
	return plugin.Image{MediaType: media, Data: decoded}, true
}

// DeclareTool adds a tool of the caller's.
func DeclareTool(q *oracle.TurnRequest, name, description string, schema json.RawMessage) error {
	if len(q.CallerTools) == maxTools {
		return fault.New(fault.Invalid, fmt.Sprintf("tools must have at most %d entries", maxTools))
	}
	known := slices.ContainsFunc(q.CallerTools, func(t oracle.DeclaredTool) bool { return t.Name == name })
	if !registry.ValidToolName(name) || slices.Contains(turn.ReservedTools(), name) || known {
		return fault.New(fault.Invalid, fmt.Sprintf("the tool name %.64q is not allowed, or given twice", name))
	}
	q.CallerTools = append(q.CallerTools, oracle.DeclaredTool{Name: name, Description: description, Schema: schema})
	return nil
}

// perMessage is what an entry takes beside its texts.
const perMessage = 64

// CheckSize refuses a request that is too long to be stored.
func CheckSize(q oracle.TurnRequest) error {
	n := len(q.Message) + len(q.Instructions)
	for _, m := range q.Given {
		n += len(m.Text) + len(m.CallID) + perMessage
		for _, c := range m.Calls {
			n += len(c.Args) + len(c.ID) + len(c.Name) + perMessage
		}
	}
	for _, r := range q.Results {
		n += len(r.Output) + len(r.ID) + len(r.Name) + perMessage
	}
	for _, t := range q.CallerTools {
		n += len(t.Name) + len(t.Description) + len(t.Schema) + perMessage
	}
	if n > maxText {
		return fault.New(fault.Invalid, "The messages and tools are longer than 1 MiB.").WithCode("context_length_exceeded")
	}
	return nil
}
