// Package ussdeditorhttp has the routes of the menu editor: what a draft comes to, and
// a telephone to try it on.
//
// Both change nothing, so who may only look may ask them too. A node works on one draft at
// a time: a megabyte of YAML takes seconds to be read. To publish is a change of
// the document menu (package operatordochttp).
package ussdeditorhttp

import (
	"context"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
)

const pathMenu = "/operator/ussd/menu"

// maxBody leaves room for a draft in JSON, where a byte may take six.
const maxBody = 4 << 20

// maxValues bounds what the trees of a draft are made of: text of 1 MiB has fewer.
const maxValues = 500_000

// DraftRequest is a draft: its text, or the parts that an earlier answer had.
type DraftRequest struct {
	Text  string            `json:"text,omitempty"`
	Parts []ussdeditor.Part `json:"parts,omitempty"`
	// Format asks for the text in the form in which parts are written.
	Format bool `json:"format,omitempty"`
}

// TryRequest is a call to a draft.
type TryRequest struct {
	Text string `json:"text"`
	ussdeditor.Attempt
}

type routes struct {
	editor ussdeditor.Editor
	turn   chan struct{} // full while a draft is worked on
}

// inTurn works on a draft when no other one is, or until nobody waits for it any more.
func (a routes) inTurn(ctx context.Context, work func(ctx context.Context) error) error {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
		return work(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Surface returns the routes.
func Surface(e ussdeditor.Editor) httpserver.Surface {
	a := routes{e, make(chan struct{}, 1)}
	bad := httpserver.Reply{Status: http.StatusBadRequest, Doc: "The message says what is wrong."}
	large := httpserver.Reply{Status: http.StatusRequestEntityTooLarge, Doc: "A draft may have at most 1 MiB."}
	all := []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: pathMenu + "/draft", Summary: "What a draft of the menus comes to",
			Doc:  "Its text and its trees, what the check says and at which field, and the size of every page. Stores nothing.",
			Body: DraftRequest{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: ussdeditor.Draft{}}, bad, large},
			Handler: a.draft,
		},
		{
			Method: http.MethodPost, Pattern: pathMenu + "/try", Summary: "Try a draft of the menus",
			Doc:  "Plays the inputs of a call. Actions are not done: each answers what the request says.",
			Body: TryRequest{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: ussdeditor.Shown{}}, bad, large},
			Handler: a.try,
		},
	}
	for i := range all {
		all[i].Auth, all[i].Tags = httpserver.Operator, []string{"USSD, for operators"}
		all[i].Asks, all[i].MaxBody, all[i].MaxValues = true, maxBody, maxValues
	}
	return httpserver.Surface{Name: "ussd menu editor", Doc: "Drafts of telephone menus.", Routes: all}
}

func (a routes) draft(w http.ResponseWriter, r *http.Request) error {
	var in DraftRequest
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	if (in.Text == "") == (len(in.Parts) == 0) {
		return fault.New(fault.Invalid, "Give either text or parts")
	}
	var draft ussdeditor.Draft
	if err := a.inTurn(r.Context(), func(ctx context.Context) (err error) {
		draft, err = a.read(ctx, in)
		return err
	}); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, draft)
}

func (a routes) read(ctx context.Context, in DraftRequest) (ussdeditor.Draft, error) {
	if in.Text == "" {
		return a.editor.Write(ctx, in.Parts)
	}
	text := []byte(in.Text)
	if in.Format {
		form, err := ussdeditor.Format(ctx, text)
		if ctx.Err() != nil {
			return ussdeditor.Draft{}, ctx.Err()
		}
		if err != nil {
			return ussdeditor.Draft{}, fault.New(fault.Invalid, err.Error())
		}
		text = form
	}
	return a.editor.Read(ctx, text)
}

func (a routes) try(w http.ResponseWriter, r *http.Request) error {
	var in TryRequest
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	var shown ussdeditor.Shown
	if err := a.inTurn(r.Context(), func(ctx context.Context) (err error) {
		shown, err = a.editor.Try(ctx, []byte(in.Text), in.Attempt)
		return err
	}); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, shown)
}
