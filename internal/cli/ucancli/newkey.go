package ucancli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey/ussdkeyhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
)

// runKeyLost asks for a code, with the new key, that is typed at the telephone which is
// linked with the lost one.
func runKeyLost(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key lost", s)
	connect := makerFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return shell.Usagef("expected the account of your telephone, such as C1A2B3C4D: its profile shows it")
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	var told ussdpeople.Told
	if err := m.Do(ctx, http.MethodPost, "/api/key-requests", ussdkeyhttp.NewKeyRequest{Account: rest[0]}, &told); err != nil {
		return fmt.Errorf("ask for a code: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "Dial, log in to %s, choose My profile, Lost key, and type your PIN and this code, until %s.\n"+
		"The screen then shows %s: say yes if it does. An operator has to approve it; `castalia key requests` shows whether that was done.\n",
		told.Account, told.Expires.Local().Format(time.TimeOnly), m.signer.DID())
	_, err = fmt.Fprintln(s.Out, told.Code)
	return err
}

// runKeyRequests lists the requests about the caller's key.
func runKeyRequests(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key requests", s)
	connect := makerFlags(fs, s)
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	var list ussdkeyhttp.KeyRequestList
	if err := m.Do(ctx, http.MethodGet, "/api/key-requests", nil, &list); err != nil {
		return fmt.Errorf("list requests: %w", err)
	}
	w, foreign := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0), false
	for _, r := range list.Requests {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\tasked %s\tnew key %s\n", r.ID, r.State, r.Account, r.Asked.Local().Format(time.DateTime), r.Key)
		foreign = foreign || r.State == "waiting" && r.Key != string(m.signer.DID())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case len(list.Requests) == 0:
		_, _ = fmt.Fprintln(s.Err, "Nobody asked for a new key in the place of yours, nor you with this one.")
	case foreign:
		_, _ = fmt.Fprintln(s.Err, "Somebody asked for a new key in the place of yours. If that was not you: `castalia key refuse ID`, and unlink the telephone.")
	}
	return nil
}

// runKeyRefuse refuses a request for a new key with the old one.
func runKeyRefuse(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key refuse", s)
	connect := makerFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return shell.Usagef("expected the id of a request: `castalia key requests` lists them")
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	var done ussdkeyhttp.KeyRequest
	if err := m.Do(ctx, http.MethodPost, "/api/key-requests/"+url.PathEscape(rest[0])+"/refuse", nil, &done); err != nil {
		return fmt.Errorf("refuse request: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s; your key stays as it is. If the telephone is in wrong hands: `castalia key unlink %s`\n",
		done.ID, done.State, done.Account)
	return err
}
