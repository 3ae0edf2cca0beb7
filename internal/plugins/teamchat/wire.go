package teamchat

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxAge is how old, or how far ahead, a signed request may be.
const maxAge = 5 * time.Minute

// verify checks the signature of a request over its time and body.
func verify(secret string, h http.Header, body []byte, now time.Time) error {
	stamp := h.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return errors.New("no timestamp")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > maxAge || age < -maxAge {
		return errors.New("the request is too old")
	}
	given, err := hex.DecodeString(strings.TrimPrefix(h.Get("X-Slack-Signature"), "v0="))
	if err != nil {
		return errors.New("no signature")
	}
	if secret == "" || !hmac.Equal(given, sign(secret, stamp, body)) {
		return errors.New("the signature does not hold")
	}
	return nil
}

func sign(secret, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte("v0:" + stamp + ":"))
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// The forms of ids. They become parts of keys.
var (
	idForm    = regexp.MustCompile(`^[A-Z0-9]{1,32}$`)
	eventForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	timeForm  = regexp.MustCompile(`^[0-9]{1,16}\.[0-9]{1,10}$`)
)

// maxText bounds a question, in bytes.
const maxText = 16 << 10

var errForm = errors.New("the body has not the form of an event")

// event is what a callback tells, as far as it matters here.
type event struct {
	// Challenge is set when the chat verifies the address.
	Challenge string
	// ID names the event; repeats have the same.
	ID string
	// Job is what is to be done; nil when nothing is.
	Job *job
}

// parseEvent reads a callback. What is none of ours is no error.
func parseEvent(body []byte) (event, error) {
	var in struct {
		Type      string
		Challenge string
		TeamID    string `json:"team_id"`
		EventID   string `json:"event_id"`
		Event     struct {
			Type        string
			Subtype     string
			BotID       string `json:"bot_id"`
			User        string
			Team        string
			Channel     string
			ChannelType string `json:"channel_type"`
			Text        string
			TS          string
			ThreadTS    string `json:"thread_ts"`
		}
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&in); err != nil {
		return event{}, errForm
	}
	switch in.Type {
	case "url_verification":
		if in.Challenge == "" || len(in.Challenge) > 1000 {
			return event{}, errForm
		}
		return event{Challenge: in.Challenge}, nil
	case "event_callback":
	default:
		return event{}, nil
	}
	if !idForm.MatchString(in.TeamID) || !eventForm.MatchString(in.EventID) {
		return event{}, errForm
	}
	e, out := in.Event, event{ID: in.EventID}
	direct := e.Type == "message" && e.ChannelType == "im"
	if !direct && e.Type != "app_mention" || e.Subtype != "" || e.BotID != "" || e.User == "" {
		return out, nil
	}
	if !idForm.MatchString(e.User) || !idForm.MatchString(e.Channel) || !timeForm.MatchString(e.TS) || e.ThreadTS != "" &&
		!timeForm.MatchString(e.ThreadTS) {
		return event{}, errForm
	}
	j := job{Team: in.TeamID, User: e.User, Channel: e.Channel, TS: e.TS, Thread: e.ThreadTS, Text: plain(e.Text)}
	if j.Thread == "" && !direct { // in a channel the answer opens a thread
		j.Thread = e.TS
	}
	out.Job = &j
	return out, nil
}

// parseCommand reads a slash command.
func parseCommand(body []byte, now time.Time) (string, job, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", job{}, errForm
	}
	j := job{
		Team: form.Get("team_id"), User: form.Get("user_id"), Channel: form.Get("channel_id"), Text: plain(form.Get("text")),
		Name: clip(form.Get("user_name"), 80), Command: true, TS: strconv.FormatInt(now.Unix(), 10) + ".000000",
	}
	trigger := form.Get("trigger_id")
	if !idForm.MatchString(j.Team) || !idForm.MatchString(j.User) || !idForm.MatchString(j.Channel) || trigger == "" ||
		len(trigger) > 500 {
		return "", job{}, errForm
	}
	sum := sha256.Sum256([]byte(trigger))
	return "cmd-" + hex.EncodeToString(sum[:16]), j, nil
}
