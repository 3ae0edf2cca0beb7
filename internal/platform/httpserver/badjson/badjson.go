// Package badjson says to clients what is wrong with the JSON that they sent. It reads
// nothing itself.
package badjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Fault is what may be shown of an error of reading JSON: of the decoder, of strictjson, or
// of the line it came by. A fault stays what it is.
func Fault(err error) error {
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
		return fault.Wrap(fault.Invalid, fmt.Sprintf("%s must be %s, not %s", name, kind(e), e.Value), err)
	}
	if e, ok := errors.AsType[*strictjson.DuplicateError](err); ok {
		return fault.Wrap(fault.Invalid, fmt.Sprintf("property %s must be there once", e.Name), err)
	}
	if e, ok := errors.AsType[*strictjson.NameError](err); ok {
		return fault.Wrap(fault.Invalid, fmt.Sprintf("property %s should not exist", e.Name), err)
	}
	if e, ok := errors.AsType[*strictjson.CrowdError](err); ok {
		return fault.Wrap(fault.Invalid, "The body has "+e.Error(), err)
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

func kind(e *json.UnmarshalTypeError) string {
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
