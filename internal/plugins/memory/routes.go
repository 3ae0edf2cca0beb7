package memory

import (
	"net/http"
	"unicode/utf8"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

var _ pluginhttp.RouteProvider = (*Plugin)(nil)

// Memories is the reply of a list.
type Memories struct {
	Memories []Memory `json:"memories"`
}

// NewMemory is the body that remembers a text.
type NewMemory struct {
	Text string `json:"text"`
}

// Forgotten is the reply of a deletion.
type Forgotten struct {
	Deleted int `json:"deleted"`
}

// maxQuery bounds a search, in characters.
const maxQuery = 500

// Routes are /memory.
func (p *Plugin) Routes() []pluginhttp.Route {
	return []pluginhttp.Route{
		{
			Method: http.MethodGet, Pattern: "/memory", Summary: "List or search what the oracle remembers of you",
			Doc:     "Without q everything, the newest first: this is also the export. With q what fits, the best first, at most 100.",
			Params:  []pluginhttp.Param{{Name: "q", In: "query", Schema: "", Doc: "Words to look for."}},
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Memories{}}},
			Handler: p.list,
		},
		{
			Method: http.MethodPost, Pattern: "/memory", Summary: "Remember a text", Doc: "The same text is remembered once.",
			Body: NewMemory{}, Replies: []pluginhttp.Reply{{Status: http.StatusCreated, Body: Memory{}}}, Handler: p.add,
		},
		{
			Method: http.MethodDelete, Pattern: "/memory/{id}", Summary: "Forget one memory",
			Params:  []pluginhttp.Param{{Name: "id", In: "path", Required: true, Schema: ""}},
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Forgotten{}}, {Status: http.StatusNotFound, Doc: "You have no such memory."}},
			Handler: p.remove,
		},
		{
			Method: http.MethodDelete, Pattern: "/memory", Summary: "Forget everything",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Forgotten{}}}, Handler: p.clear,
		},
	}
}

func (p *Plugin) list(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	query := r.URL.Query().Get("q")
	if utf8.RuneCountInString(query) > maxQuery {
		return plugin.Errorf(http.StatusBadRequest, "q must be shorter than or equal to %d characters", maxQuery)
	}
	found, err := p.Recall(r.Context(), rt.User.DID, query, MaxMemories)
	if err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, Memories{found})
}

func (p *Plugin) add(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	var in NewMemory
	if err := pluginhttp.ReadJSON(r, &in); err != nil {
		return err
	}
	made, err := p.Remember(r.Context(), rt.User.DID, in.Text)
	if err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusCreated, made)
}

func (p *Plugin) remove(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	there, err := p.Forget(r.Context(), rt.User.DID, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !there {
		return errUnknown()
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, Forgotten{1})
}

func (p *Plugin) clear(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	n, err := p.ForgetAll(r.Context(), rt.User.DID)
	if err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, Forgotten{n})
}
