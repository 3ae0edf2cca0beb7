package ussdhttp

import (
	"net/http"
	"net/url"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// pathAfricasTalking answers in plain text, as the session endpoint does.
const pathAfricasTalking = "/api/ussd/africastalking"

// AfricasTalkingRequest is what Africa's Talking posts, as a form: the session
// endpoint's own fields and the network. The accumulated text is the sequence: an
// equal one is a repeated delivery.
type AfricasTalkingRequest struct {
	SessionRequest
	NetworkCode string `json:"networkCode,omitempty" jsonschema:"the caller's network"`
}

// AfricasTalkingNotice tells that a session is over, and how it went. It comes
// with what the user typed and was last shown, which is not kept: it may hold a
// PIN.
type AfricasTalkingNotice struct {
	SessionID   string `json:"sessionId" jsonschema:"the session that is over"`
	PhoneNumber string `json:"phoneNumber,omitempty" jsonschema:"the caller"`
	Status      string `json:"status,omitempty" jsonschema:"Success, Incomplete or Failed"`
}

func (a *api) africasTalking(w http.ResponseWriter, r *http.Request) error {
	return a.plain(w, r, ussd.DialectAfricasTalking)
}

// africasTalkingEnded ends the session wherever it was opened: Africa's Talking
// may also be pointed at the session endpoint itself. A notice without the number
// ends nobody's.
func (a *api) africasTalkingEnded(w http.ResponseWriter, r *http.Request) error {
	raw, form, err := readBody(r)
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(string(raw))
	if err != nil || !form {
		return &ussd.InvalidError{Field: bodyField, Rule: "must be a form"}
	}
	for _, dialect := range []string{"", ussd.DialectAfricasTalking} {
		if err := a.end(r, dialect, values.Get("sessionId"), ussdnumber.E164(values.Get("phoneNumber"))); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
