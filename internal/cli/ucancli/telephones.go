package ucancli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople/ussdpeoplehttp"
)

const pathTelephones = "/api/telephones"

// ofTelephone reads the account that a subcommand is about, and whose key asks.
func ofTelephone(ctx context.Context, name string, args []string, s shell.IO) (account string, m maker, err error) {
	fs := shell.NewFlags("key "+name, s)
	connect := makerFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return "", maker{}, err
	}
	if len(rest) != 1 {
		return "", maker{}, shell.Usagef("expected the account of your telephone, such as C1A2B3C4D: its profile shows it")
	}
	m, err = connect(ctx)
	return rest[0], m, err
}

// runKeyLink makes a code that is typed at the telephone which becomes one with the key.
func runKeyLink(ctx context.Context, args []string, s shell.IO) error {
	account, m, err := ofTelephone(ctx, "link", args, s)
	if err != nil {
		return err
	}
	var told ussdpeople.Told
	if err := m.Do(ctx, http.MethodPost, pathTelephones, ussdpeoplehttp.NewLink{Account: account}, &told); err != nil {
		return fmt.Errorf("ask for a code: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "Dial, log in to %s, choose My profile, Link web, and type your PIN and this code, until %s.\n"+
		"The screen then shows %s: say yes if it does.\n", told.Account, told.Expires.Local().Format(time.TimeOnly), m.signer.DID())
	_, err = fmt.Fprintln(s.Out, told.Code)
	return err
}

// runKeyTelephones lists the telephones that are one with the key.
func runKeyTelephones(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key telephones", s)
	connect := makerFlags(fs, s)
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	var list ussdpeoplehttp.LinkList
	if err := m.Do(ctx, http.MethodGet, pathTelephones, nil, &list); err != nil {
		return fmt.Errorf("list telephones: %w", err)
	}
	if len(list.Telephones) == 0 {
		_, _ = fmt.Fprintln(s.Err, "No telephone is linked with this key: `castalia key link ACCOUNT`.")
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, one := range list.Telephones {
		_, _ = fmt.Fprintf(w, "%s\tlinked %s\n", one.Account, one.Linked.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// runKeyUnlink ends a link; one that is not there is fine.
func runKeyUnlink(ctx context.Context, args []string, s shell.IO) error {
	account, m, err := ofTelephone(ctx, "unlink", args, s)
	if err != nil {
		return err
	}
	if err := m.Do(ctx, http.MethodDelete, pathTelephones+"/"+url.PathEscape(account), nil, nil); err != nil {
		return fmt.Errorf("unlink telephone: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "%s is not linked with this key\n", account)
	return err
}

// runKeyResetPIN makes a code with which the caller of a linked telephone sets a new PIN.
func runKeyResetPIN(ctx context.Context, args []string, s shell.IO) error {
	account, m, err := ofTelephone(ctx, "reset-pin", args, s)
	if err != nil {
		return err
	}
	var told ussdpeople.Told
	if err := m.Do(ctx, http.MethodPost, pathTelephones+"/"+url.PathEscape(account)+"/reset-pin", nil, &told); err != nil {
		return fmt.Errorf("ask for a code: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "Dial from the telephone of %s, choose Account Menu, log in, 01, and type this code and a new PIN, until %s.\n",
		told.Account, told.Expires.Local().Format(time.TimeOnly))
	_, err = fmt.Fprintln(s.Out, told.Code)
	return err
}
