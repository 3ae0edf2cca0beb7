package socketio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Binary is an attachment among the arguments of an event: an argument itself,
// or a member of a map[string]any or []any at any depth.
type Binary []byte

// placeholder stands in JSON for an attachment.
type placeholder struct {
	Placeholder bool `json:"_placeholder"`
	Num         *int `json:"num"`
}

// encodeArgs marshals arguments, taking the attachments out of them.
func encodeArgs(args []any) (raw []json.RawMessage, attachments [][]byte, err error) {
	raw = make([]json.RawMessage, 0, len(args)+1)
	for _, a := range args {
		a = detach(a, &attachments)
		one, err := marshal(a)
		if err != nil {
			return nil, nil, fmt.Errorf("encode event: %w", err)
		}
		raw = append(raw, one)
	}
	return raw, attachments, nil
}

// detach replaces attachments by placeholders, depth first, without changing
// the caller's values.
func detach(v any, attachments *[][]byte) any {
	switch v := v.(type) {
	case Binary:
		n := len(*attachments)
		*attachments = append(*attachments, v)
		return placeholder{true, &n}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = detach(e, attachments)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			out[k] = detach(v[k], attachments)
		}
		return out
	}
	return v
}

// marshal is json.Marshal without the escapes that only HTML needs. JSON that
// is ready is only checked.
func marshal(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if !validJSON(raw) {
			return nil, fmt.Errorf("%w: raw argument is no JSON", ErrPacket)
		}
		return raw, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// attachBack puts attachments in the place of their placeholders.
func attachBack(v any, attachments [][]byte) (any, error) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			var err error
			if v[i], err = attachBack(e, attachments); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if v["_placeholder"] == true {
			n, ok := v["num"].(float64)
			if !ok || n < 0 || n >= float64(len(attachments)) || n != float64(int(n)) {
				return nil, fmt.Errorf("%w: placeholder without an attachment", ErrPacket)
			}
			return Binary(attachments[int(n)]), nil
		}
		for _, k := range sortedKeys(v) {
			var err error
			if v[k], err = attachBack(v[k], attachments); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// checkPlaceholders refuses a packet that points at attachments it has not.
func checkPlaceholders(p Packet) error {
	for _, a := range p.Args {
		if !bytes.Contains(a, []byte("_placeholder")) {
			continue
		}
		if err := strictjson.Count(a, strictjson.MaxValues); err != nil {
			return fmt.Errorf("%w: beside attachments: %w", ErrPacket, err)
		}
		var v any
		if err := json.Unmarshal(a, &v); err != nil {
			return fmt.Errorf("%w: %w", ErrPacket, err)
		}
		if _, err := attachBack(v, p.Attachments); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	if len(keys) > 1 {
		slices.Sort(keys)
	}
	return keys
}
