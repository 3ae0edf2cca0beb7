// Package ussdformhttp has the routes with which operators read what telephone
// users sent as forms: counts, pages, an export as CSV, and a way to delete one.
//
// Telephone numbers are masked, unless an export asks for them.
package ussdformhttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
)

const (
	pathForms = "/operator/ussd/forms"
	maxPage   = 500
)

// FormList is how often each form was sent.
type FormList struct {
	Forms []ussdform.Count `json:"forms"`
}

// Submission is one form that was sent. Its number is masked.
type Submission struct {
	ID       string           `json:"submission"`
	At       time.Time        `json:"at"`
	Account  string           `json:"account,omitempty"`
	Phone    string           `json:"phoneNumber" jsonschema:"masked"`
	Language string           `json:"language"`
	Values   []ussdform.Value `json:"values"`
}

// SubmissionList is a page of submissions, the oldest first.
type SubmissionList struct {
	Submissions []Submission `json:"submissions"`
}

// Deleted names what was deleted.
type Deleted struct {
	ID string `json:"submission"`
}

type routes struct{ store ussdform.Store }

// Surface returns the routes.
func Surface(store ussdform.Store) httpserver.Surface {
	a := routes{store}
	form := httpserver.Param{Name: "form", In: "path", Required: true, Doc: "the form's name in the menu"}
	ok := func(v any) []httpserver.Reply {
		return []httpserver.Reply{{Status: http.StatusOK, Body: v}, {Status: http.StatusNotFound, Doc: "no such thing, or the caller is not an operator"}}
	}
	all := []httpserver.Route{
		{Method: http.MethodGet, Pattern: pathForms, Summary: "Forms that telephones sent, with counts", Replies: ok(FormList{}), Handler: a.list},
		{
			Method: http.MethodGet, Pattern: pathForms + "/{form}", Summary: "What was sent with a form", Replies: ok(SubmissionList{}), Handler: a.page,
			Params: []httpserver.Param{
				form,
				{Name: "after", In: "query", Doc: "the last submission of the page before"},
				{Name: "limit", In: "query", Schema: 0, Doc: "1 to 500, which it is when not given"},
			},
		},
		{
			Method: http.MethodGet, Pattern: pathForms + "/{form}/csv", Summary: "All that was sent with a form, as CSV",
			Doc:     "No cell is a formula to a spreadsheet.",
			Params:  []httpserver.Param{form, {Name: "numbers", In: "query", Doc: "true shows telephone numbers whole, to whoever has more than the role viewer"}},
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: "", Media: "text/csv"}}, Handler: a.export, Stream: true,
		},
		{
			Method: http.MethodDelete, Pattern: pathForms + "/{form}/{submission}", Summary: "Delete one submission", Replies: ok(Deleted{}), Handler: a.remove,
			Params: []httpserver.Param{form, {Name: "submission", In: "path", Required: true, Doc: "its identifier"}},
		},
	}
	for i := range all {
		all[i].Auth, all[i].Tags = httpserver.Operator, []string{"USSD, for operators"}
	}
	return httpserver.Surface{Name: "ussd forms", Doc: "What telephone users sent as forms, for operators.", Routes: all}
}

func (a routes) list(w http.ResponseWriter, r *http.Request) error {
	counts, err := a.store.Forms(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusOK, FormList{Forms: counts})
}

func (a routes) page(w http.ResponseWriter, r *http.Request) error {
	limit := maxPage
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return fault.Newf(fault.Invalid, "limit must be 1 to %d", maxPage)
		}
		limit = n
	}
	found, err := a.store.Submissions(r.Context(), r.PathValue("form"), r.URL.Query().Get("after"), limit)
	if err != nil {
		return err
	}
	list := SubmissionList{Submissions: []Submission{}}
	for _, s := range found {
		list.Submissions = append(list.Submissions, Submission{
			ID: s.ID, At: s.At, Account: s.Account, Phone: telemetry.MaskPhone(s.Phone), Language: s.Language, Values: s.Values,
		})
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusOK, list)
}

func (a routes) export(w http.ResponseWriter, r *http.Request) error {
	show := telemetry.MaskPhone
	if r.URL.Query().Get("numbers") == "true" {
		if err := httpserver.OperatorOf(r.Context()).AtLeast(httpserver.Changer); err != nil {
			return err
		}
		show = func(phone string) string { return phone }
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="submissions.csv"`)
	h.Set("Cache-Control", "no-store")
	return ussdform.Export(r.Context(), a.store, r.PathValue("form"), w, show)
}

func (a routes) remove(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("submission")
	was, err := a.store.DeleteSubmission(r.Context(), r.PathValue("form"), id)
	switch {
	case err != nil:
		return err
	case !was:
		return fault.New(fault.NotFound, "There is no such submission.")
	}
	return httpserver.WriteJSON(w, http.StatusOK, Deleted{ID: id})
}
