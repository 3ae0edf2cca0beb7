package filestorehttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// maxFlagBody is the most that a body with nothing but a flag may have.
const maxFlagBody = 4 << 10

// flag reads a boolean that has to be said once, in the query or in the body.
// There is no default: what the flag opens must not open by a slip of the pen.
// Names are compared letter by letter, which encoding/json would not do.
func flag(r *http.Request, name string) (bool, error) {
	given := r.URL.Query()[name]
	inBody, err := flagBody(r.Body, name)
	if err != nil {
		return false, err
	}
	switch {
	case len(given)+len(inBody) > 1:
		return false, badFlag(name, "is given more than once")
	case len(inBody) == 1:
		return inBody[0], nil
	case len(given) == 0:
		return false, badFlag(name, "is missing")
	case given[0] == "true", given[0] == "false":
		return given[0] == "true", nil
	default:
		return false, badFlag(name, fmt.Sprintf("must be true or false, not %q", given[0]))
	}
}

func badFlag(name, what string) error {
	return fault.Newf(fault.Invalid, "%s %s: say ?%s=true or ?%s=false, or send {%q: true} or {%q: false} as JSON", name, what, name, name, name, name)
}

// flagBody returns every value that a JSON object gives to a flag; no body gives
// none. The object may have no other member.
func flagBody(body io.Reader, name string) ([]bool, error) {
	dec := json.NewDecoder(body)
	dec.UseNumber()
	first, err := dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, notJSON(name, err)
	case first != json.Delim('{'):
		return nil, badFlag(name, "comes in a body that is no object")
	}
	var found []bool
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, notJSON(name, err)
		}
		if key != name {
			return nil, badFlag(name, fmt.Sprintf("comes in a body with another member, %q", key))
		}
		value, err := dec.Token()
		if err != nil {
			return nil, notJSON(name, err)
		}
		b, ok := value.(bool)
		if !ok {
			return nil, badFlag(name, "must be true or false, not "+shown(value))
		}
		found = append(found, b)
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, notJSON(name, err)
	}
	return found, nil
}

// notJSON says what is wrong with the body, unless the server said it already:
// too large, or cut off.
func notJSON(name string, err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return badFlag(name, "cannot be read: the body is not one JSON object")
}

// shown writes a JSON token as its sender did.
func shown(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case json.Delim:
		if v == '[' {
			return "an array"
		}
		return "an object"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}
