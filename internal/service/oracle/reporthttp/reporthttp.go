// Package reporthttp tells operators over HTTP how the oracle is used and what
// people think of it, and people what they used themselves: numbers, never what
// anybody said.
package reporthttp

import (
	"context"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

// Feedback counts what people think of answers: *oracle.Service.
type Feedback interface {
	FeedbackCounts(ctx context.Context, from, to int64) ([]oracle.FeedbackCount, error)
}

// Usage sums up what models were asked; *oraclesql.Store.
type Usage interface {
	Usage(ctx context.Context, q usage.Query) ([]usage.Row, error)
	Spenders(ctx context.Context, month int64, limit int) ([]usage.Spender, error)
}

// Credits tells what accounts were granted and what they spent on each day, by its
// number: a plugin that keeps accounts.
type Credits interface {
	CreditDays(ctx context.Context, from, to int64) (granted, spent map[int64]int64, err error)
}

// Deps is what the surface serves.
type Deps struct {
	Feedback Feedback
	Usage    Usage
	// Credits is nil where turns cost nothing.
	Credits Credits
	// Authenticate wraps the routes that need a caller.
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// FeedbackList is the body of GET /operator/feedback.
type FeedbackList struct {
	Feedback []FeedbackCount `json:"feedback"`
}

// FeedbackCount is how often answers of a model were found good or bad on a day.
type FeedbackCount struct {
	Day   string `json:"day"`
	Model string `json:"model"`
	Up    int64  `json:"up"`
	Down  int64  `json:"down"`
}

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	if d.Now == nil {
		d.Now = time.Now
	}
	a := api{d}
	return httpserver.Surface{
		Name: "oracle reports", Doc: "How the oracle is used.",
		Prefixes: []string{"/usage"}, CORS: d.CORS, Authenticate: d.Authenticate,
		Routes: append(usageRoutes(a), httpserver.Route{
			Method: http.MethodGet, Pattern: "/operator/feedback", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "How often answers were found good or bad, by day and model", Handler: a.feedback, Params: days(),
			Doc:     "Numbers alone: what people wrote beside them is theirs. Feedback is counted on the day it was last changed, and goes with its session.",
			Replies: []httpserver.Reply{{Status: 200, Body: FeedbackList{}}, {Status: 400, Doc: "A day is not one."}},
		}),
	}
}

type api struct{ deps Deps }

func days() []httpserver.Param {
	return []httpserver.Param{
		{Name: "from", In: "query", Doc: "The first day (UTC), such as 2026-11-01; 29 days before the last when absent."},
		{Name: "to", In: "query", Doc: "The last day (UTC), included; today when absent."},
	}
}

const (
	dayLayout   = "2006-01-02"
	monthLayout = "2006-01"
	// usualDays is how many days are shown when nobody says how many.
	usualDays = 30
	// maxDays bounds a question.
	maxDays = 400
)

// dayRange reads the days that a request asks about.
func (a api) dayRange(r *http.Request) (from, to int64, err error) {
	to = oracle.DayOf(a.deps.Now())
	if to, err = day(r, "to", to); err != nil {
		return 0, 0, err
	}
	if from, err = day(r, "from", to-usualDays+1); err != nil {
		return 0, 0, err
	}
	if from > to || to-from >= maxDays {
		return 0, 0, fault.Newf(fault.Invalid, "from must be at most %d days before to", maxDays-1)
	}
	return from, to, nil
}

func day(r *http.Request, name string, otherwise int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := time.Parse(dayLayout, text)
	if err != nil {
		return 0, fault.Newf(fault.Invalid, "%s must be a day such as 2026-11-01", name)
	}
	return oracle.DayOf(t), nil
}

func dayText(day int64) string { return time.Unix(day*24*60*60, 0).UTC().Format(dayLayout) }

func (a api) feedback(w http.ResponseWriter, r *http.Request) error {
	from, to, err := a.dayRange(r)
	if err != nil {
		return err
	}
	list, err := a.deps.Feedback.FeedbackCounts(r.Context(), from, to)
	if err != nil {
		return err
	}
	body := FeedbackList{Feedback: make([]FeedbackCount, 0, len(list))}
	for _, c := range list {
		body.Feedback = append(body.Feedback, FeedbackCount{Day: dayText(c.Day), Model: c.Model, Up: c.Up, Down: c.Down})
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}
