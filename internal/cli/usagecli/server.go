package usagecli

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/reporthttp"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Server has the sums of a running server. Its desk sits at /operator.
type Server struct{ Desk *shell.Desk }

// Usage adds up what models were asked. A server tells the mean time to the first word of each row
// alone: that of the total is weighed by requests.
func (s Server) Usage(ctx context.Context, q usage.Query) ([]usage.Row, error) {
	by := make([]string, len(q.By))
	for i, d := range q.By {
		by[i] = string(d)
	}
	ask := url.Values{"from": {dayText(q.From)}, "to": {dayText(q.To)}, "by": {strings.Join(by, ",")}}
	for name, value := range map[string]string{"user": q.Owner, "model": q.Model, "source": q.Source} {
		if value != "" {
			ask.Set(name, value)
		}
	}
	var said reporthttp.UsageList
	if err := s.Desk.Ask(ctx, http.MethodGet, "/usage?"+ask.Encode(), nil, &said); err != nil {
		return nil, err
	}
	rows := make([]usage.Row, len(said.Usage))
	for i, u := range said.Usage {
		rows[i] = rowOf(u)
	}
	return rows, nil
}

func rowOf(u reporthttp.UsageBody) usage.Row {
	r := usage.Row{
		Owner: shell.OneLine(u.User), Model: shell.OneLine(u.Model), Source: shell.OneLine(u.Source), Messages: u.Messages,
		Calls: u.Calls, Failed: u.Failed,
		Usage: plugin.Usage{
			InputTokens: u.InputTokens, CachedTokens: u.CachedTokens, OutputTokens: u.OutputTokens,
			ReasoningTokens: u.ReasoningTokens, CostMicros: u.CostMicros,
		},
	}
	if t, err := time.Parse(time.DateOnly, u.Day); err == nil {
		r.Day = oracle.DayOf(t)
	}
	if u.FirstTokenMS != nil {
		r.Firsts = max(u.Calls, 1)
		r.FirstMS = *u.FirstTokenMS * r.Firsts
	}
	return r
}

// Spenders lists who spent most in the month that begins with a day.
func (s Server) Spenders(ctx context.Context, month int64, limit int) ([]usage.Spender, error) {
	ask := url.Values{"month": {dayText(month)[:len("2006-01")]}, "limit": {strconv.Itoa(limit)}}
	var said reporthttp.SpenderList
	if err := s.Desk.Ask(ctx, http.MethodGet, "/usage/spenders?"+ask.Encode(), nil, &said); err != nil {
		return nil, err
	}
	out := make([]usage.Spender, len(said.Spenders))
	for i, one := range said.Spenders {
		out[i] = usage.Spender{
			Owner: shell.OneLine(one.User), Messages: one.Messages, Calls: one.Calls, Tokens: one.Tokens,
			CostMicros: one.CostMicros,
		}
	}
	return out, nil
}

func dayText(day int64) string {
	return time.UnixMilli(day * (24 * time.Hour).Milliseconds()).UTC().Format(time.DateOnly)
}
