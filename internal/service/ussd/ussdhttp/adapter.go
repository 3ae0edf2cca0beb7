package ussdhttp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd"
)

// readDialect decodes the JSON body of an adapter.
func readDialect(r *http.Request, v any) error {
	raw, form, err := readBody(r)
	switch {
	case err != nil:
		return err
	case form:
		return &ussd.InvalidError{Field: "Content-Type", Rule: "must be JSON"}
	}
	return decodeJSON(raw, v)
}

// refuse answers a request that could not be read; the caller writes it in its
// own shape, with what could be read.
func (a *api) refuse(r *http.Request, err error) ussd.Answer {
	return a.settled(r, ussd.Answer{}, err)
}

// hop answers an adapter's request; the caller writes it in its own shape.
func (a *api) hop(r *http.Request, req ussd.Request) ussd.Answer {
	answer, err := a.answer(r, req)
	return a.settled(r, answer, err)
}

// dialectOf names the dialect that a path belongs to; "" is the session endpoint.
func dialectOf(path string) string {
	rest, _ := strings.CutPrefix(path, pathSession+"/")
	name, _, _ := strings.Cut(rest, "/")
	if slices.Contains(ussd.Dialects(), name) {
		return name
	}
	return ""
}

// endOf is how a dialect ends a session whose request never reached its adapter,
// or nil where the path is no dialect's.
func endOf(path string) any {
	answer := ussd.Answer{Text: textInvalid, End: true}
	switch {
	case path == "/api/ussd/hubtel":
		return hubtelEnd(textInvalid)
	case path == "/api/ussd/arkesel":
		return ArkeselRequest{}.reply(answer)
	case path == "/api/ussd/nalo":
		return NaloRequest{}.reply(answer)
	case strings.HasPrefix(path, "/api/ussd/infobip/"):
		return infobipReply(answer)
	}
	return nil
}

func writeDialect(w http.ResponseWriter, v any) error {
	return httpserver.WriteJSON(w, http.StatusOK, v)
}

// e164 adds the plus sign that some gateways leave out.
func e164(number string) string {
	number = strings.TrimSpace(number)
	number = strings.TrimPrefix(number, "00")
	if number != "" && number[0] != '+' {
		return "+" + number
	}
	return number
}

// noCode stands for the service code where a dialect does not say it.
const noCode = "*0#"

// serviceCode writes a gateway's code as *digits#.
func serviceCode(code string) string {
	code = strings.Trim(strings.TrimSpace(code), "*#")
	if code == "" {
		return noCode
	}
	return "*" + code + "#"
}

// dialled cuts what was dialled into the service code and the inputs after it:
// *714*1*2# with the code 714 is *714# and 1*2; without a code it is *714#.
func dialled(dialledText, code string) (service, text string) {
	service = serviceCode(code)
	inner := strings.Trim(strings.TrimSpace(dialledText), "#")
	if !strings.HasPrefix(inner, "*") {
		return service, ""
	}
	base := strings.TrimSuffix(service, "#")
	if service == noCode {
		// Nobody says what of it is the code and what was typed behind it, which
		// may be a PIN; codes are kept and shown.
		first, _, _ := strings.Cut(inner[1:], "*")
		return serviceCode(first), ""
	}
	rest, ok := strings.CutPrefix(inner, base+"*")
	if !ok {
		return service, ""
	}
	return service, rest
}
