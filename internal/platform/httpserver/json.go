package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver/badjson"
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

// ReadJSON decodes the request body into v. The body is limited by the route, in bytes
// and in values. What is wrong with it comes back as a fault that may be shown: malformed,
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
		return badjson.Fault(err)
	}
	if err := strictjson.Count(body, MaxValues(r.Context())); err != nil {
		return badjson.Fault(err)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if opt&Strict != 0 {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) && opt&AllowEmpty != 0 {
			return nil
		}
		return badjson.Fault(err)
	}
	if len(bytes.TrimLeft(body[dec.InputOffset():], " \t\r\n")) > 0 {
		return fault.New(fault.Invalid, "Unexpected data after the JSON value")
	}
	check := strictjson.Check
	if opt&Strict != 0 {
		check = strictjson.CheckNames
	}
	if err := check(body, v); err != nil {
		return badjson.Fault(err)
	}
	return nil
}

// MaxValues is how many values the JSON of the request's body may have, by its route.
func MaxValues(ctx context.Context) int {
	if x := exchangeOf(ctx); x != nil && x.mounted != nil && x.mounted.route.MaxValues > 0 {
		return x.mounted.route.MaxValues
	}
	return strictjson.MaxValues
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
