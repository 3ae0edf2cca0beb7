package ussdcli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// sessions prints the sessions that were used last, or one of them step by step.
func (d *desk) sessions(ctx context.Context, args []string) error {
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	if len(args) > 0 {
		var one ussd.View
		if err := d.Ask(ctx, http.MethodGet, "/timeline/"+url.PathEscape(args[0]), nil, &one); err != nil {
			return err
		}
		for _, e := range one.Timeline {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.At.Local().Format(time.TimeOnly), shell.OneLine(e.Input), shell.OneLine(e.Screen),
				shell.OneLine(e.State))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		_, err := fmt.Fprintln(d.out, "\n"+shell.Printable(one.Message))
		return err
	}
	var list ussdhttp.LiveList
	if err := d.Ask(ctx, http.MethodGet, "/live", nil, &list); err != nil {
		return err
	}
	for _, one := range list.Sessions {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d steps\t%s\n", shell.OneLine(one.SessionID), shell.OneLine(one.Phone),
			shell.OneLine(one.ServiceCode), shell.OneLine(one.Screen), shell.OneLine(one.Status), one.Hops,
			one.Updated.Local().Format(time.TimeOnly))
	}
	return w.Flush()
}

// funnel prints on which screens callers leave.
func (d *desk) funnel(ctx context.Context, args []string) error {
	query := url.Values{}
	if len(args) > 0 {
		query.Set("days", args[0])
	}
	var f ussdhttp.Funnel
	if err := d.Ask(ctx, http.MethodGet, "/funnel?"+query.Encode(), nil, &f); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, s := range f.Steps {
		_, _ = fmt.Fprintf(w, "%s\t%d shown\t%d left\t%.0f%%\t%d ended\n", shell.OneLine(s.Screen), s.Shown, s.Left, 100*s.DropOff, s.Ended)
	}
	return w.Flush()
}

// locks prints what is locked after wrong PINs.
func (d *desk) locks(ctx context.Context, _ []string) error {
	var list ussdhttp.LockList
	if err := d.Ask(ctx, http.MethodGet, "/locks", nil, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, l := range list.Locks {
		what := "account"
		if l.Origin == ussdpin.OriginCaller {
			what = "telephone"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d wrong PINs\tuntil %s\n", what, shell.OneLine(cmp.Or(l.Telephone, l.Account)), shell.OneLine(l.Account),
			l.Failures, l.Until.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// telephones is how the names of telephones begin in the list of locks.
const telephones = "tel-"

// unlock lets an account try again, or a telephone: by its number, or as the locks name it.
func (d *desk) unlock(ctx context.Context, args []string) error {
	name := args[0]
	said, path, body := struct {
		Unlocked bool `json:"unlocked"`
	}{}, accountAt(name, "/unlock"), any(nil)
	switch {
	case strings.HasPrefix(name, "+"):
		path, body = "/telephones/unlock", ussdhttp.TelephoneUnlock{PhoneNumber: name}
	case strings.HasPrefix(name, telephones):
		path, body = "/telephones/unlock", ussdhttp.TelephoneUnlock{Telephone: name}
	}
	if err := d.Ask(ctx, http.MethodPost, path, body, &said); err != nil {
		return err
	}
	text := "can try again"
	if !said.Unlocked {
		text = "was not locked"
	}
	_, err := fmt.Fprintln(d.out, text)
	return err
}
