package ussdhttp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/plugin/strictjson"
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
	if err := decodeJSON(raw, v); err != nil {
		return err
	}
	if strictjson.Check(raw, v) != nil {
		return &ussd.InvalidError{Field: bodyField, Rule: "must have each member once"}
	}
	return nil
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
func (a *api) dialectOf(path string) string {
	if d := a.data[path]; d != nil {
		return d.Name()
	}
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
