package reporthttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
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

	// Messages is what people said; each makes one call or many.
	Messages int64 `json:"messages"`

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

// SpenderList is the body of GET /operator/usage/spenders.
type SpenderList struct {
	Month    string    `json:"month"`
	Spenders []Spender `json:"spenders"`
}

// Spender is what somebody used in a month.
type Spender struct {
	User       string `json:"user"`
	Messages   int64  `json:"messages"`
	Calls      int64  `json:"calls"`
	Tokens     int64  `json:"tokens"`
	CostMicros int64  `json:"costMicros"`
}

// CreditList is the body of GET /operator/usage/credits.
type CreditList struct {
	// On says whether turns cost credits here.
	On      bool        `json:"on"`
	From    string      `json:"from"`
	To      string      `json:"to"`
	Credits []CreditDay `json:"credits"`
}

// CreditDay is what all accounts together were granted and spent on a day.
type CreditDay struct {
	Day     string `json:"day"`
	Granted int64  `json:"granted"`
	Spent   int64  `json:"spent"`
}

func usageRoutes(a api) []httpserver.Route {
	filters := []httpserver.Param{
		{Name: "model", In: "query", Doc: "Only this model."},
		{Name: "source", In: "query", Doc: "Only what came this way: oracle, face, telephone, call, or the name of a plugin, which also stands for its sub-agents."},
	}
	replies := []httpserver.Reply{{Status: 200, Body: UsageList{}}, {Status: 400, Doc: "A day is not one, or by names something else."}}
	const doc = "Sums of messages and of the requests to models that they made: tokens, cost in millionths, failures, and the mean time to the first word. Counts are written within a second."
	return []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: "/operator/usage", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "What models were asked, and what it cost", Doc: doc, Handler: a.everybodysUsage, Replies: replies,
			Params: append(append(days(), filters...),
				httpserver.Param{Name: "user", In: "query", Doc: "Only this user's (a DID)."},
				httpserver.Param{Name: "by", In: "query", Doc: "A comma list of day, user, model and source; day,model when absent, empty for the total alone."}),
		},
		{
			Method: http.MethodGet, Pattern: "/operator/usage/spenders", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "Who spent most in a month", Handler: a.spenders,
			Doc: "By cost, then by tokens: numbers alone, never what anybody said. Counts are written within a second.",
			Params: []httpserver.Param{
				{Name: "month", In: "query", Doc: "The month (UTC), such as 2026-11; this one when absent.", Example: "2026-11"},
				{Name: "limit", In: "query", Schema: 0, Doc: "How many, 1 to 100; 10 when absent.", Example: usualSpenders},
			},
			Replies: []httpserver.Reply{{Status: 200, Body: SpenderList{}}, {Status: 400, Doc: "The month is not one, or limit is out of its range."}},
		},
		{
			Method: http.MethodGet, Pattern: "/operator/usage/credits", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "Credits that were granted and spent, by day", Handler: a.credits, Params: days(),
			Doc:     "Of all accounts together. Days without either are left out, and so is what happened before this was counted.",
			Replies: []httpserver.Reply{{Status: 200, Body: CreditList{}}, {Status: 400, Doc: "A day is not one."}},
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

// usualSpenders is how many are listed when nobody says how many.
const usualSpenders = 10

func (a api) spenders(w http.ResponseWriter, r *http.Request) error {
	v, limit, month := r.URL.Query(), usualSpenders, oracle.MonthOf(oracle.DayOf(a.deps.Now()))
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > usage.MaxSpenders {
			return fault.Newf(fault.Invalid, "limit must be a number from 1 to %d", usage.MaxSpenders)
		}
		limit = n
	}
	if text := v.Get("month"); text != "" {
		t, err := time.Parse(monthLayout, text)
		if err != nil {
			return fault.New(fault.Invalid, "month must be a month such as 2026-11")
		}
		month = oracle.DayOf(t)
	}
	list, err := a.deps.Usage.Spenders(r.Context(), month, limit)
	if err != nil {
		return err
	}
	body := SpenderList{Month: dayText(month)[:len(monthLayout)], Spenders: make([]Spender, len(list))}
	for i, s := range list {
		body.Spenders[i] = Spender{
			User: s.Owner, Messages: s.Messages, Calls: s.Calls, Tokens: s.Tokens, CostMicros: s.CostMicros,
		}
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) credits(w http.ResponseWriter, r *http.Request) error {
	from, to, err := a.dayRange(r)
	if err != nil {
		return err
	}
	body := CreditList{On: a.deps.Credits != nil, From: dayText(from), To: dayText(to), Credits: []CreditDay{}}
	if body.On {
		granted, spent, err := a.deps.Credits.CreditDays(r.Context(), from, to)
		if err != nil {
			return err
		}
		for day := from; day <= to; day++ {
			if granted[day] != 0 || spent[day] != 0 {
				body.Credits = append(body.Credits, CreditDay{Day: dayText(day), Granted: granted[day], Spent: spent[day]})
			}
		}
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
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
		User: r.Owner, Model: r.Model, Source: r.Source, Messages: r.Messages, Calls: r.Calls, Failed: r.Failed,
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
