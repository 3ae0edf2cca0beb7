package ussdhttp

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd"
)

// readDialect decodes the JSON body of an adapter.
func readDialect(r *http.Request, v any) error {
	raw, form, err := readBody(r)
	if err != nil || form {
		return ussd.ErrInvalid
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return ussd.ErrInvalid
	}
	return nil
}

// hop answers an adapter's request; the caller writes it in its own shape.
func (a *api) hop(r *http.Request, req ussd.Request) ussd.Answer {
	answer, err := a.answer(r, req)
	return a.settled(r.Context(), answer, err)
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
