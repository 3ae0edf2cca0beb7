package oracle

import (
	"encoding/json"
	"reflect"
	"strings"
)

// SendBody documents the body of POST /messages/{sessionId}. ParseSend, which
// has to answer in the words that published clients know, reads the members
// that it has and no others: a member that is not here does not exist.
type SendBody struct {
	Message           string            `json:"message"`
	Stream            bool              `json:"stream,omitempty"`
	ReturnAllMessages bool              `json:"returnAllMessages,omitempty"`
	Model             string            `json:"model,omitempty"`
	Tools             []DeclaredTool    `json:"tools,omitempty"`
	AgActions         []DeclaredAction  `json:"agActions,omitempty"`
	Attachments       []SendAttachment  `json:"attachments,omitempty"`
	MCPInvocations    map[string]string `json:"mcpInvocations,omitempty"`
	Timezone          string            `json:"timezone,omitempty"`
	HomeServer        string            `json:"homeServer,omitempty"`
	Metadata          map[string]any    `json:"metadata,omitempty"`
	RequestID         string            `json:"requestId,omitempty"`
	// TabID names the page that asks, by the tabId of its socket's handshake or by
	// the socket's own id: browser tools and actions run there.
	TabID     string    `json:"tabId,omitempty"`
	Multitask Multitask `json:"multitask,omitempty"`
}

// SendAttachment is a file that comes with a message: in the user's own file
// store (cid), in Matrix (eventId, or mxcUri with file when it is encrypted).
type SendAttachment struct {
	Filename string         `json:"filename"`
	Mimetype string         `json:"mimetype"`
	Size     int64          `json:"size,omitempty"`
	MxcURI   string         `json:"mxcUri,omitempty"`
	EventID  string         `json:"eventId,omitempty"`
	CID      string         `json:"cid,omitempty"`
	File     *EncryptedFile `json:"file,omitempty"`
}

// members are those of an object that are not read yet, with the names that its
// documentation has.
type members struct {
	raw        map[string]json.RawMessage
	documented map[string]bool
}

// The names of the documented members.
var (
	bodyMembers       = membersOf(reflect.TypeFor[SendBody]())
	toolMembers       = membersOf(reflect.TypeFor[DeclaredTool]())
	actionMembers     = membersOf(reflect.TypeFor[DeclaredAction]())
	attachmentMembers = membersOf(reflect.TypeFor[SendAttachment]())
)

func membersOf(t reflect.Type) map[string]bool {
	names := make(map[string]bool)
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
	}
	return names
}
