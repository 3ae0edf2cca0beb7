// Package hookcli has the commands of who lets a program be told what happens
// here: webhooks and their deliveries, over the routes of their owner.
package hookcli

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
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/internal/service/webhook/webhookhttp"
)

// How the command is described.
const (
	Usage   = "add URL EVENT… | ls | test ID | log ID | replay ID EVENT | replay ID --since TIME | rotate ID | pause ID | resume ID | rm ID … [--server URL] [--key FILE]"
	Summary = "tell your own program what happens here"
)

// webhookVerbs are the subcommands, with how many arguments each takes.
var webhookVerbs = shell.Verbs[*hooks]{
	"add":    {Least: 2, Most: 33, Run: (*hooks).add},
	"ls":     {Run: (*hooks).list},
	"test":   {Least: 1, Most: 1, Run: (*hooks).test},
	"log":    {Least: 1, Most: 1, Run: (*hooks).log},
	"replay": {Least: 1, Most: 2, Run: (*hooks).replay},
	"rotate": {Least: 1, Most: 1, Run: (*hooks).rotate},
	"rm":     {Least: 1, Most: 1, Run: (*hooks).remove},
	"pause":  {Least: 1, Most: 1, Run: (*hooks).pause},
	"resume": {Least: 1, Most: 1, Run: (*hooks).resume},
}

// Run does what the arguments say.
func Run(ctx context.Context, args []string, s shell.IO) error {
	verb, err := webhookVerbs.Find(args)
	if err != nil {
		return err
	}
	fs := shell.NewFlags("webhook "+args[0], s)
	h := &hooks{io: s}
	server := shell.ServerFlag(fs, s)
	key := shell.KeyFlag(fs, s)
	fs.StringVar(&h.note, "note", "", "`TEXT` that reminds you what it is for")
	fs.StringVar(&h.since, "since", "", "send what was created since a `TIME` such as 2026-11-16T12:00:00Z, or so long ago, such as 2h")
	fs.BoolVar(&h.delivered, "delivered", false, "also resend events already delivered")
	rest, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	if args[0] == "add" && len(rest) == 1 {
		return shell.Usagef("name the events after the address, or * for all: %s", strings.Join(eventNames(), ", "))
	}
	if err := verb.Check("webhook "+args[0], rest); err != nil {
		return err
	}
	signer, err := shell.OwnSigner(*key, s)
	if err != nil {
		return err
	}
	if h.client, err = oracleclient.New(ctx, oracleclient.Config{Server: *server, Signer: signer}); err != nil {
		return err
	}
	return verb.Run(h, ctx, rest)
}

// eventNames are the events that somebody can be told of.
func eventNames() []string {
	var names []string
	for _, t := range webhook.Types() {
		names = append(names, t.Name)
	}
	return names
}

// hooks is one person's webhooks at one server.
type hooks struct {
	client      *oracleclient.Client
	io          shell.IO
	note, since string
	delivered   bool
}

const webhookPath = "/api/webhooks"

func webhookAt(id, rest string) string { return webhookPath + "/" + url.PathEscape(id) + rest }

func (h *hooks) say(format string, args ...any) { _, _ = fmt.Fprintf(h.io.Out, format+"\n", args...) }

func (h *hooks) add(ctx context.Context, args []string) error {
	var made webhookhttp.MadeEndpoint
	err := h.client.Do(ctx, http.MethodPost, webhookPath,
		webhookhttp.NewEndpoint{URL: args[0], Events: args[1:], Description: h.note}, &made)
	if err != nil {
		return err
	}
	h.say("%s\n%s", made.ID, made.Secret)
	_, _ = fmt.Fprintln(h.io.Err, "The second line is the secret with which your program checks signatures. It is not shown again.")
	return nil
}

func (h *hooks) list(ctx context.Context, _ []string) error {
	var all webhookhttp.EndpointList
	if err := h.client.Do(ctx, http.MethodGet, webhookPath, nil, &all); err != nil {
		return err
	}
	w := tabwriter.NewWriter(h.io.Out, 0, 0, 2, ' ', 0)
	for _, e := range all.Webhooks {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.ID, e.Status, e.URL, strings.Join(e.Events, ","),
			shell.OneLine(cmp.Or(e.Reason, e.Description)))
	}
	return w.Flush()
}

// answerLimit is how long test waits for the answer of the receiver.
const answerLimit = 15 * time.Second

func (h *hooks) test(ctx context.Context, args []string) error {
	var on webhookhttp.Queued
	if err := h.client.Do(ctx, http.MethodPost, webhookAt(args[0], "/test"), nil, &on); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	for {
		page, err := h.page(ctx, args[0])
		if err != nil {
			return err
		}
		for _, d := range page {
			switch {
			case d.Event != on.Event || d.Attempts == 0:
			case d.State == "delivered":
				h.say("%s: it answered %d after %d ms", d.Event, d.Status, d.TookMS)
				return nil
			default:
				return fmt.Errorf("%s: %s; it is tried again", d.Event, shell.OneLine(d.Error))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is on its way; `castalia webhook log %s` tells what comes of it", on.Event, args[0])
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (h *hooks) page(ctx context.Context, id string) ([]webhookhttp.Delivery, error) {
	var list webhookhttp.DeliveryList
	err := h.client.Do(ctx, http.MethodGet, webhookAt(id, "/deliveries?limit=100"), nil, &list)
	return list.Deliveries, err
}

func (h *hooks) log(ctx context.Context, args []string) error {
	page, err := h.page(ctx, args[0])
	w := tabwriter.NewWriter(h.io.Out, 0, 0, 2, ' ', 0)
	for _, d := range page {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d tries\t%s\n", d.Created, d.Event, d.Type, d.State, d.Attempts, shell.OneLine(d.Error))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return err
}

func (h *hooks) replay(ctx context.Context, args []string) error {
	if (len(args) == 2) == (h.since != "") {
		return shell.Usagef("webhook replay: name one event, or a time with --since")
	}
	if len(args) == 2 {
		return h.client.Do(ctx, http.MethodPost, webhookAt(args[0], "/deliveries/"+url.PathEscape(args[1])+"/replay"), nil, nil)
	}
	since := h.since
	if ago, err := time.ParseDuration(since); err == nil {
		since = time.Now().Add(-ago).UTC().Format(time.RFC3339)
	}
	total := 0
	for body := (webhookhttp.Replay{Since: since, Delivered: h.delivered}); ; {
		var got webhookhttp.Replayed
		if err := h.client.Do(ctx, http.MethodPost, webhookAt(args[0], "/replay"), body, &got); err != nil {
			return err
		}
		if total += got.Queued; got.Next == "" {
			break
		}
		body = webhookhttp.Replay{After: got.Next, Delivered: h.delivered}
	}
	h.say("%s queued", shell.Count(total, "event"))
	return nil
}

func (h *hooks) rotate(ctx context.Context, args []string) error {
	var made webhookhttp.Secret
	if err := h.client.Do(ctx, http.MethodPost, webhookAt(args[0], "/secret"), nil, &made); err != nil {
		return err
	}
	h.say("%s", made.Secret)
	_, _ = fmt.Fprintf(h.io.Err, "It is not shown again. The former secret signs beside it until %s.\n", made.OthersUntil)
	return nil
}

func (h *hooks) pause(ctx context.Context, args []string) error {
	return h.status(ctx, args[0], "paused")
}

func (h *hooks) resume(ctx context.Context, args []string) error {
	return h.status(ctx, args[0], "active")
}

func (h *hooks) status(ctx context.Context, id, status string) error {
	var e webhookhttp.Endpoint
	if err := h.client.Do(ctx, http.MethodPatch, webhookAt(id, ""), webhookhttp.Change{Status: status}, &e); err != nil {
		return err
	}
	h.say("%s is %s", e.ID, e.Status)
	return nil
}

func (h *hooks) remove(ctx context.Context, args []string) error {
	return h.client.Do(ctx, http.MethodDelete, webhookAt(args[0], ""), nil, nil)
}
