// Package mcpcli has the commands of who lets the oracle use MCP servers of his own,
// and authorizes it there, over the routes of the mcp plugin.
package mcpcli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
)

// How the command is described.
const (
	Usage   = "add NAME URL | ls | authorize NAME | confirm NAME CODE | forget NAME | rm NAME … [--server URL] [--key FILE]"
	Summary = "let the oracle use MCP servers for you"
)

// verbs are the subcommands, with how many arguments each takes.
var verbs = shell.Verbs[*servers]{
	"add":       {Least: 2, Most: 2, Run: (*servers).add},
	"ls":        {Run: (*servers).list},
	"authorize": {Least: 1, Most: 1, Run: (*servers).authorize},
	"confirm":   {Least: 2, Most: 2, Run: (*servers).confirm},
	"forget":    {Least: 1, Most: 1, Run: (*servers).forget},
	"rm":        {Least: 1, Most: 1, Run: (*servers).remove},
}

// Run does what the arguments say.
func Run(ctx context.Context, args []string, s shell.IO) error {
	verb, err := verbs.Find(args)
	if err != nil {
		return err
	}
	fs := shell.NewFlags("mcp-server "+args[0], s)
	c := &servers{io: s}
	server := shell.ServerFlag(fs, s)
	key := shell.KeyFlag(fs, s)
	fs.StringVar(&c.note, "note", "", "`TEXT` that tells the oracle what the server is for")
	rest, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	if err := verb.Check("mcp-server "+args[0], rest); err != nil {
		return err
	}
	signer, err := shell.OwnSigner(*key, s)
	if err != nil {
		return err
	}
	if c.client, err = oracleclient.New(ctx, oracleclient.Config{Server: *server, Signer: signer}); err != nil {
		return err
	}
	return verb.Run(c, ctx, rest)
}

// servers is one person's MCP servers at one oracle.
type servers struct {
	client *oracleclient.Client
	io     shell.IO
	note   string
}

const path = "/mcp-servers"

func at(name, rest string) string { return path + "/" + url.PathEscape(name) + rest }

func (c *servers) say(format string, args ...any) { _, _ = fmt.Fprintf(c.io.Out, format+"\n", args...) }

// tell says what has to be done with a link.
func (c *servers) tell(link mcp.Authorization) {
	c.say("%s", shell.OneLine(link.URL))
	_, _ = fmt.Fprintf(c.io.Err, "Open this address within ten minutes and agree. Then: castalia mcp-server confirm %s CODE, with the code that the page shows.\n", link.Server)
}

func (c *servers) add(ctx context.Context, args []string) error {
	var s mcp.Server
	err := c.client.Do(ctx, http.MethodPost, path, mcp.Addition{Name: args[0], URL: args[1], Summary: c.note}, &s)
	if err != nil {
		return err
	}
	if s.Authorization != nil {
		c.tell(*s.Authorization)
		return nil
	}
	c.show(s)
	return nil
}

// show says in one line how a server is.
func (c *servers) show(s mcp.Server) { c.say("%s is %s", s.Name, standing(s)) }

func standing(s mcp.Server) string {
	switch {
	case s.Error != "":
		return string(s.State) + ": " + shell.OneLine(s.Error)
	case s.State == mcp.Ready:
		return string(s.State) + ", " + shell.Count(len(s.Tools), "tool")
	}
	return "waiting for your " + string(s.State)
}

func (c *servers) list(ctx context.Context, _ []string) error {
	var all mcp.ServerList
	if err := c.client.Do(ctx, http.MethodGet, path, nil, &all); err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.io.Out, 0, 0, 2, ' ', 0)
	line := func(s mcp.Server, whose string) {
		tools := make([]string, len(s.Tools))
		for i, t := range s.Tools {
			if tools[i] = t.Name; t.Asks {
				tools[i] += " (asks)"
			}
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Name, whose, shell.OneLine(s.URL), standing(s), shell.OneLine(strings.Join(tools, ", ")))
	}
	for _, s := range all.Servers {
		line(s, "yours")
	}
	for _, s := range all.Shared {
		line(s, "shared")
	}
	return w.Flush()
}

func (c *servers) authorize(ctx context.Context, args []string) error {
	var link mcp.Authorization
	if err := c.client.Do(ctx, http.MethodPost, at(args[0], "/authorize"), nil, &link); err != nil {
		return err
	}
	c.tell(link)
	return nil
}

func (c *servers) confirm(ctx context.Context, args []string) error {
	var s mcp.Server
	err := c.client.Do(ctx, http.MethodPost, at(args[0], "/confirm"), mcp.Confirmation{Code: args[1]}, &s)
	if err == nil {
		c.show(s)
	}
	return err
}

func (c *servers) forget(ctx context.Context, args []string) error {
	return c.drop(ctx, at(args[0], "/authorization"))
}

func (c *servers) remove(ctx context.Context, args []string) error {
	return c.drop(ctx, at(args[0], ""))
}

func (c *servers) drop(ctx context.Context, what string) error {
	var gone mcp.Removed
	if err := c.client.Do(ctx, http.MethodDelete, what, nil, &gone); err != nil {
		return err
	}
	if gone.Revoked {
		c.say("The tokens were revoked.")
	}
	return nil
}
