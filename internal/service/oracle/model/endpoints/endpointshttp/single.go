package endpointshttp

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordochttp"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
)

// documentName is that of the document of models.
const documentName = "models"

// maxSingle bounds the body of a request that names one model.
const maxSingle = 16 << 10

// SingleBody is the body of GET /operator/models/single.
type SingleBody struct {
	// Kind is openai, anthropic or guide.
	Kind string `json:"kind"`
	// Address is empty for the vendor's own, and where the server's settings say it.
	Address string `json:"address,omitempty"`
	Model   string `json:"model,omitempty"`
	// KeyGiven says that there is a key. It is never shown.
	KeyGiven bool `json:"keyGiven"`
	// Whole says that this is all that the document says.
	Whole bool `json:"whole"`
	// Source says where the document comes from, Where which variable or file rules.
	Source   string `json:"source"`
	Where    string `json:"where,omitempty"`
	ReadOnly bool   `json:"readOnly"`
	// Newest is the newest stored version, which a change follows.
	Newest int64 `json:"newest"`
	// Problem says why the newest version is not in force.
	Problem string `json:"problem,omitempty"`
}

// NewSingle is the body of PUT /operator/models/single and of POST /operator/models/try.
type NewSingle struct {
	// Kind is openai (all that speak its wire), anthropic or guide (no language model).
	Kind string `json:"kind"`
	// Address may be left out for the vendor's own.
	Address string `json:"address,omitempty"`
	// Key is sealed when it is stored; without one the stored one is kept, "" is none.
	Key   *string `json:"key,omitempty"`
	Model string  `json:"model,omitempty"`
}

// Writer is what changes the document of models.
type Writer struct {
	Shelf  *operatordoc.Shelf
	Models endpoints.Config
	Author func(*http.Request) string
}

// Surface returns the routes that read and write a document with one model.
func (d Writer) Surface() httpserver.Surface {
	tags := []string{"Operators"}
	example := map[string]any{"kind": "openai", "address": "http://localhost:11434/v1", "model": "llama3.2"}
	return httpserver.Surface{
		Name: "operator model", Doc: "Which model answers, where that is one.",
		Routes: []httpserver.Route{
			{
				Method: http.MethodGet, Pattern: "/operator/models/single", Auth: httpserver.Operator, Tags: tags,
				Summary: "The model that answers", Doc: "The first model of the document of models, without its key. ETag is the newest stored version.",
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: SingleBody{}}}, Handler: d.get,
			},
			{
				Method: http.MethodPut, Pattern: "/operator/models/single", Auth: httpserver.Operator, Tags: tags,
				Summary: "Choose the model that answers",
				Doc:     "Stores a document of models with this one, in force on every node within a second. A key is sealed for its address, and kept where none is given.",
				Params:  []httpserver.Param{{Name: "If-Match", In: "header", Required: true, Doc: "The version that you changed, such as \"0\"."}},
				Body:    NewSingle{}, MaxBody: maxSingle, Example: example,
				Replies: []httpserver.Reply{
					{Status: http.StatusOK, Body: SingleBody{}},
					{Status: http.StatusConflict, Doc: "A variable or a file of the server rules, or the document says more than one model: change it as a text."},
					{Status: http.StatusPreconditionFailed, Doc: "Another version is the newest by now."},
				}, Handler: d.put,
			},
			{
				Method: http.MethodPost, Pattern: "/operator/models/try", Auth: httpserver.Operator, Tags: tags,
				Summary: "Try a model before it is chosen", Doc: "Asks the endpoint for its models and has this one say a word, with the stored key where none is given. Nothing is stored.",
				Body: NewSingle{}, MaxBody: maxSingle, Example: example,
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: CheckBody{}}}, Handler: d.try,
			},
		},
	}
}

func (d Writer) get(w http.ResponseWriter, r *http.Request) error {
	c, err := d.Shelf.Contents(r.Context(), documentName)
	if err != nil {
		return err
	}
	s, whole, err := endpoints.ReadSingle(c.Text)
	if err != nil && c.State.Problem == "" {
		return err
	}
	w.Header().Set("ETag", operatordochttp.ETag(c.Newest))
	return httpserver.WriteJSON(w, http.StatusOK, SingleBody{
		Kind: s.Kind, Address: s.Address, Model: s.Model, KeyGiven: s.KeyGiven, Whole: whole && err == nil,
		Source: string(c.State.Source), Where: c.State.Where, ReadOnly: c.State.ReadOnly(), Newest: c.Newest,
		Problem: c.State.Problem,
	})
}

// text is the document that a request asks for, and the one that it changes.
func (d Writer) text(w http.ResponseWriter, r *http.Request) (text []byte, before operatordoc.Contents, err error) {
	var body NewSingle
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return nil, before, err
	}
	if before, err = d.Shelf.Contents(r.Context(), documentName); err != nil {
		return nil, before, err
	}
	s := endpoints.Single{Kind: body.Kind, Address: body.Address, Model: body.Model, Key: body.Key}
	text, err = s.Write(before.Text)
	return text, before, invalid(err)
}

func (d Writer) put(w http.ResponseWriter, r *http.Request) error {
	after, err := operatordochttp.MatchOf(r)
	if err != nil {
		return err
	}
	text, before, err := d.text(w, r)
	if err != nil {
		return err
	}
	if _, whole, err := endpoints.ReadSingle(before.Text); !before.State.ReadOnly() && (err != nil || !whole) {
		return fault.New(fault.Conflict, "The document of models says more than one model: change it as a text.")
	}
	change := operatordoc.Change{Author: d.Author(r), After: after}
	if _, err := d.Shelf.Store(r.Context(), documentName, text, change); err != nil {
		return err
	}
	return d.get(w, r)
}

func (d Writer) try(w http.ResponseWriter, r *http.Request) error {
	text, _, err := d.text(w, r)
	if err != nil {
		return err
	}
	found, err := d.Models.Try(r.Context(), text)
	if err != nil {
		return invalid(err)
	}
	return httpserver.WriteJSON(w, http.StatusOK, bodyOf(endpoints.Check{Findings: found, At: time.Now()}))
}

func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Invalid, "The document of models: "+err.Error(), err)
}
