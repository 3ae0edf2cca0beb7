// Package ussdcounthttp shows operators the figures of telephones and of text
// messages, and how many sessions began on each day. It names no number and no caller.
package ussdcounthttp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
)

// Deps is where figures come from.
type Deps struct {
	// Counts returns the counts of the last days, today included.
	Counts func(ctx context.Context, days int) (map[ussdcount.Count]int64, error)
	// Begun returns how many sessions began on each day from one on.
	Begun func(ctx context.Context, fromDay string) (map[string]int64, error)
	// Totals adds up the text messages since a time.
	Totals func(ctx context.Context, since time.Time) ([]ussdsms.Total, error)
	Now    func() time.Time
}

// Messages is how many text messages of a kind came to a state.
type Messages struct {
	Kind     string `json:"kind" jsonschema:"code, answer, receipt or reply"`
	State    string `json:"state" jsonschema:"waiting, sent (to the gateway), delivered or undelivered (as the gateway reports), failed or refused (by a limit, or by the number)"`
	Messages int64  `json:"messages"`
	Parts    int64  `json:"parts" jsonschema:"what networks charge for"`
	Currency string `json:"currency,omitempty"`
	Cost     string `json:"cost,omitempty" jsonschema:"a decimal number, as the gateway or SMS_PRICE says"`
}

// Spend is what messages cost in all.
type Spend struct {
	Currency string `json:"currency"`
	Cost     string `json:"cost"`
}

// Report is the body of GET /operator/ussd/figures.
type Report struct {
	Days int `json:"days"`
	ussdcount.Figures
	Messages []Messages `json:"messages"`
	Spend    []Spend    `json:"spend"`
}

// DayList is the body of GET /operator/ussd/days.
type DayList struct {
	Days []ussdcount.Day `json:"days" jsonschema:"the oldest first, each day of UTC, also those without sessions"`
}

const (
	defaultDays = 7
	maxDays     = 90
)

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	return httpserver.Surface{Name: "ussd figures", Doc: "Figures of telephones, for operators.", Routes: []httpserver.Route{{
		Method: http.MethodGet, Pattern: "/operator/ussd/figures", Summary: "How telephones are served",
		Doc: "Sessions, where they are left, how soon each gateway is answered, what requests were refused for, and what text messages cost. " +
			"Days are those of UTC; what nodes counted in the last seconds may be missing.",
		Auth: httpserver.Operator, Tags: []string{"USSD, for operators"},
		Params:  daysParam(),
		Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Report{}}, {Status: http.StatusBadRequest, Doc: "days is out of its range"}},
		Handler: d.figures,
	}, {
		Method: http.MethodGet, Pattern: "/operator/ussd/days", Summary: "Telephone sessions of each day",
		Doc:  "How many began. Days are those of UTC; what nodes counted in the last seconds may be missing.",
		Auth: httpserver.Operator, Tags: []string{"USSD, for operators"}, Params: daysParam(),
		Replies: []httpserver.Reply{{Status: http.StatusOK, Body: DayList{}}, {Status: http.StatusBadRequest, Doc: "days is out of its range"}},
		Handler: d.days,
	}}}
}

func daysParam() []httpserver.Param {
	return []httpserver.Param{{Name: "days", In: "query", Schema: 0, Doc: "how many days back, 1 to 90; 7 when not given", Example: defaultDays}}
}

// daysOf reads how many days a request asks about.
func daysOf(r *http.Request) (int, error) {
	given := r.URL.Query().Get("days")
	if given == "" {
		return defaultDays, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 || n > maxDays {
		return 0, fault.Newf(fault.Invalid, "days must be a number from 1 to %d", maxDays)
	}
	return n, nil
}

func (d Deps) days(w http.ResponseWriter, r *http.Request) error {
	days, err := daysOf(r)
	if err != nil {
		return err
	}
	first := d.Now().UTC().AddDate(0, 0, 1-days)
	begun, err := d.Begun(r.Context(), first.Format(time.DateOnly))
	if err != nil {
		return err
	}
	list := DayList{Days: make([]ussdcount.Day, days)}
	for i := range list.Days {
		day := first.AddDate(0, 0, i).Format(time.DateOnly)
		list.Days[i] = ussdcount.Day{Day: day, Begun: begun[day]}
	}
	return httpserver.WriteJSON(w, http.StatusOK, list)
}

func (d Deps) figures(w http.ResponseWriter, r *http.Request) error {
	days, err := daysOf(r)
	if err != nil {
		return err
	}
	counts, err := d.Counts(r.Context(), days)
	if err != nil {
		return err
	}
	today := d.Now().UTC().Truncate(24 * time.Hour)
	totals, err := d.Totals(r.Context(), today.AddDate(0, 0, 1-days))
	if err != nil {
		return err
	}
	out := Report{Days: days, Figures: ussdcount.Sum(counts), Messages: []Messages{}, Spend: []Spend{}}
	spend := map[string]int64{}
	for _, t := range totals {
		m := Messages{
			Kind: string(t.Kind), State: string(t.State), Messages: t.Messages, Parts: t.Parts, Currency: t.Currency,
		}
		if t.Currency != "" {
			m.Cost = decimal(t.Micros)
			spend[t.Currency] += t.Micros
		}
		out.Messages = append(out.Messages, m)
	}
	for currency, micros := range spend {
		out.Spend = append(out.Spend, Spend{currency, decimal(micros)})
	}
	slices.SortFunc(out.Spend, func(a, b Spend) int { return cmp.Compare(a.Currency, b.Currency) })
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

// decimal writes millionths as units, with four digits behind the point.
func decimal(micros int64) string { return fmt.Sprintf("%d.%04d", micros/1e6, micros%1e6/100) }
