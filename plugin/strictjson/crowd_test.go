package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for text, values := range map[string]int{
		``: 0, `7`: 0, `{}`: 1, `[]`: 1, `[1,2,3]`: 3, `[[],[],{}]`: 6, `{"a":1,"b":[0,0]}`: 4,
		`",[{"`: 0, `{",\\\",[{":"{,"}`: 1, `["\\",{}]`: 3, `"\\\\",`: 1, `"[,`: 0, `"\`: 0, `"\"`: 0, `[,{`: 3,
	} {
		if err := strictjson.Count([]byte(text), values); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if values == 0 {
			continue
		}
		e, ok := errors.AsType[*strictjson.CrowdError](strictjson.Count([]byte(text), values-1))
		if !ok || e.Most != values-1 {
			t.Errorf("%s may have %d values", text, values-1)
		}
	}
}

// FuzzCount checks the count against the standard library's tokens.
func FuzzCount(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\",[",{}]}`, `"\u0022,"`, `[[],{}]`, "[\"\\", `{"\\":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = strictjson.Count([]byte(text), 3) // of anything
		if !json.Valid([]byte(text)) {
			return
		}
		most := 0
		for dec := json.NewDecoder(strings.NewReader(text)); ; {
			token, err := dec.Token()
			if err != nil {
				break
			}
			if d, ok := token.(json.Delim); !ok || d == '{' || d == '[' {
				most += 2 // itself, and the comma or the bracket before it
			}
		}
		if err := strictjson.Count([]byte(text), most); err != nil {
			t.Errorf("%q has at most %d: %v", text, most, err)
		}
	})
}
