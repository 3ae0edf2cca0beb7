package ussdcli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount/ussdcounthttp"
)

// figures prints how telephones were served in some days.
func (d *desk) figures(ctx context.Context, args []string) error {
	query := url.Values{}
	if len(args) > 0 {
		query.Set("days", args[0])
	}
	var f ussdcounthttp.Report
	if err := d.Ask(ctx, http.MethodGet, "/figures?"+query.Encode(), nil, &f); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	line := func(format string, values ...any) { _, _ = fmt.Fprintf(w, format+"\n", values...) }
	s := f.Sessions
	line("last %d days\nsessions\t%d begun\t%d completed\t%d left\t%.0f%% completion", f.Days, s.Begun, s.Completed, s.Left, 100*s.Completion)
	for _, one := range f.Drops {
		line("left on\t%s\t%d", one.Screen, one.Left)
	}
	for _, g := range f.Gateways {
		line("gateway\t%s\t%d requests\tp95 %d ms\t%d refused\t%d failed", cmp.Or(g.Dialect, "session"), g.Requests, g.P95, g.Refused, g.Failed)
	}
	for _, r := range f.Refusals {
		line("refused\t%s\t%s\t%s\t%d", cmp.Or(r.Dialect, "session"), r.Field, r.Rule, r.Count)
	}
	for _, m := range f.Messages {
		line("messages\t%s\t%s\t%d\t%d parts\t%s %s", m.Kind, m.State, m.Messages, m.Parts, m.Cost, m.Currency)
	}
	for _, one := range f.Spend {
		line("spent\t%s\t%s", one.Cost, one.Currency)
	}
	return w.Flush()
}

// days prints how many telephone sessions began on each day.
func (d *desk) days(ctx context.Context, args []string) error {
	query := url.Values{}
	if len(args) > 0 {
		query.Set("days", args[0])
	}
	var list ussdcounthttp.DayList
	if err := d.Ask(ctx, http.MethodGet, "/days?"+query.Encode(), nil, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, one := range list.Days {
		_, _ = fmt.Fprintf(w, "%s\t%d\n", one.Day, one.Begun)
	}
	return w.Flush()
}
