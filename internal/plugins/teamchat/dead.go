package teamchat

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Dead is an event whose answer was put aside after its last try. What was
// written is not shown: it is between its writer and the oracle.
type Dead struct {
	ID      string `json:"id"`
	Team    string `json:"team"`
	User    string `json:"user"`
	Channel string `json:"channel,omitempty"`
	// Answered says that the oracle's answer is there and only could not be posted.
	Answered bool   `json:"answered"`
	Attempts int    `json:"attempts"`
	Reason   string `json:"reason"`
	At       string `json:"at"`
}

// DeadList is the reply of GET /teamchat/dead.
type DeadList struct {
	Dead []Dead `json:"dead"`
	// After names the last event when there may be more of them.
	After string `json:"after,omitempty"`
}

// Requeued is the reply of POST /teamchat/dead/{id}.
type Requeued struct {
	Requeued bool `json:"requeued"`
}

const maxListed = 200

// deadRoutes let operators see what could not be answered, and try again.
func (p *Plugin) deadRoutes() []pluginhttp.Route {
	const how = " Needs Authorization: Bearer with TEAMCHAT_SECRET."
	refused := pluginhttp.Reply{Status: http.StatusUnauthorized, Doc: "Not an operator."}
	return []pluginhttp.Route{
		{
			Method: http.MethodGet, Pattern: "/teamchat/dead", Summary: "Events that were put aside (operators)",
			Doc:     "Up to 200 events whose answer failed ten times or cannot be posted, and why." + how,
			Params:  []pluginhttp.Param{{Name: "after", In: "query", Schema: "", Doc: "The event after which the list goes on."}},
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: DeadList{}}, refused}, Handler: p.guarded(p.dead),
		},
		{
			Method: http.MethodPost, Pattern: "/teamchat/dead/{id}", Summary: "Answer an event after all (operators)",
			Doc:    "Gives an event that was put aside all its tries again. What was posted already is not posted twice." + how,
			Params: []pluginhttp.Param{{Name: "id", In: "path", Required: true, Schema: "", Doc: "The event."}},
			Replies: []pluginhttp.Reply{
				{Status: http.StatusOK, Body: Requeued{}},
				refused,
				{Status: http.StatusNotFound, Doc: "It was not put aside."},
			},
			Handler: p.guarded(p.requeue),
		},
	}
}

// guarded serves whoever knows TEAMCHAT_SECRET.
func (p *Plugin) guarded(next func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request,
	*plugin.Runtime) error {
	return func(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
		if err := pluginhttp.CheckBearer(r, p.cfg.Operators, "Only operators see what was put aside"); err != nil {
			return err
		}
		return next(w, r)
	}
}

func (p *Plugin) dead(w http.ResponseWriter, r *http.Request) error {
	items, err := p.queue.Buried(r.Context(), r.URL.Query().Get("after"), maxListed)
	if err != nil {
		return err
	}
	out := DeadList{Dead: make([]Dead, len(items))}
	for i, it := range items {
		var j job
		if err := it.Decode(&j); err != nil {
			// A job that nothing can read was put aside for that: show it.
			j = job{}
		}
		out.Dead[i] = Dead{
			ID: it.ID, Team: j.Team, User: j.User, Channel: j.Channel, Answered: j.Answer != "",
			Attempts: it.Attempt, Reason: it.Error, At: it.Due.UTC().Format(time.RFC3339),
		}
	}
	if len(items) == maxListed {
		out.After = items[maxListed-1].ID
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, out)
}

func (p *Plugin) requeue(w http.ResponseWriter, r *http.Request) error {
	again, err := p.queue.Requeue(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !again {
		return plugin.Errorf(http.StatusNotFound, "This event was not put aside")
	}
	p.nudge()
	return pluginhttp.WriteJSON(w, http.StatusOK, Requeued{true})
}
