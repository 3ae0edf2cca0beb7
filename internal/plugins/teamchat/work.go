package teamchat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

// job is something to answer, and how far that has come.
type job struct {
	Team    string `json:"team"`
	User    string `json:"user"`
	Name    string `json:"name,omitempty"`
	Channel string `json:"channel,omitempty"`
	Thread  string `json:"thread,omitempty"`
	TS      string `json:"ts,omitempty"`
	Text    string `json:"text,omitempty"`
	Command bool   `json:"command,omitempty"`
	// Base is the address under which people reach the console.
	Base string `json:"base,omitempty"`
	// Notice is a text to tell the user as it is.
	Notice string `json:"notice,omitempty"`

	// Answer is set when there is one; Posted counts the pieces that were posted,
	// and Posting says that the next one may have been.
	Answer  string `json:"answer,omitempty"`
	Posted  int    `json:"posted,omitempty"`
	Posting bool   `json:"posting,omitempty"`
}

// session names the user's session of this conversation.
func (j job) session() string {
	key := "slack/" + j.Team + "/" + j.Channel
	switch {
	case j.Command:
		return key + "/commands"
	case j.Thread != "":
		return key + "/" + j.Thread
	}
	return key
}

// handle does one piece of work.
func (p *Plugin) handle(ctx context.Context, it pluginqueue.Item) (pluginqueue.Finish, error) {
	var j job
	if err := it.Decode(&j); err != nil {
		return nil, pluginqueue.Hopeless(err)
	}
	err := p.answer(ctx, it, &j)
	if e, ok := errors.AsType[*apiError](err); ok && e.hopeless() {
		err = pluginqueue.Hopeless(err)
	}
	if err != nil && !pluginqueue.IsLater(err) && ctx.Err() == nil {
		p.log.Warn("an answer could not be given", slog.String("event", "teamchat.answer_failed"), slog.String("message", it.ID), slog.Int("attempt", it.Attempt), slog.Any("error", err))
	}
	return nil, err
}

func (p *Plugin) answer(ctx context.Context, it pluginqueue.Item, j *job) error {
	if j.Notice != "" {
		return p.api.post(ctx, message{Channel: j.User, Text: j.Notice}, it.ID)
	}
	if j.Answer == "" {
		who, ok, err := p.linked(ctx, j.Team, j.User)
		if err != nil {
			return err
		}
		if !ok {
			return p.askToLink(ctx, it, *j)
		}
		if j.Answer, err = p.reply(ctx, it, *j, who); err != nil {
			return err
		}
		if err := p.queue.Save(ctx, it, j); err != nil {
			return err
		}
	}
	return p.say(ctx, it, j)
}

// reply finds the answer: to a word that is meant for this plugin, or the oracle's.
func (p *Plugin) reply(ctx context.Context, it pluginqueue.Item, j job, who Link) (string, error) {
	switch strings.ToLower(j.Text) {
	case "", "help":
		return fmt.Sprintf("I am %s. Ask me anything: a thread is a conversation. `whoami` tells who you are to me, `unlink` ends that.", p.called()), nil
	case "whoami":
		return "You are `" + who.DID + "` to me.", nil
	case "link":
		return "You are linked already, as `" + who.DID + "`. Write `unlink` first to become somebody else.", nil
	case "unlink":
		if _, err := p.unlink(ctx, j.Team, j.User, ""); err != nil {
			return "", err
		}
		return "You are no longer linked.", nil
	}
	session, err := p.talk.Open(ctx, who.DID, j.session())
	if err != nil {
		return "", fmt.Errorf("open session: %w", err)
	}
	answer, err := p.talk.Ask(ctx, plugin.Question{
		UserDID: who.DID, SessionID: session, RequestID: "slack-" + it.ID, Message: j.Text,
		Metadata: map[string]any{"channel": "teamchat", "team": j.Team},
	})
	if refusal, ok := errors.AsType[*plugin.Error](err); ok && refusal.Status < 500 {
		return refusal.Message, nil
	}
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	if strings.TrimSpace(answer.Text) == "" {
		return "I have no answer to that. Please try again.", nil
	}
	return markup(answer.Text), nil
}

func (p *Plugin) called() string {
	if p.name == "" {
		return "the oracle"
	}
	return p.name
}

// askToLink sends a one-time link, for this user's eyes only.
func (p *Plugin) askToLink(ctx context.Context, it pluginqueue.Item, j job) error {
	code, err := p.invite(ctx, it.ID, j)
	if err != nil {
		return err
	}
	page := j.Base + "/console/link#" + code
	if j.Base == "" {
		page += " on the console's site"
	}
	text := "I do not know who you are yet. Open " + page +
		" within 15 minutes to link this account to your own identity; then I answer. Do not give the link to anybody."
	m := message{Channel: j.Channel, Thread: j.Thread, Text: text, User: j.User}
	if !j.Command && strings.HasPrefix(j.Channel, "D") {
		m.User = ""
	}
	err = p.api.post(ctx, m, it.ID)
	if e, ok := errors.AsType[*apiError](err); ok && e.hopeless() {
		return p.api.post(ctx, message{Channel: j.User, Text: text}, it.ID)
	}
	return err
}

// say posts the answer piece by piece. What may have been posted by somebody who
// was interrupted is looked for first.
func (p *Plugin) say(ctx context.Context, it pluginqueue.Item, j *job) error {
	list := pieces(j.Answer)
	for j.Posted < len(list) {
		key := fmt.Sprintf("%s/%d", it.ID, j.Posted)
		there := false
		if j.Posting {
			var err error
			if there, err = p.api.posted(ctx, j.Channel, j.Thread, j.TS, key); pluginqueue.IsLater(err) {
				return err
			}
			// A chat that does not tell is told again: twice is better than never.
		}
		if !there {
			j.Posting = true
			if err := p.queue.Save(ctx, it, j); err != nil {
				return err
			}
			err := p.api.post(ctx, message{Channel: j.Channel, Thread: j.Thread, Text: list[j.Posted]}, key)
			if e, ok := errors.AsType[*apiError](err); ok && e.hopeless() && j.Channel != j.User {
				j.Channel, j.Thread, j.Posting = j.User, "", false // in private, then
				continue
			}
			if pluginqueue.IsLater(err) { // nothing was posted
				j.Posting = false
				return errors.Join(err, p.queue.Save(ctx, it, j))
			}
			if err != nil {
				return err
			}
		}
		j.Posted, j.Posting = j.Posted+1, false
		if err := p.queue.Save(ctx, it, j); err != nil {
			return err
		}
	}
	return nil
}
