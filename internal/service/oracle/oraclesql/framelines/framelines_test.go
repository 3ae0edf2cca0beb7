package framelines

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Lines are read as they were written, from behind any frame; others are refused.
func TestLines(t *testing.T) {
	t.Parallel()
	frames := []oracle.Frame{
		{Seq: 7, Event: "message", Data: json.RawMessage(`{"text":"a b\n"}`)},
		{Seq: 8, Event: "done", Data: json.RawMessage(`{}`)},
	}
	lines := Encode(frames)
	for after := range frames {
		got, err := Decode(7, lines, 6+int64(after))
		if err != nil || !reflect.DeepEqual(got, frames[after:]) {
			t.Errorf("behind %d: %v, %v", 6+after, got, err)
		}
	}
	for _, damaged := range []string{"message", "message {}", "message {\n", " {}\n", "\n"} {
		if got, err := Decode(1, damaged, 0); err == nil {
			t.Errorf("%q is read as %v", damaged, got)
		}
	}
}
