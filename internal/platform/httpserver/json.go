package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// JSONOption changes what ReadJSON accepts.
type JSONOption uint8

const (
	// Strict refuses members that the target does not have, by name.
	Strict JSONOption = 1 << iota
	// AllowEmpty leaves the target as it is when there is no body.
	AllowEmpty
	// AnyMedia does not look at Content-Type.
	AnyMedia
)

// ReadJSON decodes the request body into v. The body is limited by the route.
// What is wrong with it comes back as a fault that may be shown: malformed,
// mistyped (with the member's name), unknown member, trailing data, too large,
// not JSON by its Content-Type.
func ReadJSON(_ http.ResponseWriter, r *http.Request, v any, options ...JSONOption) error {
	var opt JSONOption
	for _, o := range options {
		opt |= o
	}
	if opt&AnyMedia == 0 && !jsonMedia(r.Header.Get("Content-Type")) {
		return fault.New(fault.UnsupportedMedia, "The body must be application/json")
	}
	dec := json.NewDecoder(r.Body)
	if opt&Strict != 0 {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) && opt&AllowEmpty != 0 {
			return nil
		}
		return jsonFault(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		if e, ok := errors.AsType[*fault.Error](err); ok {
			return e
		}
		return fault.New(fault.Invalid, "Unexpected data after the JSON value")
	}
	return nil
}

func jsonMedia(contentType string) bool {
	if contentType == "" || contentType == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

func jsonFault(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fault.Wrap(fault.Invalid, fmt.Sprintf("Malformed JSON at byte %d: %s", e.Offset, e.Error()), err)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		name := e.Field
		if name == "" {
			name = "body"
		}
		return fault.Wrap(fault.Invalid, fmt.Sprintf("%s must be %s, not %s", name, jsonKind(e), e.Value), err)
	}
	switch text := err.Error(); {
	case errors.Is(err, io.EOF):
		return fault.Wrap(fault.Invalid, "The body is empty; a JSON value is expected", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(fault.Invalid, "Unexpected end of JSON input", err)
	case strings.HasPrefix(text, "json: unknown field "):
		name, _ := strconv.Unquote(strings.TrimPrefix(text, "json: unknown field "))
		return fault.Wrap(fault.Invalid, fmt.Sprintf("property %s should not exist", name), err)
	}
	// A value's own UnmarshalJSON refused it, or the line broke.
	return fault.Wrap(fault.Invalid, "The body could not be read as JSON", err)
}

func jsonKind(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "string":
		return "a string"
	case "bool":
		return "a boolean"
	case "slice", "array":
		return "an array"
	case "struct", "map":
		return "an object"
	}
	return "a number"
}

// WriteJSON sends v with the status. Encoding happens before the first byte is
// sent, so that a value that can not be encoded is an error, not half an
// answer.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	body := buf.Bytes()
	body = body[:len(body)-1] // Encode ends with a line feed
	h := w.Header()
	if h.Get("Content-Type") == "" {
		h["Content-Type"] = jsonContentType
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err := w.Write(body)
	if err != nil {
		return fmt.Errorf("send reply: %w", err)
	}
	return nil
}

var jsonContentType = []string{"application/json; charset=utf-8"}
