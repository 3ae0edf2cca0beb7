package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a message.
const (
	MaxAttachments = 10
	maxFilename    = 255
	maxTools       = 256
)

// Send is the body of POST /messages/:sessionId, checked.
type Send struct {
	Request           TurnRequest
	Stream            bool
	ReturnAllMessages bool
	RequestID         string
	Multitask         Multitask
}

// ParseSend reads a message body. Everything that is wrong with it comes back
// as a list of texts, in the words that published clients know; unknown fields
// are named. The body must be a JSON object.
func ParseSend(body []byte) (Send, []string) {
	p := problems{}
	fields := p.object("", body)
	var s Send
	q := &s.Request
	p.text(fields, "message", &q.Message, true)
	p.boolean(fields, "stream", &s.Stream)
	p.boolean(fields, "returnAllMessages", &s.ReturnAllMessages)
	p.text(fields, "model", &q.Model, false)
	p.text(fields, "timezone", &q.Timezone, false)
	p.text(fields, "homeServer", &q.HomeServer, false)
	p.text(fields, "requestId", &s.RequestID, false)
	var multitask string
	p.text(fields, "multitask", &multitask, false)
	switch s.Multitask = Multitask(multitask); s.Multitask {
	case "", Interrupt, Enqueue, Reject:
	default:
		p.add("multitask must be one of the following values: enqueue, reject, interrupt")
	}
	if raw, ok := take(fields, "metadata"); ok && p.isObject("metadata", raw) {
		_ = json.Unmarshal(raw, &q.Metadata)
	}
	p.invocations(fields, q)
	for i, raw := range p.array(fields, "tools", maxTools) {
		if t, ok := p.tool(fmt.Sprintf("tools.%d", i), raw, nil); ok {
			q.BrowserTools = append(q.BrowserTools, t)
		}
	}
	for i, raw := range p.array(fields, "agActions", maxTools) {
		var a DeclaredAction
		if t, ok := p.tool(fmt.Sprintf("agActions.%d", i), raw, &a.HasRender); ok {
			a.DeclaredTool = t
			q.Actions = append(q.Actions, a)
		}
	}
	files := p.array(fields, "attachments", 0)
	if len(files) > MaxAttachments {
		p.add("attachments must contain no more than %d elements", MaxAttachments)
		files = nil
	}
	for i, raw := range files {
		q.Attachments = append(q.Attachments, p.attachment(fmt.Sprintf("attachments.%d", i), raw))
	}
	p.unknown("", fields)
	return s, p.list
}

// problems collects what is wrong with a body.
type problems struct{ list []string }

func (p *problems) add(format string, args ...any) {
	if len(p.list) < 50 {
		p.list = append(p.list, fmt.Sprintf(format, args...))
	}
}

// object reads the fields of an object; those that were taken are deleted.
func (p *problems) object(path string, raw []byte) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		if path == "" {
			p.add("the body must be a JSON object")
		} else {
			p.add("%s must be an object", path)
		}
		return map[string]json.RawMessage{}
	}
	return fields
}

// take removes a field; null counts as absent.
func take(fields map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	raw, ok := fields[name]
	delete(fields, name)
	return raw, ok && !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

func (p *problems) unknown(path string, fields map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if utf8.RuneCountInString(name) > 64 {
			name = string([]rune(name)[:64]) + "…"
		}
		p.add("%sproperty %s should not exist", path, name)
	}
}

func (p *problems) text(fields map[string]json.RawMessage, name string, into *string, required bool) {
	p.textAt("", fields, name, into, required)
}

func (p *problems) textAt(path string, fields map[string]json.RawMessage, name string, into *string, required bool) {
	raw, ok := take(fields, name)
	if !ok {
		if required {
			p.add("%s%s should not be empty", path, name)
			p.add("%s%s must be a string", path, name)
		}
		return
	}
	if json.Unmarshal(raw, into) != nil {
		p.add("%s%s must be a string", path, name)
		return
	}
	*into = strings.ReplaceAll(*into, "\x00", "")
	if required && *into == "" {
		p.add("%s%s should not be empty", path, name)
	}
}

func (p *problems) boolean(fields map[string]json.RawMessage, name string, into *bool) {
	if raw, ok := take(fields, name); ok && json.Unmarshal(raw, into) != nil {
		p.add("%s must be a boolean value", name)
	}
}

func (p *problems) isObject(path string, raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		p.add("%s must be an object", path)
		return false
	}
	return true
}

func (p *problems) array(fields map[string]json.RawMessage, name string, limit int) []json.RawMessage {
	raw, ok := take(fields, name)
	if !ok {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		p.add("%s must be an array", name)
		return nil
	}
	if limit > 0 && len(list) > limit {
		p.add("%s must contain no more than %d elements", name, limit)
		return nil
	}
	return list
}

func (p *problems) invocations(fields map[string]json.RawMessage, q *TurnRequest) {
	raw, ok := take(fields, "mcpInvocations")
	if !ok || !p.isObject("mcpInvocations", raw) {
		return
	}
	if json.Unmarshal(raw, &q.Invocations) != nil {
		p.add("mcpInvocations must be a map of strings")
	}
}

func (p *problems) tool(path string, raw json.RawMessage, hasRender *bool) (DeclaredTool, bool) {
	before := len(p.list)
	fields := p.object(path, raw)
	if len(p.list) > before {
		return DeclaredTool{}, false
	}
	var t DeclaredTool
	p.textAt(path+".", fields, "name", &t.Name, true)
	p.textAt(path+".", fields, "description", &t.Description, true)
	schema, _ := take(fields, "schema")
	if p.isObject(path+".schema", schema) {
		t.Schema = compact(schema)
	}
	if hasRender != nil {
		if raw, ok := take(fields, "hasRender"); ok && json.Unmarshal(raw, hasRender) != nil {
			p.add("%s.hasRender must be a boolean value", path)
		}
	}
	p.unknown(path+".", fields)
	return t, len(p.list) == before
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func (p *problems) attachment(path string, raw json.RawMessage) Attachment {
	before := len(p.list)
	fields := p.object(path, raw)
	if len(p.list) > before {
		return Attachment{}
	}
	path += "."
	var a Attachment
	p.textAt(path, fields, "filename", &a.Filename, true)
	if utf8.RuneCountInString(a.Filename) > maxFilename {
		p.add("%sfilename must be shorter than or equal to %d characters", path, maxFilename)
	}
	p.textAt(path, fields, "mimetype", &a.Mimetype, true)
	if raw, ok := take(fields, "size"); ok {
		var size float64
		if json.Unmarshal(raw, &size) != nil || size < 0 {
			p.add("%ssize must be a number conforming to the specified constraints", path)
		}
		a.Size = int64(min(size, 1<<53))
	}
	p.textAt(path, fields, "mxcUri", &a.MxcURI, false)
	p.textAt(path, fields, "eventId", &a.EventID, false)
	if raw, ok := take(fields, "file"); ok {
		a.File = &EncryptedFile{}
		if json.Unmarshal(raw, a.File) != nil {
			p.add("%sfile must be an encrypted file object", path)
		} else if a.MxcURI == "" {
			a.MxcURI = a.File.URL
		}
	}
	p.textAt(path, fields, "cid", &a.CID, false)
	if a.CID != "" && !looksLikeCID(a.CID) {
		p.add("%scid must be a CID", path)
	}
	if a.MxcURI == "" && a.EventID == "" && a.CID == "" {
		p.add("%smxcUri should not be empty", path)
		p.add("%seventId should not be empty", path)
	}
	if a.MxcURI != "" && !hasAnyPrefix(a.MxcURI, "mxc://", "http://", "https://") {
		p.add("%smxcUri must be an mxc://, http:// or https:// address", path)
	}
	if a.EventID != "" && !strings.HasPrefix(a.EventID, "$") {
		p.add("%seventId must start with $", path)
	}
	p.unknown(path, fields)
	return a
}

// looksLikeCID reports whether a text can be a CID; the file store reads it.
func looksLikeCID(s string) bool {
	letters := func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }
	return len(s) >= 40 && len(s) <= 128 && !strings.ContainsFunc(s, letters)
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
