package strictjson

import (
	"bytes"
	"strconv"
)

// MaxValues is how many values a body may have where nobody says otherwise: far more
// than a form or a list of a thousand items has.
const MaxValues = 20_000

// CrowdError is the refusal of JSON with too many values.
type CrowdError struct {
	// Most is how many it may have.
	Most int
}

// Error implements error.
func (e *CrowdError) Error() string {
	return "more than " + strconv.Itoa(e.Most) + " values"
}

// Count refuses JSON of more values than most: members, elements, objects and lists.
// An empty object is three bytes, with the comma behind it, and becomes twenty times
// that or more where it is read, so that bytes alone bound nothing: whoever decodes
// what strangers wrote counts before. What is no JSON is counted too, and otherwise
// left to the decoder.
func Count(data []byte, most int) error {
	left := most
	for at := 0; at < len(data); at++ {
		switch data[at] {
		case '{', '[', ',':
			if left--; left < 0 {
				return &CrowdError{Most: most}
			}
		case '"':
			at = closing(data, at)
		}
	}
	return nil
}

// closing is where the text that begins at a quote ends: at its closing quote, or
// with the data.
func closing(data []byte, at int) int {
	for at++; at < len(data); {
		n := bytes.IndexAny(data[at:], `"\`)
		switch {
		case n < 0:
			return len(data)
		case data[at+n] == '"':
			return at + n
		}
		at += n + 2 // what is escaped may be a quote
	}
	return at
}
