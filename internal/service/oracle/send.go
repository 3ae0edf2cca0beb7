package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Bounds of a message.
const (
	MaxAttachments = 10
	maxFilename    = 255
	maxTools       = 256
	// MaxTab bounds the name of a page.
	MaxTab = 64
	// What a message says beside its text is kept and read with its run. An empty object
	// is three bytes and a hundred times that when it is read, hence the values.
	maxMetadata       = 256 << 10
	maxMetadataValues = 10_000
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
	var s Send
	p.send(p.object("", body, bodyMembers), &s, true)
	return s, p.list
}

// ParseVersion reads the body that asks for another version of a turn. It is that
// of a message in which nothing is required: what is not there is as it was asked
// before. The list is that of ParseSend.
func ParseVersion(body []byte, asked Asked) (Send, []string) {
	p := problems{}
	s := Send{Request: asked.Request}
	q := &s.Request
	q.Tab, q.Origin, q.Sponsor, q.AppKey, q.Invocations = "", "", "", "", nil
	p.send(p.object("", body, bodyMembers), &s, false)
	if q.Shown() == "" {
		p.add("message should not be empty")
	}
	q.Version = &VersionOf{Root: asked.Root, Kind: Regenerated}
	if asked.Request.Shown() != q.Shown() || !SameFiles(asked.Request.Attachments, q.Attachments) {
		q.Version.Kind = Edited
	}
	return s, p.list
}

// SameFiles reports whether two messages have the same files.
func SameFiles(a, b []Attachment) bool {
	return slices.EqualFunc(a, b, func(a, b Attachment) bool {
		return a.Filename == b.Filename && a.CID == b.CID && a.MxcURI == b.MxcURI && a.EventID == b.EventID
	})
}

// send reads the fields of a message over what s has.
func (p *problems) send(fields members, s *Send, required bool) {
	q := &s.Request
	for name, forget := range map[string]func(){
		"metadata": func() { q.Metadata = nil }, "tools": func() { q.BrowserTools = nil },
		"agActions": func() { q.Actions = nil }, "attachments": func() { q.Attachments = nil },
	} {
		if _, ok := fields.raw[name]; ok {
			forget()
		}
	}
	p.text(fields, "message", &q.Message, required)
	p.boolean(fields, "stream", &s.Stream)
	p.boolean(fields, "returnAllMessages", &s.ReturnAllMessages)
	p.text(fields, "model", &q.Model, false)
	p.text(fields, "timezone", &q.Timezone, false)
	p.text(fields, "homeServer", &q.HomeServer, false)
	p.text(fields, "requestId", &s.RequestID, false)
	p.text(fields, "tabId", &q.Tab, false)
	if len(q.Tab) > MaxTab {
		p.add("tabId must be shorter than or equal to %d characters", MaxTab)
	}
	var multitask string
	p.text(fields, "multitask", &multitask, false)
	switch s.Multitask = Multitask(multitask); s.Multitask {
	case "", Interrupt, Enqueue, Reject:
	default:
		p.add("multitask must be one of the following values: enqueue, reject, interrupt")
	}
	if raw, ok := take(fields, "metadata"); ok && p.isObject("metadata", raw) {
		switch {
		case len(raw) > maxMetadata:
			p.add("metadata must be shorter than or equal to %d bytes", maxMetadata)
		case strictjson.Count(raw, maxMetadataValues) != nil:
			p.add("metadata must contain no more than %d values", maxMetadataValues)
		default:
			_ = json.Unmarshal(raw, &q.Metadata)
		}
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
}

// problems collects what is wrong with a body.
type problems struct{ list []string }

func (p *problems) add(format string, args ...any) {
	if len(p.list) < 50 {
		p.list = append(p.list, fmt.Sprintf(format, args...))
	}
}

// object reads the fields of an object; those that were taken are deleted.
func (p *problems) object(path string, raw []byte, documented map[string]bool) members {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		if path == "" {
			p.add("the body must be a JSON object")
		} else {
			p.add("%s must be an object", path)
		}
		fields = nil
	}
	return members{fields, documented}
}

// take removes a member; null counts as absent, and so does a member that the
// documentation does not have: it stays and is named as unknown.
func take(fields members, name string) (json.RawMessage, bool) {
	raw, ok := fields.raw[name]
	if !ok || !fields.documented[name] {
		return nil, false
	}
	delete(fields.raw, name)
	return raw, !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

func (p *problems) unknown(path string, fields members) {
	for _, name := range slices.Sorted(maps.Keys(fields.raw)) {
		if utf8.RuneCountInString(name) > 64 {
			name = string([]rune(name)[:64]) + "…"
		}
		p.add("%sproperty %s should not exist", path, name)
	}
}

func (p *problems) text(fields members, name string, into *string, required bool) {
	p.textAt("", fields, name, into, required)
}

func (p *problems) textAt(path string, fields members, name string, into *string, required bool) {
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

func (p *problems) boolean(fields members, name string, into *bool) {
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

func (p *problems) array(fields members, name string, limit int) []json.RawMessage {
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

func (p *problems) invocations(fields members, q *TurnRequest) {
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
	documented := toolMembers
	if hasRender != nil {
		documented = actionMembers
	}
	fields := p.object(path, raw, documented)
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
	fields := p.object(path, raw, attachmentMembers)
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
		if strictjson.Unmarshal(raw, a.File) != nil {
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
