// Package peoplecli has the commands of who looks after the people of a deployment, over
// the routes of operators.
package peoplecli

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/cli/shell"
)

// How the command is described.
const (
	Usage   = "list [DID…|NOTE…] | block DID [--note TEXT] | unblock DID | quota DID [auto] [--bytes SIZE] [--messages N] [--cost DOLLARS] | export DID [--out FILE] | erase DID [--confirm END] | … [--server URL] [--token TOKEN|--key FILE]"
	Summary = "find who uses a running server, say what one of them may have, keep somebody out, export and erase"
)

var verbs = shell.Verbs[*desk]{
	"list":    {Most: 1, Run: (*desk).list},
	"block":   {Least: 1, Most: 1, Run: (*desk).block},
	"unblock": {Least: 1, Most: 1, Run: (*desk).unblock},
	"quota":   {Least: 1, Most: 2, Run: (*desk).quota},
	"export":  {Least: 1, Most: 1, Run: (*desk).export},
	"erase":   {Least: 1, Most: 1, Run: (*desk).erase},
}

// Run does what the arguments say.
func Run(ctx context.Context, args []string, s shell.IO) error {
	return verbs.Do(ctx, "people", "list", args, s, func(fs *flag.FlagSet) *desk {
		d := &desk{Desk: shell.NewDesk(fs, s, "/operator/people"), io: s}
		fs.StringVar(&d.note, "note", "", "block: `TEXT` that says why, for operators")
		fs.StringVar(&d.limits.bytes, "bytes", "", "quota: `SIZE` that their files may have, such as 5GiB; off is no limit, auto what everybody may have")
		fs.StringVar(&d.limits.messages, "messages", "", "quota: `N` messages to the oracle in a day; off is no limit, auto what everybody may send")
		fs.StringVar(&d.limits.cost, "cost", "", "quota: `DOLLARS` that the model may cost in a day, such as 0.50; off is no limit, auto what everybody may spend")
		fs.StringVar(&d.out, "out", "", "export: `FILE` to write, which is not there yet; castalia-END.tar.gz unless given")
		fs.StringVar(&d.confirm, "confirm", "", "erase: `END` of the DID, at least its last six characters; asked for unless given")
		return d
	})
}

// desk is where whoever looks after people sits.
type desk struct {
	*shell.Desk
	io     shell.IO
	note   string
	limits limits
	// out is the file of an export, confirm the end of the DID that is erased.
	out, confirm string
}

// list prints people whose DID or note begins with something, or all.
func (d *desk) list(ctx context.Context, args []string) error {
	query := url.Values{"limit": {"200"}}
	if len(args) > 0 {
		query.Set("search", args[0])
	}
	w := tabwriter.NewWriter(d.io.Out, 0, 0, 2, ' ', 0)
	found := 0
	for {
		var page people.Page
		if err := d.Ask(ctx, http.MethodGet, "?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		found += len(page.People)
		for _, p := range page.People {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", p.DID, standing(p), shell.OneLine(p.Note))
		}
		if page.More {
			_, _ = fmt.Fprintln(d.io.Err, "There are more: give more of the note.")
		}
		if page.Next == "" {
			if found == 0 {
				_, _ = fmt.Fprintln(d.io.Err, "Nobody is found: people are known who keep something here, are members, or are blocked.")
			}
			return w.Flush()
		}
		query.Set("after", page.Next)
	}
}

// standing says in words how somebody stands here.
func standing(p people.Person) string {
	var words []string
	if p.Blocked != nil {
		words = append(words, "BLOCKED "+p.Blocked.At.Local().Format(time.DateOnly))
		if p.Blocked.Note != "" {
			words = append(words, "("+shell.OneLine(p.Blocked.Note)+")")
		}
	}
	switch {
	case p.Role != "":
		words = append(words, string(p.Role))
	case p.Member:
		words = append(words, "member since "+p.Added.Local().Format(time.DateOnly))
	default:
		words = append(words, "no member")
	}
	return strings.Join(words, " ")
}

func (d *desk) block(ctx context.Context, args []string) error {
	var p people.Person
	if err := d.Ask(ctx, http.MethodPut, "/"+url.PathEscape(args[0])+"/block", people.NewBlock{Note: d.note}, &p); err != nil {
		return err
	}
	_, err := fmt.Fprintf(d.io.Out, "%s is blocked: every node refuses them, and what they delegated, within a second. What they stored stays.\n", p.DID)
	return err
}

func (d *desk) unblock(ctx context.Context, args []string) error {
	var p people.Person
	if err := d.Ask(ctx, http.MethodDelete, "/"+url.PathEscape(args[0])+"/block", nil, &p); err != nil {
		return err
	}
	_, err := fmt.Fprintf(d.io.Out, "%s may come in again, as others may.\n", p.DID)
	return err
}
