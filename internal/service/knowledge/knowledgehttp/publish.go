package knowledgehttp

import (
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

const publishPath = "/operator/knowledge/collections"

// OfferedEntry is a collection for everybody or for members, as operators see it.
type OfferedEntry struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Folder    string `json:"folder"`
	Readers   string `json:"readers"`
	Published bool   `json:"published"`
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
}

// OfferedList is a page of them.
type OfferedList struct {
	Collections []OfferedEntry `json:"collections"`
	// Next is what to pass as after; empty at the end.
	Next string `json:"next,omitempty"`
}

// PublishBody is a consent: to everybody or to members, as the owner chose.
type PublishBody struct {
	Readers string `json:"readers"`
}

func offeredEntry(c knowledge.Collection) OfferedEntry {
	return OfferedEntry{
		c.ID, c.Namespace, c.Name, c.Folder, string(c.Readers), c.Published(), stamp(c.Created), stamp(c.Updated),
	}
}

func (a *api) publishSurface() httpserver.Surface {
	operators := []string{"Operators"}
	return httpserver.Surface{
		Name: "publishing", Doc: "Which collections may answer everybody or members.", CORS: a.deps.Open,
		Routes: []httpserver.Route{
			{
				Method: http.MethodGet, Pattern: publishPath, Auth: httpserver.Operator, Tags: operators, Summary: "Collections for everybody or members",
				Doc: "By id. Those that are not published wait for an operator.",
				Params: []httpserver.Param{
					{Name: "after", In: "query", Doc: "The id after which to go on."},
					{Name: "limit", In: "query", Schema: 0, Doc: "At most 200."},
				},
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: OfferedList{}}}, Handler: a.offered,
			},
			{
				Method: http.MethodPut, Pattern: publishPath + "/{id}/published", Auth: httpserver.Operator, Tags: operators, Summary: "Publish a collection",
				Doc:    "readers is whom its owner chose, so that nothing is published to more than you saw. What is added later is published too.",
				Params: []httpserver.Param{idParam}, Body: PublishBody{}, MaxBody: 4 << 10,
				Example: map[string]any{"readers": "everybody"},
				Replies: []httpserver.Reply{
					{Status: http.StatusOK, Body: OfferedEntry{}},
					{Status: http.StatusConflict, Doc: "The owner chose other readers meanwhile."},
				},
				Handler: a.publish,
			},
			{
				Method: http.MethodDelete, Pattern: publishPath + "/{id}/published", Auth: httpserver.Operator, Tags: operators,
				Summary: "Take a consent back",
				Doc:     "The collection answers its owner and holders of delegations alone from now on.",
				Params:  []httpserver.Param{idParam}, Replies: []httpserver.Reply{{Status: http.StatusNoContent}},
				Handler: a.unpublish,
			},
		},
	}
}

func (a *api) offered(w http.ResponseWriter, r *http.Request) error {
	limit := knowledge.MaxPage
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fault.New(fault.Invalid, "limit must be a number of at least 1")
		}
		limit = min(n, knowledge.MaxPage)
	}
	all, err := a.svc.ForMany(r.Context(), r.URL.Query().Get("after"), limit)
	if err != nil {
		return err
	}
	out := OfferedList{Collections: []OfferedEntry{}}
	for _, c := range all {
		out.Collections = append(out.Collections, offeredEntry(c))
	}
	if len(all) == limit {
		out.Next = all[limit-1].ID
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) publish(w http.ResponseWriter, r *http.Request) error {
	var body PublishBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	c, err := a.svc.Publish(r.Context(), r.PathValue("id"), knowledge.Readers(body.Readers))
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, offeredEntry(c))
}

func (a *api) unpublish(w http.ResponseWriter, r *http.Request) error {
	if err := a.svc.Unpublish(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
