package toolschema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/toolschema"
)

// However deep a slice, a pointer or a map lies, it has one type.
func TestValuesHaveOneType(t *testing.T) {
	t.Parallel()
	type inner struct {
		Names []string `json:"names,omitempty"`
		Size  *int     `json:"size,omitempty"`
	}
	type outer struct {
		All  []inner          `json:"all,omitempty"`
		Many map[string]inner `json:"many,omitempty"`
		One  *inner           `json:"one,omitempty"`
	}
	text, err := json.Marshal(toolschema.Of[outer]())
	if err != nil || strings.Contains(string(text), "null") || strings.Count(string(text), `"type":"array"`) != 4 {
		t.Errorf("%s %v", text, err)
	}
}
