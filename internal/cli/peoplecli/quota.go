package peoplecli

import (
	"cmp"
	"context"
	"encoding"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
	"github.com/castalia-org/castalia/internal/platform/config"
)

// auto is how settings and this command write "what everybody may have".
const auto = "auto"

// limits are the flags of a quota, as they were given.
type limits struct{ bytes, messages, cost string }

// quota prints what somebody may have, and changes what the flags name.
func (d *desk) quota(ctx context.Context, args []string) error {
	path := "/" + url.PathEscape(args[0]) + "/quota"
	var q people.Quota
	if len(args) > 1 {
		if args[1] != auto || d.limits != (limits{}) {
			return shell.Usagef("people quota: after the DID comes %q alone, which takes everything back to what everybody may have; single limits are --bytes, --messages and --cost", auto)
		}
		if err := d.Ask(ctx, http.MethodDelete, path, nil, &q); err != nil {
			return err
		}
		return d.printQuota(q)
	}
	var own people.OwnQuota
	changes, err := d.changes()
	if err != nil {
		return err
	}
	if err := d.Ask(ctx, http.MethodGet, path, nil, &q); err != nil || len(changes) == 0 {
		return cmp.Or(err, d.printQuota(q))
	}
	if q.Own != nil {
		own = *q.Own
	}
	for _, change := range changes {
		change(&own)
	}
	if err := d.Ask(ctx, http.MethodPut, path, own, &q); err != nil {
		return err
	}
	return d.printQuota(q)
}

// changes are what the flags say.
func (d *desk) changes() (list []func(*people.OwnQuota), err error) {
	var (
		size  config.SizeLimit
		count config.CountLimit
		cost  config.DollarLimit
	)
	for _, f := range []struct {
		name, text string
		limit      interface {
			encoding.TextUnmarshaler
			Or(auto int64) int64
			Allowed() string
		}
		into func(*people.OwnQuota) **int64
	}{
		{"bytes", d.limits.bytes, &size, func(o *people.OwnQuota) **int64 { return &o.Bytes }},
		{"messages", d.limits.messages, &count, func(o *people.OwnQuota) **int64 { return &o.Messages }},
		{"cost", d.limits.cost, &cost, func(o *people.OwnQuota) **int64 { return &o.CostMicros }},
	} {
		if f.text == "" {
			continue
		}
		if err := f.limit.UnmarshalText([]byte(f.text)); err != nil {
			return nil, shell.Usagef("--%s: given %q, allowed is %s", f.name, f.text, f.limit.Allowed())
		}
		list = append(list, func(o *people.OwnQuota) {
			*f.into(o) = nil
			if n := f.limit.Or(-1); n >= 0 {
				*f.into(o) = &n
			}
		})
	}
	return list, nil
}

func (d *desk) printQuota(q people.Quota) error {
	own := people.OwnQuota{}
	if q.Own != nil {
		own = *q.Own
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	dollars := func(n int64) string { return "$" + strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) }
	w := tabwriter.NewWriter(d.io.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\tUSED\tLIMIT\t")
	for _, l := range []struct {
		name               string
		used, limit, usual int64
		own                *int64
		text               func(int64) string
	}{
		{"files", q.Used.Bytes, q.Limit.Bytes, q.Usual.Bytes, own.Bytes, bytesize.Text},
		{"messages today", q.Used.Messages, q.Limit.Messages, q.Usual.Messages, own.Messages, count},
		{"model cost today", q.Used.CostMicros, q.Limit.CostMicros, q.Usual.CostMicros, own.CostMicros, dollars},
	} {
		text := func(n int64) string {
			if n == 0 {
				return "no limit"
			}
			return l.text(n)
		}
		note := "as everybody"
		if l.own != nil {
			note = "their own; everybody: " + text(l.usual)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.name, l.text(l.used), text(l.limit), note)
	}
	return w.Flush()
}
