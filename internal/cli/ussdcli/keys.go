package ussdcli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey/ussdkeyhttp"
)

// keyRequests lists the requests for new keys that wait, and those that can be undone.
func (d *desk) keyRequests(ctx context.Context, _ []string) error {
	var list ussdkeyhttp.KeyRequestList
	if err := d.Ask(ctx, http.MethodGet, "/key-requests", nil, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, r := range list.Requests {
		ready := ""
		if r.State == "waiting" {
			ready = "from " + r.Ready.Local().Format(time.DateTime) + " until " + r.Expires.Local().Format(time.DateTime)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\tlinked %s\tasked %s\t%s\t%s\tto %s\n", r.ID, r.State, r.Account, r.Phone,
			r.Linked.Local().Format(time.DateTime), r.Asked.Local().Format(time.DateTime), ready,
			shell.OneLine(r.Person), shell.OneLine(r.Key))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(list.Requests) == 0 {
		_, err := fmt.Fprintln(d.out, "no request waits, and none can be undone")
		return err
	}
	_, err := fmt.Fprintln(d.out, "find out who asks, then: castalia ussd approve-key ID, or refuse-key ID; undo-key ID gives the key before back")
	return err
}

func (d *desk) decideKey(ctx context.Context, id, step string, then func(r ussdkeyhttp.KeyRequest) string) error {
	var r ussdkeyhttp.KeyRequest
	if err := d.Ask(ctx, http.MethodPost, "/key-requests/"+url.PathEscape(id)+"/"+step, nil, &r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(d.out, "%s: %s; %s\n", r.ID, r.State, shell.OneLine(then(r)))
	return err
}

func (d *desk) approveKey(ctx context.Context, args []string) error {
	return d.decideKey(ctx, args[0], "approve", func(r ussdkeyhttp.KeyRequest) string {
		return r.Key + " signs for " + r.Person + " now, and what the old key signed is refused. " +
			"Undo it with castalia ussd undo-key " + r.ID
	})
}

func (d *desk) refuseKey(ctx context.Context, args []string) error {
	return d.decideKey(ctx, args[0], "refuse", func(r ussdkeyhttp.KeyRequest) string { return r.Person + " has the key as before" })
}

func (d *desk) undoKey(ctx context.Context, args []string) error {
	return d.decideKey(ctx, args[0], "undo", func(r ussdkeyhttp.KeyRequest) string {
		return r.Person + " has the key before, and " + r.Key + " is nobody's any more"
	})
}
