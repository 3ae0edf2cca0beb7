package pluginhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// ReadJSON reads a body that is exactly one JSON value without unknown
// members, with none twice, and with at most strictjson.MaxValues values. What is
// wrong with the body becomes a 400; what is wrong with the connection, or the
// host's bound on the size, is returned as it is.
func ReadJSON(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := strictjson.Count(body, strictjson.MaxValues); err != nil {
		return badJSON(err)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err = dec.Decode(into); err != nil {
		return badJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return plugin.Errorf(http.StatusBadRequest, "Unexpected data after the JSON value")
	}
	if err := strictjson.Check(body, into); err != nil {
		return badJSON(err)
	}
	return nil
}

func badJSON(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return plugin.Errorf(http.StatusBadRequest, "%s must not be a %s", nameOf(e.Field), e.Value)
	}
	if e, ok := errors.AsType[*strictjson.DuplicateError](err); ok {
		return plugin.Errorf(http.StatusBadRequest, "property %s must be there once", e.Name)
	}
	if e, ok := errors.AsType[*strictjson.CrowdError](err); ok {
		return plugin.Errorf(http.StatusBadRequest, "The body has %s", e)
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case errors.Is(err, io.EOF):
		return plugin.Errorf(http.StatusBadRequest, "The body is empty")
	case syntax, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, strictjson.DepthError{}):
		return plugin.Errorf(http.StatusBadRequest, "The body is not JSON")
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return plugin.Errorf(http.StatusBadRequest, "property %s should not exist", strings.Trim(field, `"`))
	}
	return err
}

func nameOf(field string) string {
	if field == "" {
		return "the body"
	}
	return field
}

// WriteJSON answers with a JSON value that nobody keeps.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}
