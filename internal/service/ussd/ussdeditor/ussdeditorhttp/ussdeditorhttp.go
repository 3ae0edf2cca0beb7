// Package ussdeditorhttp has the routes of the menu editor: what a draft comes to, and
// a telephone to try it on.
//
// Both change nothing, so who may only look may ask them too. To publish is a change of
// the document menu (package operatordochttp).
package ussdeditorhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
)

const pathMenu = "/operator/ussd/menu"

// maxBody leaves room for a draft in JSON, where a byte may take six.
const maxBody = 4 << 20

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

type routes struct{ editor ussdeditor.Editor }

// Surface returns the routes.
func Surface(e ussdeditor.Editor) httpserver.Surface {
	a := routes{e}
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
		all[i].Asks, all[i].MaxBody = true, maxBody
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
	ctx, text := r.Context(), []byte(in.Text)
	if in.Text != "" && in.Format {
		form, err := ussdeditor.Format(ctx, text)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fault.New(fault.Invalid, err.Error())
		}
		text = form
	}
	var draft ussdeditor.Draft
	var err error
	if in.Text != "" {
		draft, err = a.editor.Read(ctx, text)
	} else {
		draft, err = a.editor.Write(ctx, in.Parts)
	}
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, draft)
}

func (a routes) try(w http.ResponseWriter, r *http.Request) error {
	var in TryRequest
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	shown, err := a.editor.Try(r.Context(), []byte(in.Text), in.Attempt)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, shown)
}
