// Package operatordochttp has the operators' routes to their documents: list,
// read, replace, remove, history and restore.
//
// A change names in If-Match the version that it was made from, and is refused
// with 412 when another one is the newest by now, and with 409 while a variable
// or a file of the server rules. Nothing is stored that cannot be read.
package operatordochttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

const (
	historyLimit = 20
	// maxBody leaves room for a document in JSON, where a byte may take six.
	maxBody = 2 << 20
)

// Deps is what the routes need.
type Deps struct {
	Shelf *operatordoc.Shelf
	// Author names who asks, as it is kept with a version.
	Author func(*http.Request) string
}

// DocumentState says which text of a document is in force.
type DocumentState struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Media string `json:"media"`
	// Source is environment, file, database or built in.
	Source string `json:"source"`
	// Where is the variable or the file that rules.
	Where    string `json:"where,omitempty"`
	ReadOnly bool   `json:"readOnly"`
	// Version is the stored version in force, with who wrote it.
	Version int64  `json:"version,omitempty"`
	Author  string `json:"author,omitempty"`
	Digest  string `json:"digest"`
	// Since is when the node that answers began to use it.
	Since string `json:"since"`
	// Problem says why a newer text is not in force.
	Problem string `json:"problem,omitempty"`
	// Variable and FileVariable are the settings that rule over what is stored.
	Variable     string `json:"variable,omitempty"`
	FileVariable string `json:"fileVariable,omitempty"`
	MaxBytes     int    `json:"maxBytes"`
}

// DocumentList is the body of GET /operator/documents.
type DocumentList struct {
	Documents []DocumentState `json:"documents"`
}

// Document is a document with its text.
type Document struct {
	DocumentState
	Text string `json:"text"`
	// Newest is the newest stored version: what If-Match names.
	Newest int64 `json:"newest"`
}

// NewText is the body of PUT /operator/documents/{name}.
type NewText struct {
	Text string `json:"text"`
	// Note says why, for the history.
	Note string `json:"note,omitempty"`
}

// Restoration is the body of a restore.
type Restoration struct {
	Note string `json:"note,omitempty"`
}

// Version is a version in the history.
type Version struct {
	Version int64  `json:"version"`
	Author  string `json:"author"`
	Note    string `json:"note,omitempty"`
	Written string `json:"written"`
	Size    int    `json:"size"`
	Removed bool   `json:"removed,omitempty"`
	// Restores is the version that this one repeats.
	Restores int64 `json:"restores,omitempty"`
}

// VersionText is a version with its text.
type VersionText struct {
	Version
	Text string `json:"text"`
}

// History is the body of GET /operator/documents/{name}/versions.
type History struct {
	Versions []Version `json:"versions"`
	// Next continues the list; it is absent at its end.
	Next int64 `json:"next,omitempty"`
}

type api struct{ Deps }

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	a := api{d}
	operators := []string{"Operators"}
	name := httpserver.Param{Name: "name", In: "path", Required: true, Doc: "The document, such as instructions."}
	number := httpserver.Param{Name: "version", In: "path", Required: true, Schema: int64(0), Doc: "The version's number."}
	match := httpserver.Param{Name: "If-Match", In: "header", Required: true, Doc: `The version that was changed, as ETag says it, such as "3"; "0" where none is stored.`}
	refusals := []httpserver.Reply{
		{Status: http.StatusBadRequest, Doc: "The text cannot be read; the message says where and why."},
		{Status: http.StatusConflict, Doc: "A variable or a file of the server rules; the message names it."},
		{Status: http.StatusPreconditionFailed, Doc: "Another version is the newest."},
		{Status: http.StatusRequestEntityTooLarge, Doc: "The text is larger than maxBytes."},
	}
	return httpserver.Surface{
		Name: "operator documents", Doc: "Documents that operators change while the program runs.",
		Routes: []httpserver.Route{
			{
				Method: http.MethodGet, Pattern: "/operator/documents", Auth: httpserver.Operator, Tags: operators,
				Summary: "Documents", Doc: "Where each comes from, which version is in force, and what is wrong with a newer one.",
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: DocumentList{}}}, Handler: a.list,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/documents/{name}", Auth: httpserver.Operator, Tags: operators,
				Params:  []httpserver.Param{name},
				Summary: "A document", Doc: "With its newest text. ETag is the newest stored version. Secrets in it are sealed.",
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Document{}}}, Handler: a.get,
			},
			{
				Method: http.MethodPut, Pattern: "/operator/documents/{name}", Auth: httpserver.Operator, Tags: operators,
				Params:  []httpserver.Param{name, match},
				Summary: "Replace a document", Doc: "The text is checked before it is stored, and in force on every node within a second.",
				Body: NewText{}, MaxBody: maxBody, Replies: append([]httpserver.Reply{{Status: http.StatusOK, Body: Version{}}},
					refusals...), Handler: a.put,
			},
			{
				Method: http.MethodDelete, Pattern: "/operator/documents/{name}", Auth: httpserver.Operator, Tags: operators,
				Params:  []httpserver.Param{name, match},
				Summary: "Remove a document", Doc: "Goes back to what the program has built in. The history stays.",
				Replies: append([]httpserver.Reply{{Status: http.StatusOK, Body: Version{}}}, refusals...), Handler: a.remove,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/documents/{name}/versions", Auth: httpserver.Operator, Tags: operators,
				Summary: "History of a document", Doc: "The newest first. The last 100 versions are kept.",
				Params: []httpserver.Param{
					name,
					{Name: "before", In: "query", Schema: int64(0), Doc: "The version below which to go on."},
					{Name: "limit", In: "query", Schema: 0, Doc: "At most 100, usually 20."},
				},
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: History{}}}, Handler: a.history,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/documents/{name}/versions/{version}", Auth: httpserver.Operator, Tags: operators,
				Summary: "A version of a document", Params: []httpserver.Param{name, number},
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: VersionText{}}}, Handler: a.version,
			},
			{
				Method: http.MethodPost, Pattern: "/operator/documents/{name}/versions/{version}/restore", Auth: httpserver.Operator, Tags: operators,
				Summary: "Restore a version of a document", Doc: "Stores its text as the newest version.", Params: []httpserver.Param{name, number, match},
				Body: Restoration{}, MaxBody: 4 << 10, Replies: append([]httpserver.Reply{{Status: http.StatusOK, Body: Version{}}},
					refusals...), Handler: a.restore,
			},
		},
	}
}

func (a api) list(w http.ResponseWriter, _ *http.Request) error {
	states := a.Shelf.States()
	body := DocumentList{Documents: make([]DocumentState, len(states))}
	for i, s := range states {
		body.Documents[i] = stateBody(s)
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) get(w http.ResponseWriter, r *http.Request) error {
	c, err := a.Shelf.Contents(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", ETag(c.Newest))
	return httpserver.WriteJSON(w, http.StatusOK,
		Document{DocumentState: stateBody(c.State), Text: string(c.Text), Newest: c.Newest})
}

func (a api) put(w http.ResponseWriter, r *http.Request) error {
	var body NewText
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	return a.change(w, r, body.Note, func(c operatordoc.Change) (operatordoc.Version, error) {
		return a.Shelf.Store(r.Context(), r.PathValue("name"), []byte(body.Text), c)
	})
}

func (a api) remove(w http.ResponseWriter, r *http.Request) error {
	return a.change(w, r, "", func(c operatordoc.Change) (operatordoc.Version, error) {
		return a.Shelf.Remove(r.Context(), r.PathValue("name"), c)
	})
}

func (a api) restore(w http.ResponseWriter, r *http.Request) error {
	var body Restoration
	if r.ContentLength != 0 {
		if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
			return err
		}
	}
	number, err := versionOf(r)
	if err != nil {
		return err
	}
	return a.change(w, r, body.Note, func(c operatordoc.Change) (operatordoc.Version, error) {
		return a.Shelf.Restore(r.Context(), r.PathValue("name"), number, c)
	})
}

// change does what stores a version and answers with it.
func (a api) change(w http.ResponseWriter, r *http.Request, note string,
	do func(operatordoc.Change) (operatordoc.Version, error),
) error {
	after, err := MatchOf(r)
	if err != nil {
		return err
	}
	v, err := do(operatordoc.Change{Author: a.Author(r), Note: note, After: after})
	if err != nil {
		return err
	}
	w.Header().Set("ETag", ETag(v.Number))
	return httpserver.WriteJSON(w, http.StatusOK, versionBody(v))
}

func (a api) history(w http.ResponseWriter, r *http.Request) error {
	before, err := wholeNumber(r, "before", 0, 1, 1<<53)
	if err != nil {
		return err
	}
	limit, err := wholeNumber(r, "limit", historyLimit, 1, operatordoc.KeptVersions)
	if err != nil {
		return err
	}
	list, err := a.Shelf.History(r.Context(), r.PathValue("name"), before, int(limit))
	if err != nil {
		return err
	}
	body := History{Versions: make([]Version, len(list))}
	for i, v := range list {
		body.Versions[i] = versionBody(v)
	}
	if len(list) == int(limit) {
		body.Next = list[len(list)-1].Number
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) version(w http.ResponseWriter, r *http.Request) error {
	number, err := versionOf(r)
	if err != nil {
		return err
	}
	v, err := a.Shelf.StoredVersion(r.Context(), r.PathValue("name"), number)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, VersionText{Version: versionBody(v), Text: string(v.Text)})
}

func stateBody(s operatordoc.State) DocumentState {
	return DocumentState{
		Name: s.Name, Title: s.Title, Media: s.Media, Source: string(s.Source), Where: s.Where, ReadOnly: s.ReadOnly(),
		Version: s.Number, Author: s.Author,
		Digest: s.Digest, Since: timestamp(s.Since), Problem: s.Problem, Variable: s.Variable, FileVariable: s.FileVariable,
		MaxBytes: s.MaxBytes,
	}
}

func versionBody(v operatordoc.Version) Version {
	return Version{
		Version: v.Number, Author: v.Author, Note: v.Note, Written: timestamp(v.Written), Size: v.Size, Removed: v.Removed,
		Restores: v.Restores,
	}
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// ETag names a version.
func ETag(number int64) string { return strconv.Quote(strconv.FormatInt(number, 10)) }

// MatchOf reads the one version that If-Match names.
func MatchOf(r *http.Request) (int64, error) {
	values := r.Header.Values("If-Match")
	if len(values) == 1 {
		if text, ok := strings.CutPrefix(strings.TrimSpace(values[0]), `"`); ok {
			if n, ok := number(strings.TrimSuffix(text, `"`)); ok && strings.HasSuffix(text, `"`) {
				return n, nil
			}
		}
	}
	return 0, fault.New(fault.Invalid, `If-Match must name the version that you changed, as the ETag of GET says it, such as "3"`)
}

func versionOf(r *http.Request) (int64, error) {
	if n, ok := number(r.PathValue("version")); ok && n > 0 {
		return n, nil
	}
	return 0, fault.New(fault.Invalid, "version must be a whole number of at least 1")
}

// number reads a whole number in its one spelling.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

func wholeNumber(r *http.Request, name string, otherwise, least, most int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, ok := number(text)
	if !ok || n < least || n > most {
		return 0, fault.Newf(fault.Invalid, "%s must be a whole number from %d to %d", name, least, most)
	}
	return n, nil
}
