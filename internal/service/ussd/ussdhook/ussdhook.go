// Package ussdhook is what menus declare of the programs that they call: which
// webhook, what is sent to it, and which variables its answer fills.
//
// It promises that an answer is read whole or not at all: a JSON object whose members
// are texts, numbers or truth values, each once, each no longer than its variable
// shows. It refuses to cut: half a price is a wrong price.
//
// Decision: ADR 0235.
package ussdhook

import (
	"context"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Hook is a program that a menu calls.
type Hook struct {
	// Endpoint is the id of a webhook that chose to be called.
	Endpoint string `yaml:"endpoint"`
	// Send names the variables that are told, Take those that the answer fills.
	Send []string `yaml:"send"`
	Take []string `yaml:"take"`
	// Once says that a call without an answer is not made again later: what was asked
	// is of no use then.
	Once bool `yaml:"once"`
}

var endpoint = regexp.MustCompile(`^ep_[A-Z2-7]{26}$`)

// HasEndpoint reports whether the endpoint is written as one.
func (h Hook) HasEndpoint() bool { return endpoint.MatchString(h.Endpoint) }

// Call is one call. The same call has the same ID however often it is made.
type Call struct {
	Name string // of the hook, in its menu
	Hook Hook
	ID   string
	At   time.Time
	Data Data
}

// CallID writes a digest, which begins with the name of its key, as the ids of events
// are written.
func CallID(digest []byte) string {
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(digest)
	return "evt_" + text[len(text)-26:]
}

// Programs are called. An answer is there when ctx ends at the latest: a reply without
// a status is a program that did not answer. A fault.NotFound says that there is nobody
// to call.
type Programs interface {
	CallWebhook(ctx context.Context, call Call) (Reply, error)
}

// Data is what a program is told. Caller stands for the telephone, whose number is
// not told.
type Data struct {
	Webhook  string            `json:"webhook"`
	Caller   string            `json:"caller"`
	Account  string            `json:"account,omitempty"`
	Language string            `json:"language"`
	Values   map[string]string `json:"values"`
}

// Reply is what came of a call.
type Reply struct {
	// Status is that of the answer; 0 when there was none.
	Status int
	Body   []byte
	// Record is what the outbox keeps of the call.
	Record any
}

// statusGone is how a program says that it wants no more calls: its webhook is closed.
const statusGone = 410

// Answered reports an answer that says yes, Refused one that says no for good: making
// the call again would not change it.
func (r Reply) Answered() bool { return r.Status >= 200 && r.Status < 300 }

// Refused reports that the program understood the call and said no.
func (r Reply) Refused() bool {
	switch r.Status {
	case 408, statusGone, 421, 425, 429: // later, or never again
		return false
	}
	return r.Status >= 400 && r.Status < 500
}

// What a call comes to, as menus name it.
const (
	OK       = "ok"       // answered, and understood
	Refused  = "refused"  // the program said no
	Promised = "promised" // not answered: it is made again later
	Failed   = "failed"   // nothing came of it
)

// Outcomes lists what a call may come to.
func Outcomes() []string { return []string{OK, Refused, Promised, Failed} }

// Settle says what a call came to, and which variables the answer fills. The error
// says why an answer was of no use.
func (h Hook) Settle(r Reply,
	fits func(variable, value string) bool,
) (outcome string, set map[string]string, err error) {
	switch {
	case r.Refused():
		set, _ = h.Read(r.Body, fits) // a refusal may say why, and need not
		return Refused, set, nil
	case !r.Answered() && (h.Once || r.Status == statusGone):
		return Failed, nil, nil
	case !r.Answered():
		return Promised, nil, nil
	}
	if set, err = h.Read(r.Body, fits); err != nil {
		return Failed, nil, err
	}
	return OK, set, nil
}

// Read returns the members of the answer that the hook takes. Fits says whether a
// value is shown whole. Errors name members, and never what they hold.
func (h Hook) Read(body []byte, fits func(variable, value string) bool) (map[string]string, error) {
	set := make(map[string]string, len(h.Take))
	if len(h.Take) == 0 {
		return set, nil
	}
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(body, &members); err != nil || members == nil {
		return nil, fmt.Errorf("the answer is no JSON object of at most 8 KiB with each member once")
	}
	for _, name := range h.Take {
		value, ok := scalar(members[name])
		switch {
		case !ok:
			return nil, fmt.Errorf("the answer has no text or number %q", name)
		case !fits(name, value):
			return nil, fmt.Errorf("%q is longer than its variable shows", name)
		}
		set[name] = value
	}
	return set, nil
}

// scalar reads a text, a number as it is written, or a truth value.
func scalar(raw json.RawMessage) (string, bool) {
	text := strings.TrimSpace(string(raw))
	switch {
	case text == "" || text == "null" || text[0] == '{' || text[0] == '[':
		return "", false
	case text[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	}
	return text, true
}
