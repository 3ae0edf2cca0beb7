// Package ussdcli has the commands of who runs a telephone gateway: accounts and
// forms, over the routes of operators. It keeps nothing and shows no number whole.
package ussdcli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/dialectcli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdform/ussdformhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople/ussdpeoplehttp"
)

// How the command is described.
const (
	Usage   = "accounts [NUMBER|TEXT] | reset-pin ACCOUNT [--sms] | close ACCOUNT | erase ACCOUNT | move ACCOUNT NUMBER | acts [ACCOUNT] | locks | unlock ACCOUNT|TELEPHONE|NUMBER | sessions [SESSION] | funnel [DAYS] | key-requests | approve-key ID | refuse-key ID | undo-key ID | forms [FORM] | figures [DAYS] | days [DAYS] | dialect show|check | record | replay … [--server URL] [--token TOKEN|--key FILE]"
	Summary = "accounts, sessions, forms and new keys of telephones, for operators; dialects of gateways"
)

// ussdVerbs are the subcommands, with how many arguments each takes.
var ussdVerbs = shell.Verbs[*desk]{
	"accounts":  {Most: 1, Run: (*desk).accounts},
	"reset-pin": {Least: 1, Most: 1, Run: (*desk).resetPIN},
	"close":     {Least: 1, Most: 1, Run: (*desk).close},
	"erase":     {Least: 1, Most: 1, Run: (*desk).erase},
	"move":      {Least: 2, Most: 2, Run: (*desk).move},
	"acts":      {Most: 1, Run: (*desk).acts},
	"forms":     {Most: 1, Run: (*desk).forms},

	"key-requests": {Run: (*desk).keyRequests},
	"approve-key":  {Least: 1, Most: 1, Run: (*desk).approveKey},
	"refuse-key":   {Least: 1, Most: 1, Run: (*desk).refuseKey},
	"undo-key":     {Least: 1, Most: 1, Run: (*desk).undoKey},

	"locks":    {Run: (*desk).locks},
	"unlock":   {Least: 1, Most: 1, Run: (*desk).unlock},
	"sessions": {Most: 1, Run: (*desk).sessions},
	"funnel":   {Most: 1, Run: (*desk).funnel},

	"figures": {Most: 1, Run: (*desk).figures},
	"days":    {Most: 1, Run: (*desk).days},
}

// Run runs the command ussd.
func Run(ctx context.Context, args []string, s shell.IO) error {
	if len(args) > 0 && slices.Contains(dialectcli.Verbs(), args[0]) {
		return dialectcli.Run(ctx, args, s)
	}
	verb, err := ussdVerbs.Find(args, dialectcli.Verbs()...)
	if err != nil {
		return err
	}
	fs := shell.NewFlags("ussd "+args[0], s)
	at := shell.NewDesk(fs, s, "/operator/ussd")
	sms := fs.Bool("sms", false, "reset-pin: send the first digits of the code to the account's telephone, and show the others")
	rest, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	if err := verb.Check("ussd "+args[0], rest); err != nil {
		return err
	}
	d := &desk{Desk: at, sms: *sms, out: s.Out}
	return verb.Run(d, ctx, rest)
}

// desk is where an operator of telephones sits.
type desk struct {
	*shell.Desk
	sms bool
	out io.Writer
}

// forms lists the forms that telephones sent, or prints one as CSV.
func (d *desk) forms(ctx context.Context, args []string) error {
	if len(args) > 0 {
		resp, err := d.Send(ctx, http.MethodGet, "/forms/"+url.PathEscape(args[0])+"/csv", nil)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		_, err = io.Copy(d.out, resp.Body)
		return err
	}
	var list ussdformhttp.FormList
	if err := d.Ask(ctx, http.MethodGet, "/forms", nil, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, f := range list.Forms {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\n", f.Form, f.Submissions, f.Last.Local().Format(time.DateTime))
	}
	return w.Flush()
}

func accountAt(account, rest string) string { return "/accounts/" + url.PathEscape(account) + rest }

func (d *desk) accounts(ctx context.Context, args []string) error {
	q := ussdpeoplehttp.AccountSearch{Limit: 500}
	if len(args) > 0 {
		q.Text = args[0]
		if strings.HasPrefix(args[0], "+") {
			q.Text, q.PhoneNumber = "", args[0]
		}
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for {
		var list ussdpeoplehttp.AccountList
		if err := d.Ask(ctx, http.MethodPost, "/accounts/search", q, &list); err != nil {
			return err
		}
		for _, a := range list.Accounts {
			state := "open"
			if a.Closed != nil {
				state = "closed " + a.Closed.Local().Format(time.DateOnly)
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", a.Account, a.Phone, shell.OneLine(a.Name),
				a.Created.Local().Format(time.DateOnly), state, a.DID)
			q.After = a.Account
		}
		if len(list.Accounts) < q.Limit {
			return w.Flush()
		}
	}
}

func (d *desk) resetPIN(ctx context.Context, args []string) error {
	path, what := "/reset-pin", "this code"
	if d.sms {
		path = "/reset-pin/sms"
	}
	var told ussdpeople.Told
	if err := d.Ask(ctx, http.MethodPost, accountAt(args[0], path), nil, &told); err != nil {
		return err
	}
	if told.Sent > 0 {
		what = fmt.Sprintf("these digits, which follow the first %d in a message to the telephone,", told.Sent)
	}
	_, err := fmt.Fprintf(d.out, "%s\ntell %s to the owner of %s, once you know who that is; the code is good until %s, once, on the account's own telephone\n",
		told.Code, what, told.Account, told.Expires.Local().Format(time.TimeOnly))
	return err
}

func (d *desk) close(ctx context.Context, args []string) error {
	return d.done(ctx, accountAt(args[0], "/close"), nil, "closed")
}

func (d *desk) move(ctx context.Context, args []string) error {
	return d.done(ctx, accountAt(args[0], "/move"), ussdpeoplehttp.Destination{PhoneNumber: args[1]}, "moved")
}

func (d *desk) done(ctx context.Context, path string, in any, word string) error {
	var done ussdpeoplehttp.Done
	if err := d.Ask(ctx, http.MethodPost, path, in, &done); err != nil {
		return err
	}
	_, err := fmt.Fprintf(d.out, "%s: %s\n", done.Account, word)
	return err
}

func (d *desk) erase(ctx context.Context, args []string) error {
	var receipt ussdpeople.Receipt
	if err := d.Ask(ctx, http.MethodPost, accountAt(args[0], "/erase"), nil, &receipt); err != nil {
		return err
	}
	e := json.NewEncoder(d.out)
	e.SetIndent("", "  ")
	return e.Encode(receipt)
}

func (d *desk) acts(ctx context.Context, args []string) error {
	query := url.Values{"limit": {"500"}}
	if len(args) > 0 {
		query.Set("account", args[0])
	}
	var list ussdpeoplehttp.ActList
	if err := d.Ask(ctx, http.MethodGet, "/acts?"+query.Encode(), nil, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, a := range list.Acts {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.At.Local().Format(time.DateTime), a.Account, a.Act,
			shell.OneLine(a.Actor), shell.OneLine(a.Detail))
	}
	return w.Flush()
}
