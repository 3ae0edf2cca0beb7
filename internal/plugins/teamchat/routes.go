package teamchat

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// inTime is how long storing an event may take: the chat waits three seconds.
const inTime = 2500 * time.Millisecond

// LinkRequest follows a one-time link.
type LinkRequest struct {
	Code string `json:"code"`
	// Confirm links; without it the reply only tells who would be linked.
	Confirm bool `json:"confirm,omitempty"`
}

// LinkList is the reply of GET /teamchat/links.
type LinkList struct {
	Links []Link `json:"links"`
}

// Done confirms.
type Done struct {
	OK bool `json:"ok"`
}

// CommandReply is what the chat shows at once.
type CommandReply struct {
	ResponseType string `json:"response_type"`
	Text         string `json:"text"`
}

// PublicRoutes names the webhooks, which check the chat's signature, and what
// operators use, which checks TEAMCHAT_SECRET.
func (*Plugin) PublicRoutes() []plugin.RoutePattern {
	return []plugin.RoutePattern{{Method: http.MethodPost, Path: "/teamchat/slack/*"}, {Path: "/teamchat/dead"}, {Path: "/teamchat/dead/*"}}
}

// Routes are /teamchat.
func (p *Plugin) Routes() []pluginhttp.Route {
	const signed = " Needs X-Slack-Request-Timestamp and X-Slack-Signature; requests older than five minutes are refused."
	unsigned := pluginhttp.Reply{Status: http.StatusUnauthorized, Doc: "The chat did not sign this, or not just now."}
	return append(p.deadRoutes(), []pluginhttp.Route{
		{
			Method: http.MethodPost, Pattern: "/teamchat/slack/events", Summary: "Events of the team's chat",
			Doc:     "Stores mentions and direct messages, and answers them afterwards. Repeats count once." + signed,
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Done{}}, unsigned}, Handler: p.signed(p.events),
		},
		{
			Method: http.MethodPost, Pattern: "/teamchat/slack/commands", Summary: "Slash commands of the team's chat",
			Doc: "A form, as the chat sends it. Answers afterwards, in the channel." + signed, MaxBody: 64 << 10,
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: CommandReply{}}, unsigned}, Handler: p.signed(p.commands),
		},
		{
			Method: http.MethodPost, Pattern: "/teamchat/link", Summary: "Link a member of the team to yourself",
			Doc: "Uses a one-time code up. From then on this member of the team speaks as you.", Body: LinkRequest{}, MaxBody: 4 << 10,
			Replies:  []pluginhttp.Reply{{Status: http.StatusOK, Body: Link{}}, {Status: http.StatusNotFound, Doc: "The code does not work, or not any more."}},
			InPerson: true, Handler: p.link,
		},
		{
			Method: http.MethodGet, Pattern: "/teamchat/links", Summary: "Members of teams who speak as you",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: LinkList{}}}, Handler: p.links,
		},
		{
			Method: http.MethodDelete, Pattern: "/teamchat/links/{team}/{user}", Summary: "End a link",
			Params: []pluginhttp.Param{
				{Name: "team", In: "path", Required: true, Schema: ""}, {Name: "user", In: "path", Required: true, Schema: ""},
			},
			Replies: []pluginhttp.Reply{
				{Status: http.StatusOK, Body: Done{}}, {Status: http.StatusNotFound, Doc: "Nobody of that name speaks as you."},
			},
			InPerson: true, Handler: p.endLink,
		},
	}...)
}

// signed serves what the chat signed.
func (p *Plugin) signed(next func(ctx context.Context, w http.ResponseWriter, r *http.Request,
	body []byte) error,
) func(http.ResponseWriter, *http.Request, *plugin.Runtime) error {
	return func(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if err := verify(p.cfg.Secret, r.Header, body, time.Now()); err != nil {
			return &plugin.Error{Status: http.StatusUnauthorized, Message: "The request is not signed by the team's chat", Cause: err}
		}
		ctx, cancel := context.WithTimeout(r.Context(), inTime)
		defer cancel()
		return next(ctx, w, r, body)
	}
}

func (p *Plugin) events(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) error {
	e, err := parseEvent(body)
	switch {
	case err != nil:
		return plugin.Errorf(http.StatusBadRequest, "%s", err)
	case e.Challenge != "":
		return pluginhttp.WriteJSON(w, http.StatusOK, map[string]string{"challenge": e.Challenge})
	case e.Job == nil:
		return pluginhttp.WriteJSON(w, http.StatusOK, Done{true})
	}
	if err := p.keep(ctx, r, e.ID, e.Job); err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, Done{true})
}

func (p *Plugin) commands(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) error {
	id, j, err := parseCommand(body, time.Now())
	if err != nil {
		return plugin.Errorf(http.StatusBadRequest, "%s", err)
	}
	if err := p.keep(ctx, r, id, &j); err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, CommandReply{"ephemeral", "One moment…"})
}

// keep stores work before it is acknowledged. When that fails the chat is told
// to try again.
func (p *Plugin) keep(ctx context.Context, r *http.Request, id string, j *job) error {
	j.Base = p.base(r)
	if _, err := p.enqueue(ctx, id, *j); err != nil {
		return &plugin.Error{Status: http.StatusServiceUnavailable, Message: "The event could not be stored. Please send it again.", Cause: err}
	}
	return nil
}

// base is the address under which people reach the console; empty when nobody
// can say.
func (p *Plugin) base(r *http.Request) string {
	if p.cfg.URL != "" {
		return strings.TrimSuffix(p.cfg.URL, "/")
	}
	return pluginhttp.BaseURL(r)
}

var errCode = plugin.Errorf(http.StatusNotFound, "This link does not work, or not any more: ask for a new one in the chat")

func (p *Plugin) link(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	var in LinkRequest
	if err := pluginhttp.ReadJSON(r, &in); err != nil {
		return err
	}
	if in.Code == "" || len(in.Code) > 64 {
		return plugin.Errorf(http.StatusBadRequest, "code must have 1 to 64 letters")
	}
	if !in.Confirm {
		var v invitation
		found, err := load(r.Context(), p.store, codeKey(in.Code), &v)
		if err != nil {
			return err
		}
		if !found {
			return errCode
		}
		return pluginhttp.WriteJSON(w, http.StatusOK, v.Link)
	}
	l, found, err := p.follow(r.Context(), in.Code, rt.User.DID)
	if err != nil {
		return err
	}
	if !found {
		return errCode
	}
	p.log.Info("a member of a team was linked", slog.String("event", "teamchat.linked"), slog.String("team", l.Team), slog.String("user", l.User))
	return pluginhttp.WriteJSON(w, http.StatusOK, l)
}

func (p *Plugin) links(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	found, err := p.store.Scan(r.Context(), plugin.Range{Prefix: "d/" + plugin.UserKey(rt.User.DID) + "/", Limit: 200})
	if err != nil {
		return err
	}
	out := LinkList{Links: make([]Link, len(found))}
	for i, e := range found {
		if err := json.Unmarshal(e.Value, &out.Links[i]); err != nil {
			return fmt.Errorf("decode link: %w", err)
		}
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, out)
}

func (p *Plugin) endLink(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	team, user := r.PathValue("team"), r.PathValue("user")
	if !idForm.MatchString(team) || !idForm.MatchString(user) {
		return errNobody()
	}
	gone, err := p.unlink(r.Context(), team, user, rt.User.DID)
	if err != nil {
		return err
	}
	if !gone {
		return errNobody()
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, Done{true})
}

func errNobody() error {
	return plugin.Errorf(http.StatusNotFound, "Nobody of that name speaks as you")
}
