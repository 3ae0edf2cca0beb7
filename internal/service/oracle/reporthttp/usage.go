package reporthttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

// UsageList is the body of GET /operator/usage and GET /usage.
type UsageList struct {
	From  string      `json:"from"`
	To    string      `json:"to"`
	By    []string    `json:"by"`
	Usage []UsageBody `json:"usage"`
	Total UsageBody   `json:"total"`
}

// UsageBody is a sum of requests to models. What was not grouped by is absent.
type UsageBody struct {
	Day    string `json:"day,omitempty"`
	User   string `json:"user,omitempty"`
	Model  string `json:"model,omitempty"`
	Source string `json:"source,omitempty"`

	Calls  int64 `json:"calls"`
	Failed int64 `json:"failed"`
	// InputTokens include cached ones, OutputTokens reasoning.
	InputTokens     int64 `json:"inputTokens"`
	CachedTokens    int64 `json:"cachedTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	ReasoningTokens int64 `json:"reasoningTokens"`
	CostMicros      int64 `json:"costMicros"`
	// FirstTokenMS is the mean time to the first word; absent when there was none.
	FirstTokenMS *int64 `json:"firstTokenMs,omitempty"`
}

func usageRoutes(a api) []httpserver.Route {
	filters := []httpserver.Param{
		{Name: "model", In: "query", Doc: "Only this model."},
		{Name: "source", In: "query", Doc: "Only what came this way: oracle, face, telephone, call, or the name of a plugin, which also stands for its sub-agents."},
	}
	replies := []httpserver.Reply{{Status: 200, Body: UsageList{}}, {Status: 400, Doc: "A day is not one, or by names something else."}}
	const doc = "Sums of requests to models: tokens, cost in millionths, failures, and the mean time to the first word. Counts are written within a second."
	return []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: "/operator/usage", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "What models were asked, and what it cost", Doc: doc, Handler: a.everybodysUsage, Replies: replies,
			Params: append(append(days(), filters...),
				httpserver.Param{Name: "user", In: "query", Doc: "Only this user's (a DID)."},
				httpserver.Param{Name: "by", In: "query", Doc: "A comma list of day, user, model and source; day,model when absent, empty for the total alone."}),
		},
		{
			Method: http.MethodGet, Pattern: "/usage", Auth: httpserver.Principal, Tags: []string{"Chat"},
			Summary: "What your questions cost", Doc: doc, Handler: a.ownUsage, Replies: replies,
			Params: append(append(days(), filters...),
				httpserver.Param{Name: "by", In: "query", Doc: "A comma list of day, model and source; day,model when absent, empty for the total alone."}),
		},
	}
}

func (a api) everybodysUsage(w http.ResponseWriter, r *http.Request) error {
	return a.writeUsage(w, r, r.URL.Query().Get("user"), usage.ByDay, usage.ByUser, usage.ByModel, usage.BySource)
}

func (a api) ownUsage(w http.ResponseWriter, r *http.Request) error {
	who, ok := identity.FromContext(r.Context())
	if !ok {
		return fault.New(fault.Unauthenticated, identity.TextMissing)
	}
	return a.writeUsage(w, r, who.DID, usage.ByDay, usage.ByModel, usage.BySource)
}

func (a api) writeUsage(w http.ResponseWriter, r *http.Request, owner string, allowed ...usage.Dimension) error {
	from, to, err := a.dayRange(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	by := "day,model"
	if v.Has("by") {
		by = v.Get("by")
	}
	q := usage.Query{From: from, To: to, Owner: owner, Model: v.Get("model"), Source: v.Get("source")}
	if q.By, err = usage.ParseBy(by, allowed...); err != nil {
		return err
	}
	rows, err := a.deps.Usage.Usage(r.Context(), q)
	if err != nil {
		return err
	}
	body := UsageList{
		From: dayText(from), To: dayText(to), By: make([]string, 0, len(q.By)), Usage: make([]UsageBody, 0, len(rows)),
	}
	for _, d := range q.By {
		body.By = append(body.By, string(d))
	}
	var total usage.Row
	for _, row := range rows {
		total = total.Add(row)
		body.Usage = append(body.Usage, usageBody(row))
	}
	body.Total = usageBody(total)
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func usageBody(r usage.Row) UsageBody {
	b := UsageBody{
		User: r.Owner, Model: r.Model, Source: r.Source, Calls: r.Calls, Failed: r.Failed,
		InputTokens: r.Usage.InputTokens, CachedTokens: r.Usage.CachedTokens, OutputTokens: r.Usage.OutputTokens,
		ReasoningTokens: r.Usage.ReasoningTokens, CostMicros: r.Usage.CostMicros,
	}
	if r.Day > 0 {
		b.Day = dayText(r.Day)
	}
	if r.Firsts > 0 {
		mean := r.FirstMS / r.Firsts
		b.FirstTokenMS = &mean
	}
	return b
}
