package webhook

import (
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Type is a kind of event.
type Type struct {
	Name string
	// Doc says when it is sent, and Data what its data holds.
	Doc  string
	Data string
}

// The names that this package itself sends.
const (
	TypeTest     = "webhook.test"
	TypeDisabled = "webhook.disabled"
	TypeCalled   = "menu.called"
)

// Types is every event there is. A new one is a line here, and an Emit in the
// transaction of what it reports.
func Types() []Type {
	return []Type{
		{Name: "session.created", Doc: "A conversation was begun.", Data: "sessionId"},
		{Name: "session.titled", Doc: "A conversation got its title.", Data: "sessionId"},
		{Name: "session.ended", Doc: "A conversation was deleted, with all that belongs to it.", Data: "sessionId"},
		{Name: "run.finished", Doc: "An answer is stored. status is finished, or aborted when it was stopped.", Data: "sessionId, runId, requestId, messageId, status"},
		{Name: "run.failed", Doc: "An answer ended with an error, whose kind is told, or with its node; status is failed or interrupted.", Data: "sessionId, runId, requestId, messageId, status, error"},
		{Name: "file.stored", Doc: "A file was stored under a path that had none.", Data: "fileId, version, cid, size, mimeType, change"},
		{Name: "file.changed", Doc: "A file has a new version, an old one again, another path, or another visibility; change says which: update, restore, move, untrash, publish or unpublish.", Data: "fileId, version, cid, previousCid, size, mimeType, change"},
		{Name: "file.deleted", Doc: "A file was put into the trash (change trash) or removed for good (change purge).", Data: "fileId, version, cid, previousCid, size, mimeType, change"},
		{Name: "file.shared", Doc: "A share link was registered. It is named by its id, never by its token.", Data: "shareId, expires"},
		{Name: "credits.low", Doc: "What is left fell below CREDITS_LOW.", Data: "available, held"},
		{Name: "credits.exhausted", Doc: "Too little is left to be served: less than CREDITS_MINIMUM.", Data: "available, held"},
		{Name: "knowledge.ingested", Doc: "A document was read into a collection of knowledge.", Data: "collectionId, fileId, version, pages, passages, language"},
		{Name: "knowledge.failed", Doc: "A document could not be read into a collection of knowledge; reason says why.", Data: "collectionId, fileId, version, reason"},
		{Name: "knowledge.removed", Doc: "A document is in a collection of knowledge no more; without fileId the whole collection was deleted.", Data: "collectionId, fileId"},
		{Name: "knowledge.asked", Doc: "Somebody sent a question to the people of the owner's collection. Neither its words nor who asked is told.", Data: "collectionId, inquiryId"},
		{Name: "knowledge.settled", Doc: "Such a question waits no more; status is answered, dismissed or removed.", Data: "collectionId, inquiryId, status"},
		{Name: "form.submitted", Doc: "A telephone user sent a form whose menu names the owner. The telephone's number is not told.", Data: "form, submissionId, account, language, values"},
		{Name: "key.asked", Doc: "Somebody asked at a linked telephone for a new key in the place of the owner's. Whoever still has the old one and did not ask refuses it.", Data: "requestId, account, key, readyAt"},
		{Name: "key.bound", Doc: "An operator approved a new key: it signs for the owner from now on, and what the old one signed is refused.", Data: "requestId, account, key"},
		{Name: "key.undone", Doc: "An operator took a new key back: it is nobody's any more, and the one before signs for the owner.", Data: "requestId, account, key"},
		{Name: TypeCalled, Doc: "A telephone user came to an action of a menu that names this endpoint, which is told alone and may answer with values for the next screen. The telephone's number is not told; caller stands for it, always the same.", Data: "webhook, caller, account, language, values"},
		{Name: TypeTest, Doc: "Asked for by the owner, at the endpoint that it is to test alone.", Data: "endpointId"},
		{Name: TypeDisabled, Doc: "Another endpoint of the same owner was switched off: it answered nothing good for more than a day, or said 410.", Data: "endpointId, reason"},
	}
}

// Known reports whether an event of that name exists.
func Known(name string) bool {
	return slices.ContainsFunc(Types(), func(t Type) bool { return t.Name == name })
}

const maxFilters = 32

// ParseEvents checks what an owner chose: names of events, whole groups such as
// file.*, or * for all. The result is sorted and says nothing twice.
func ParseEvents(chosen []string) ([]string, error) {
	if len(chosen) == 0 || len(chosen) > maxFilters {
		return nil, fault.Newf(fault.Invalid, "events must name 1 to %d events", maxFilters)
	}
	out := slices.Clone(chosen)
	slices.Sort(out)
	out = slices.Compact(out)
	for _, name := range out {
		if name == "*" || Known(name) {
			continue
		}
		group, ok := strings.CutSuffix(name, "*")
		if !ok || !strings.HasSuffix(group, ".") || !slices.ContainsFunc(Types(), func(t Type) bool {
			return strings.HasPrefix(t.Name, group)
		}) {
			return nil, fault.Newf(fault.Invalid, "events: there is no event %.60q", name)
		}
	}
	return out, nil
}

// Chosen reports whether an event is among those that an owner chose.
func Chosen(events []string, name string) bool {
	return slices.ContainsFunc(events, func(e string) bool {
		group, all := strings.CutSuffix(e, "*")
		return e == name || all && strings.HasPrefix(name, group)
	})
}
