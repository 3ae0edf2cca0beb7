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
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// JSONOption changes what ReadJSON accepts.
type JSONOption uint8

const (
	// Strict refuses members that the target does not have, by name and in their case.
	Strict JSONOption = 1 << iota
	// AllowEmpty leaves the target as it is when there is no body.
	AllowEmpty
	// AnyMedia does not look at Content-Type.
	AnyMedia
)

// ReadJSON decodes the request body into v. The body is limited by the route.
// What is wrong with it comes back as a fault that may be shown: malformed,
// mistyped (with the member's name), unknown member, a member twice, trailing data,
// too large, not JSON by its Content-Type.
func ReadJSON(_ http.ResponseWriter, r *http.Request, v any, options ...JSONOption) error {
	var opt JSONOption
	for _, o := range options {
		opt |= o
	}
	if opt&AnyMedia == 0 && !jsonMedia(r.Header.Get("Content-Type")) {
		return fault.New(fault.UnsupportedMedia, "The body must be application/json")
	}
	body, err := readAll(r)
	if err != nil {
		return jsonFault(err)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if opt&Strict != 0 {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) && opt&AllowEmpty != 0 {
			return nil
		}
		return jsonFault(err)
	}
	if len(bytes.TrimLeft(body[dec.InputOffset():], " \t\r\n")) > 0 {
		return fault.New(fault.Invalid, "Unexpected data after the JSON value")
	}
	check := strictjson.Check
	if opt&Strict != 0 {
		check = strictjson.CheckNames
	}
	if err := check(body, v); err != nil {
		return jsonFault(err)
	}
	return nil
}

// readAll reads a body, with room for what it says it has: at most what most have,
// since a length is only what somebody says.
func readAll(r *http.Request) ([]byte, error) {
	const most = 64 << 10
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), most)) + bytes.MinRead)
	_, err := b.ReadFrom(r.Body)
	return b.Bytes(), err
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
	if e, ok := errors.AsType[*strictjson.DuplicateError](err); ok {
		return fault.Wrap(fault.Invalid, fmt.Sprintf("property %s must be there once", e.Name), err)
	}
	if e, ok := errors.AsType[*strictjson.NameError](err); ok {
		return fault.Wrap(fault.Invalid, fmt.Sprintf("property %s should not exist", e.Name), err)
	}
	if errors.Is(err, strictjson.DepthError{}) {
		return fault.Wrap(fault.Invalid, "The body's "+err.Error(), err)
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
// sent, so that a value that cannot be encoded is an error, not half an
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
