package ussdhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// SessionRequest is the body of the session endpoint. Pointers tell a missing
// member from an empty one.
type SessionRequest struct {
	SessionID   *string `json:"sessionId" jsonschema:"unique session identifier of the telecom gateway, at most 100 characters"`
	ServiceCode *string `json:"serviceCode" jsonschema:"the dialled code, such as *2233#"`
	PhoneNumber *string `json:"phoneNumber" jsonschema:"E.164 telephone number"`
	Text        *string `json:"text" jsonschema:"input accumulated in the session, joined by *, at most 182 characters; empty on the first dial"`
}

// session is the session endpoint, for JSON and for forms.
func (a *api) session(w http.ResponseWriter, r *http.Request) error { return a.plain(w, r, "") }

// plain reads the four fields and answers in plain text.
func (a *api) plain(w http.ResponseWriter, r *http.Request, dialect string) error {
	req, err := readSession(r)
	if err != nil {
		return err
	}
	if req.Dialect = dialect; dialect != "" { // the session endpoint itself is strict
		req.Phone = ussdnumber.E164(req.Phone)
	}
	return writeAnswer(w, http.StatusOK, a.hop(r, req))
}

// readSession reads the four fields. Everything that is wrong is an InvalidError.
func readSession(r *http.Request) (ussd.Request, error) {
	raw, form, err := readBody(r)
	if err != nil {
		return ussd.Request{}, err
	}
	var in SessionRequest
	if form {
		values, err := url.ParseQuery(string(raw))
		if err != nil {
			return ussd.Request{}, &ussd.InvalidError{Field: bodyField, Rule: "must be a form"}
		}
		get := func(name string) *string {
			if v := values[name]; len(v) == 1 {
				return &v[0]
			}
			return nil
		}
		in = SessionRequest{
			SessionID: get("sessionId"), ServiceCode: get("serviceCode"),
			PhoneNumber: get("phoneNumber"), Text: get("text"),
		}
	} else if err := in.decode(raw); err != nil {
		return ussd.Request{}, err
	}
	for i, value := range []*string{in.SessionID, in.ServiceCode, in.PhoneNumber, in.Text} {
		if value == nil {
			return ussd.Request{}, &ussd.InvalidError{Field: members[i], Rule: "is required exactly once"}
		}
	}
	return ussd.Request{SessionID: *in.SessionID, ServiceCode: *in.ServiceCode, Phone: *in.PhoneNumber, Text: *in.Text},
		nil
}

// members are the names that the document gives to the four fields.
var members = [...]string{"sessionId", "serviceCode", "phoneNumber", "text"}

// decode reads the members by their exact names, each at most once, as forms are
// read: of two texts nobody knows which one was typed. What the document does not
// name is passed over.
func (in *SessionRequest) decode(raw []byte) error {
	if in.plain(raw) {
		return nil
	}
	*in = SessionRequest{}
	if err := decodeJSON(raw, in); err != nil {
		return err
	}
	if !exact(raw) {
		return &ussd.InvalidError{Field: bodyField, Rule: "must have each member once, under its exact name"}
	}
	return nil
}

// plain reads what gateways send: an object of the four members, each once, with texts
// that need no unescaping. Of anything else it says false, and the decoder decides.
func (in *SessionRequest) plain(raw []byte) bool {
	to := [len(members)]**string{&in.SessionID, &in.ServiceCode, &in.PhoneNumber, &in.Text}
	rest, ok := after(raw, '{')
	for ok {
		var name, value []byte
		if name, rest, ok = quoted(rest); !ok {
			return false
		}
		if rest, ok = after(rest, ':'); !ok {
			return false
		}
		if value, rest, ok = quoted(rest); !ok {
			return false
		}
		at := 0
		for at < len(members) && members[at] != string(name) {
			at++
		}
		if at == len(members) || *to[at] != nil {
			return false
		}
		text := string(value)
		*to[at] = &text
		if more, comma := after(rest, ','); comma {
			rest = more
			continue
		}
		rest, ok = after(rest, '}')
		return ok && len(bytes.TrimLeft(rest, space)) == 0
	}
	return false
}

// space is what JSON allows between its parts.
const space = " \t\r\n"

// after returns what follows the sign, which may stand behind spaces.
func after(raw []byte, sign byte) ([]byte, bool) {
	raw = bytes.TrimLeft(raw, space)
	if len(raw) == 0 || raw[0] != sign {
		return raw, false
	}
	return raw[1:], true
}

// quoted returns the text of a JSON string that is written as it is, and what follows it.
func quoted(raw []byte) (text, rest []byte, ok bool) {
	raw, ok = after(raw, '"')
	if !ok {
		return nil, nil, false
	}
	for i, c := range raw {
		switch {
		case c == '"':
			return raw[:i], raw[i+1:], true
		case c == '\\', c < ' ':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// bodyField is what a refusal names when no field is to blame.
const bodyField = "body"

// decodeJSON reads a JSON body. Of one with a wrong type it reads the rest.
func decodeJSON(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return &ussd.InvalidError{Field: wrong.Field, Rule: "must be of type " + wrong.Type.String()}
	}
	return &ussd.InvalidError{Field: bodyField, Rule: "must be a JSON object"}
}

// exact looks at the names in a valid JSON object, since the decoder takes them
// in any case and any number.
func exact(raw []byte) bool {
	var seen [len(members)]bool
	depth, name := 0, false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
			name = depth == 1
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		case '"':
			from := i
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if name && !once(&seen, raw[from:i+1]) {
				return false
			}
			name = false
		}
	}
	return true
}

// once notes a name, and refuses one that comes again or in another case.
func once(seen *[len(members)]bool, quoted []byte) bool {
	name := string(quoted[1 : len(quoted)-1])
	if strings.IndexByte(name, '\\') >= 0 && json.Unmarshal(quoted, &name) != nil {
		return false
	}
	for i, member := range members {
		if strings.EqualFold(name, member) {
			if seen[i] || name != member {
				return false
			}
			seen[i] = true
		}
	}
	return true
}

// readBody reads a small body and says whether it is a form. Without a content
// type the body itself tells.
func readBody(r *http.Request) (raw []byte, form bool, err error) {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	media = strings.TrimSpace(media)
	if raw, err = readRaw(r); err != nil {
		return nil, false, err
	}
	switch {
	case media == "application/json", strings.EqualFold(media, "application/json"):
		return raw, false, nil
	case strings.EqualFold(media, "application/x-www-form-urlencoded"):
		return raw, true, nil
	case media == "" && len(raw) > 0 && raw[0] == '{':
		return raw, false, nil
	}
	return nil, false, &ussd.InvalidError{Field: "Content-Type", Rule: "must be JSON or a form"}
}

// readRaw reads a small body.
func readRaw(r *http.Request) (raw []byte, err error) {
	size := r.ContentLength
	if size < 0 || size > maxBody {
		raw, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	} else {
		raw = make([]byte, size)
		_, err = io.ReadFull(r.Body, raw)
	}
	if err != nil || len(raw) > maxBody || !utf8.Valid(raw) {
		return nil, &ussd.InvalidError{Field: bodyField, Rule: "must be whole, of UTF-8 and at most 16 KiB"}
	}
	return raw, nil
}
