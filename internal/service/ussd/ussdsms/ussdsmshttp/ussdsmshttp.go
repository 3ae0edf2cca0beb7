// Package ussdsmshttp takes the text messages that gateways hand over.
//
// Twilio proves itself by X-Twilio-Signature, over the address as the outside knows it
// and every field. Africa's Talking signs nothing: a secret is part of the address
// that it is given. Whoever proves nothing is refused before anything is stored, and the
// route of a gateway that is not in use is not there. Nothing here logs a body.
package ussdsmshttp

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Twilio signs with it; as an HMAC it is not broken
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms/ussdsmssend"
)

const (
	maxBody   = 64 << 10
	mediaForm = "application/x-www-form-urlencoded"
)

// Deps is what the routes need.
type Deps struct {
	// Service is nil where no gateway is set up.
	Service *ussdsms.Service
	Gateway string
	// Secrets are what Africa's Talking puts into the address, any of them; without one
	// no messages are taken. Tokens sign what Twilio sends. Empty ones do not count.
	Secrets, Tokens []string

	Limiter *ratelimit.Limiter
}

// AfricasTalkingMessage is what Africa's Talking posts, as a form.
type AfricasTalkingMessage struct {
	ID   string `json:"id" jsonschema:"the gateway's identifier of the message"`
	From string `json:"from" jsonschema:"the sender's number"`
	To   string `json:"to" jsonschema:"the short code"`
	Text string `json:"text"`
}

// TwilioMessage is what Twilio posts, as a form.
type TwilioMessage struct {
	MessageSid string `json:"MessageSid" jsonschema:"the gateway's identifier of the message"`
	From       string `json:"From" jsonschema:"the sender's number"`
	To         string `json:"To"`
	Body       string `json:"Body"`
}

// AfricasTalkingReport is what Africa's Talking posts of a message that was sent, as a form.
type AfricasTalkingReport struct {
	ID     string `json:"id" jsonschema:"the gateway's identifier of the message"`
	Status string `json:"status" jsonschema:"Success, Failed, Rejected, Expired, AbsentSubscriber, or a step before those"`
	Reason string `json:"failureReason,omitempty"`
}

// TwilioReport is what Twilio posts of a message that was sent, as a form.
type TwilioReport struct {
	MessageSid    string `json:"MessageSid" jsonschema:"the gateway's identifier of the message"`
	MessageStatus string `json:"MessageStatus" jsonschema:"delivered, undelivered, failed, or a step before those"`
	ErrorCode     string `json:"ErrorCode,omitempty"`
}

// PathTwilioReports is where Twilio is asked to say what became of messages.
const PathTwilioReports = "/api/sms/twilio/reports"

// stateOf is what a gateway's word says of a message; "" is a step on its way.
func stateOf(word string) ussdsms.State {
	switch word {
	case "Success", "delivered", "read":
		return ussdsms.Delivered
	case "Failed", "Rejected", "Expired", "AbsentSubscriber", "undelivered", "failed":
		return ussdsms.Undelivered
	}
	return ""
}

type api struct{ Deps }

// Surface returns the routes of gateways.
func Surface(d Deps) httpserver.Surface {
	empty := func(text string) bool { return text == "" }
	d.Secrets = slices.DeleteFunc(slices.Clone(d.Secrets), empty)
	d.Tokens = slices.DeleteFunc(slices.Clone(d.Tokens), empty)
	a := api{d}
	refusals := []httpserver.Reply{
		{Status: http.StatusForbidden, Doc: "the caller did not prove to be the gateway"},
		{Status: http.StatusNotFound, Doc: "this gateway is not set up"},
	}
	routes := []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: "/api/sms/africastalking", Summary: "Africa's Talking: a text message came in", Body: AfricasTalkingMessage{},
			Example: map[string]any{"id": "example-id", "from": "+254700000001", "to": "2233", "text": "Hello"},
			Doc:     "The message asks the oracle; the reply is a message. Sent again it asks nothing.",
			Params:  []httpserver.Param{{Name: "secret", In: "query", Required: true, Doc: "SMS_SECRET"}},
			Replies: append([]httpserver.Reply{{Status: http.StatusOK}}, refusals...), Handler: a.africasTalking,
		},
		{
			Method: http.MethodPost, Pattern: "/api/sms/twilio", Summary: "Twilio: a text message came in", Body: TwilioMessage{},
			Example: map[string]any{"MessageSid": "example-id", "From": "+254700000001", "To": "2233", "Body": "Hello"},
			Doc:     "The message asks the oracle; the reply is a message. Sent again it asks nothing.",
			Params:  []httpserver.Param{{Name: "X-Twilio-Signature", In: "header", Required: true, Doc: "the gateway's signature"}},
			Replies: append([]httpserver.Reply{{
				Status: http.StatusOK, Body: "", Media: "text/xml", Doc: "an empty TwiML document",
			}}, refusals...), Handler: a.twilio,
		},
		{
			Method: http.MethodPost, Pattern: "/api/sms/africastalking/reports", Summary: "Africa's Talking: what became of a text message",
			Body: AfricasTalkingReport{}, Example: map[string]any{"id": "example-id", "status": "Success"},
			Doc:     "Numbers in it are not kept.",
			Params:  []httpserver.Param{{Name: "secret", In: "query", Required: true, Doc: "SMS_SECRET"}},
			Replies: append([]httpserver.Reply{{Status: http.StatusOK}}, refusals...), Handler: a.africasTalkingReport,
		},
		{
			Method: http.MethodPost, Pattern: PathTwilioReports, Summary: "Twilio: what became of a text message",
			Body: TwilioReport{}, Example: map[string]any{"MessageSid": "example-id", "MessageStatus": "delivered"},
			Doc:     "Numbers in it are not kept.",
			Params:  []httpserver.Param{{Name: "X-Twilio-Signature", In: "header", Required: true, Doc: "the gateway's signature"}},
			Replies: append([]httpserver.Reply{{Status: http.StatusOK}}, refusals...), Handler: a.twilioReport,
		},
	}
	for i := range routes {
		routes[i].Auth, routes[i].Tags, routes[i].MaxBody, routes[i].BodyMedia = httpserver.Public, []string{"USSD"}, maxBody,
			[]string{mediaForm}
		routes[i].Limiter = d.Limiter
	}
	return httpserver.Surface{Name: "sms", Doc: "Text messages of telephones.", Routes: routes}
}

var (
	errNoGateway = fault.New(fault.NotFound, "This gateway is not set up.")
	errForbidden = fault.New(fault.Forbidden, "Only the gateway may call this.")
)

// serves reports whether messages of the gateway are taken.
func (a api) serves(gateway string) bool { return a.Service != nil && a.Gateway == gateway }

// fromAfricasTalking reads a form that knows the secret.
func (a api) fromAfricasTalking(r *http.Request) (map[string]string, error) {
	if !a.serves(ussdsmssend.AfricasTalking) || len(a.Secrets) == 0 {
		return nil, errNoGateway
	}
	given, known := sha256.Sum256([]byte(r.URL.Query().Get("secret"))), 0
	for _, secret := range a.Secrets {
		want := sha256.Sum256([]byte(secret))
		known |= subtle.ConstantTimeCompare(given[:], want[:])
	}
	if known != 1 {
		return nil, errForbidden
	}
	return readForm(r)
}

func (a api) africasTalkingReport(w http.ResponseWriter, r *http.Request) error {
	form, err := a.fromAfricasTalking(r)
	if err != nil {
		return err
	}
	return a.report(w, r, form["id"], form["status"], form["failureReason"])
}

func (a api) twilioReport(w http.ResponseWriter, r *http.Request) error {
	form, err := a.fromTwilio(r)
	if err != nil {
		return err
	}
	return a.report(w, r, form["MessageSid"], form["MessageStatus"], form["ErrorCode"])
}

// report notes what became of a message. The steps before that say nothing new.
func (a api) report(w http.ResponseWriter, r *http.Request, reference, word, why string) error {
	if state := stateOf(word); state != "" {
		if err := a.Service.Report(r.Context(), ussdsms.Report{Reference: reference, State: state, Why: why}); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (a api) africasTalking(w http.ResponseWriter, r *http.Request) error {
	form, err := a.fromAfricasTalking(r)
	if err != nil {
		return err
	}
	if err := a.Service.Receive(r.Context(), a.Gateway, form["id"], form["from"], form["text"]); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// fromTwilio reads a form that Twilio signed.
func (a api) fromTwilio(r *http.Request) (map[string]string, error) {
	if !a.serves(ussdsmssend.Twilio) {
		return nil, errNoGateway
	}
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	address, signature := httpserver.AbsoluteBase(r)+r.URL.RequestURI(), r.Header.Get("X-Twilio-Signature")
	if !slices.ContainsFunc(a.Tokens, func(token string) bool { return signed(token, address, form, signature) }) {
		return nil, errForbidden
	}
	return form, nil
}

func (a api) twilio(w http.ResponseWriter, r *http.Request) error {
	form, err := a.fromTwilio(r)
	if err != nil {
		return err
	}
	if err := a.Service.Receive(r.Context(), a.Gateway, form["MessageSid"], form["From"], form["Body"]); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/xml")
	_, err = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Response></Response>`)
	return err
}

// signed reports whether Twilio signed the form for the address: the fields in order
// of their names, each with its value, behind the address.
func signed(token, address string, form map[string]string, signature string) bool {
	given, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(given) != sha1.Size {
		return false
	}
	mac := hmac.New(sha1.New, []byte(token))
	_, _ = io.WriteString(mac, address) // a hash does not fail
	for _, name := range slices.Sorted(maps.Keys(form)) {
		_, _ = io.WriteString(mac, name+form[name])
	}
	return hmac.Equal(mac.Sum(nil), given)
}

// readForm reads a form in which each field stands once: of two nobody knows which
// one was signed.
func readForm(r *http.Request) (map[string]string, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != mediaForm {
		return nil, fault.New(fault.UnsupportedMedia, "The body must be a form ("+mediaForm+").")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return nil, fault.New(fault.TooLarge, "The body must be whole and have at most 64 KiB.")
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fault.New(fault.Invalid, "The body is no form.")
	}
	form := make(map[string]string, len(values))
	for name, all := range values {
		if len(all) != 1 || !utf8.ValidString(all[0]) {
			return nil, fault.New(fault.Invalid, "Each field of the form must be there once, as UTF-8.")
		}
		form[name] = all[0]
	}
	return form, nil
}
