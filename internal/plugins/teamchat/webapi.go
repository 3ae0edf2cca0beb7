package teamchat

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/castalia-org/castalia/plugin/pluginhttp"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

// webAPI is the chat's Web API.
type webAPI struct{ remote *pluginhttp.Remote }

// apiError is a refusal of the chat.
type apiError struct{ code string }

// Error names the code.
func (e *apiError) Error() string { return "the chat refused: " + clip(e.code, 80) }

// hopeless reports that the chat refuses for good: a channel that is gone stays gone.
func (e *apiError) hopeless() bool {
	return slices.Contains([]string{
		"channel_not_found", "not_in_channel", "is_archived", "msg_too_long", "no_text", "restricted_action", "user_not_in_channel",
		"user_not_found", "cannot_dm_bot", "messages_tab_disabled", "invalid_blocks", "thread_not_found",
	}, e.code)
}

// call asks the Web API. A pause that the chat asks for is pluginqueue.Later.
func (a *webAPI) call(ctx context.Context, c pluginhttp.Call, out any) error {
	err := a.remote.Do(ctx, c, out)
	if e, ok := errors.AsType[*pluginhttp.StatusError](err); ok &&
		(e.Status == http.StatusTooManyRequests || e.RetryAfter > 0) {
		return pluginqueue.Later(max(e.RetryAfter, time.Second))
	}
	return err
}

// refused turns the chat's own verdict into an error.
func refused(ok bool, code string) error {
	switch {
	case ok:
		return nil
	case code == "ratelimited":
		return pluginqueue.Later(2 * time.Second)
	}
	return &apiError{code}
}

// message is one post.
type message struct {
	Channel  string         `json:"channel"`
	User     string         `json:"user,omitempty"` // only this user sees it
	Thread   string         `json:"thread_ts,omitempty"`
	Text     string         `json:"text"`
	Unfurl   bool           `json:"unfurl_links"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// eventType marks our posts, so that they are found again.
const eventType = "castalia_answer"

// post posts a message under a key.
func (a *webAPI) post(ctx context.Context, m message, key string) error {
	method := "chat.postMessage"
	if m.User != "" {
		method = "chat.postEphemeral"
	} else {
		m.Metadata = map[string]any{"event_type": eventType, "event_payload": map[string]string{"key": key}}
	}
	var out struct {
		OK    bool
		Error string
	}
	if err := a.call(ctx, pluginhttp.Call{Method: http.MethodPost, Path: []string{method}, In: m}, &out); err != nil {
		return err
	}
	return refused(out.OK, out.Error)
}

// posted looks for a post under a key, after a time.
func (a *webAPI) posted(ctx context.Context, channel, thread, since, key string) (bool, error) {
	method, q := "conversations.history", url.Values{"channel": {channel}, "include_all_metadata": {"true"}, "limit": {"100"}, "oldest": {since}}
	if thread != "" {
		method = "conversations.replies"
		q.Set("ts", thread)
	}
	var out struct {
		OK       bool
		Error    string
		Messages []struct {
			Metadata struct {
				EventType    string               `json:"event_type"`
				EventPayload struct{ Key string } `json:"event_payload"`
			}
		}
	}
	if err := a.call(ctx, pluginhttp.Call{Method: http.MethodGet, Path: []string{method}, Query: q}, &out); err != nil {
		return false, err
	}
	for _, m := range out.Messages {
		if m.Metadata.EventType == eventType && m.Metadata.EventPayload.Key == key {
			return true, nil
		}
	}
	return false, refused(out.OK, out.Error)
}

// nameOf is what people call a user; empty when the chat does not tell.
func (a *webAPI) nameOf(ctx context.Context, user string) string {
	var out struct {
		User struct {
			Name     string
			RealName string `json:"real_name"`
		}
	}
	if err := a.call(ctx, pluginhttp.Call{
		Method: http.MethodGet, Path: []string{"users.info"},
		Query: url.Values{"user": {user}},
	}, &out); err != nil {
		return ""
	}
	if out.User.RealName != "" {
		return clip(out.User.RealName, 80)
	}
	return clip(out.User.Name, 80)
}
