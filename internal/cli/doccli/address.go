package doccli

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/app/addresskit"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// How the command address is described.
const (
	AddressUsage   = "show | set [--url URL] [--https NAME,…] [--note TEXT] | … [--server URL] [--token TOKEN|--key FILE]"
	AddressSummary = "where a running server is reached: what links begin with, and the names that it gets certificates for"
)

// none is how a flag takes something away.
const none = "none"

// waits says what is under way until a restart.
var waits = map[string]string{
	addresskit.OpenHTTPS:  "the port of HTTPS is opened at the next start",
	addresskit.CloseHTTPS: "the port of HTTPS is closed at the next start",
	addresskit.Links:      "links in the guide's answers, of agents and of plugins follow at the next start",
}

// RunAddress is the command address.
func RunAddress(ctx context.Context, args []string, s shell.IO) error {
	verb, args := verbOf(args)
	if verb != "show" && verb != "set" {
		return shell.NoSubcommand([]string{verb}, "show", "set")
	}
	fs := shell.NewFlags("address "+verb, s)
	desk := shell.NewDesk(fs, s, "/operator")
	change := map[string]*string{
		"url":   fs.String("url", "", "set: `URL` that links begin with, such as https://oracle.example.org; none takes the first of the names"),
		"https": fs.String("https", "", "set: comma list of `NAMES` that certificates are got for, such as oracle.example.org; none is no HTTPS"),
	}
	note := fs.String("note", "", "set: `TEXT` that says why, for the history")
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	if verb == "show" {
		return showAddress(ctx, desk, s)
	}
	if *change["url"] == "" && *change["https"] == "" {
		return shell.Usagef("set takes --url, --https, or both")
	}
	documents := remote{desk.At("/operator/documents")}
	now, err := documents.Contents(ctx, addresskit.DocumentName)
	if err != nil {
		return err
	}
	// What rules over the document is read too: the server says that it cannot be changed.
	a, err := addresskit.Parse(now.Text, now.State.Source)
	if err != nil {
		return fmt.Errorf("the stored address cannot be read, `castalia operator set address FILE` stores another: %w", err)
	}
	if text := *change["url"]; text != "" {
		a.URL = strings.TrimPrefix(text, none) // which is no address
	}
	if text := *change["https"]; text != "" {
		a.HTTPS = nil
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" && name != none {
				a.HTTPS = append(a.HTTPS, name)
			}
		}
	}
	c := operatordoc.Change{Note: *note, After: now.Newest}
	v, err := documents.Store(ctx, addresskit.DocumentName, []byte(a.Text()), c)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Out, "address: version %d is stored\n", v.Number)
	return showAddress(ctx, desk, s)
}

// verbOf parts the subcommand from the flags; without one it is show.
func verbOf(args []string) (string, []string) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "show", args
	}
	return args[0], args[1:]
}

func showAddress(ctx context.Context, desk *shell.Desk, s shell.IO) error {
	var a addresskit.State
	if err := desk.Ask(ctx, http.MethodGet, "/address", nil, &a); err != nil {
		return err
	}
	by := a.Source
	if a.ReadOnly {
		by = "set by " + a.Where
	}
	url := a.URL
	if url == "" {
		url = "not set: links are relative, or as a proxy says"
	}
	_, _ = fmt.Fprintf(s.Out, "%s (%s)\n", shell.OneLine(url), by)
	for _, name := range a.Names {
		how := "no certificate yet"
		if name.Ready {
			how = "has a certificate"
		}
		if name.Problem != "" {
			how = name.Problem
		}
		_, _ = fmt.Fprintf(s.Out, "  %s  %s\n", shell.OneLine(name.Name), shell.OneLine(how))
	}
	if a.Problem != "" {
		_, _ = fmt.Fprintf(s.Out, "HTTPS is not served: %s\n", shell.OneLine(a.Problem))
	}
	for _, what := range a.Waits {
		_, _ = fmt.Fprintf(s.Out, "waits for a restart: %s\n", waits[what])
	}
	return nil
}
