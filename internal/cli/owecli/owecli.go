// Package owecli has the commands about what people have in credits and owe, over the routes of
// operators.
package owecli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/app/owing"
	"github.com/castalia-org/castalia/internal/cli/shell"
)

// How the command is described.
const (
	Usage   = "list | failed | retry ID… | balances [DID…|NOTE…] | … [--server URL] [--token TOKEN|--key FILE]"
	Summary = "claims and credits at a running server: what is claimed, what failed and why, and everybody's credits"
)

var verbs = shell.Verbs[*desk]{
	"list":     {Run: (*desk).list},
	"failed":   {Run: (*desk).failed},
	"retry":    {Least: 1, Most: 1000, Run: (*desk).retry},
	"balances": {Most: 1, Run: (*desk).balances},
}

type desk struct {
	*shell.Desk
	io shell.IO
}

// Run does what the arguments say.
func Run(ctx context.Context, args []string, s shell.IO) error {
	return verbs.Do(ctx, "claims", "list", args, s, func(fs *flag.FlagSet) *desk {
		return &desk{shell.NewDesk(fs, s, "/operator"), s}
	})
}

// pageSize is how many rows are asked for at once.
const pageSize = "200"

func (d *desk) list(ctx context.Context, _ []string) error { return d.claims(ctx, "owed") }

func (d *desk) failed(ctx context.Context, _ []string) error { return d.claims(ctx, "failed") }

// errOff is why there is nothing to see.
var errOff = errors.New("the server keeps no claims: its plugin is off (castalia plugins)")

func (d *desk) claims(ctx context.Context, state string) error {
	w := tabwriter.NewWriter(d.io.Out, 0, 0, 2, ' ', 0)
	query := url.Values{"state": {state}, "limit": {pageSize}}
	for {
		var page owing.ClaimPage
		if err := d.Ask(ctx, http.MethodGet, "/claims?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		if !page.On {
			return errOff
		}
		for _, c := range page.Claims {
			how := string(c.State)
			if c.Reason != "" {
				how = fmt.Sprintf("could not %s it, %d tries: %s", c.Step, c.Attempts, c.Reason)
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", c.ID, shell.OneLine(c.DID), c.Amount, c.At, shell.OneLine(how))
		}
		if page.Next == "" {
			return w.Flush()
		}
		query.Set("after", page.Next)
	}
}

func (d *desk) retry(ctx context.Context, ids []string) error {
	var errs []error
	for _, id := range ids {
		if err := d.Ask(ctx, http.MethodPost, "/claims/"+url.PathEscape(id)+"/retry", nil, nil); err != nil {
			errs = append(errs, fmt.Errorf("%.80s: %w", id, err))
			continue
		}
		_, _ = fmt.Fprintf(d.io.Out, "%s: is tried again\n", id)
	}
	return errors.Join(errs...)
}

func (d *desk) balances(ctx context.Context, args []string) error {
	query := url.Values{"limit": {pageSize}}
	if len(args) > 0 {
		query.Set("search", args[0])
	}
	w := tabwriter.NewWriter(d.io.Out, 0, 0, 2, ' ', 0)
	for {
		var page owing.BalancePage
		if err := d.Ask(ctx, http.MethodGet, "/credits?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		if !page.On {
			return errors.New("turns cost no credits at the server: its plugin is off (castalia plugins)")
		}
		for _, b := range page.Balances {
			_, _ = fmt.Fprintf(w, "%s\t%d available\t%d held\t%d spent\t%d owed\t%s\n", shell.OneLine(b.DID), b.Available, b.Held,
				b.Spent, b.Owed, shell.OneLine(b.Note))
		}
		if page.Next == "" {
			err := w.Flush()
			if page.More {
				_, _ = fmt.Fprintln(d.io.Err, "there are more: a longer note or a DID finds them")
			}
			return err
		}
		query.Set("after", page.Next)
	}
}
