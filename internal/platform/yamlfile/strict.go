package yamlfile

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/internal/platform/spelling"
)

// Strict reads the document into dst and refuses keys that dst does not have.
// What is wrong is told in one line, with its line in the file and without the
// text around it, which may hold secrets.
func Strict(source []byte, dst any, limit int) error {
	err := Unmarshal(source, dst, limit, yaml.Strict())
	if err == nil {
		return nil
	}
	said, ok := errors.AsType[yaml.Error](err)
	if !ok {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return errors.New(text)
	}
	text, _, _ := strings.Cut(said.GetMessage(), "\n")
	if m := unknownKey.FindStringSubmatch(text); m != nil {
		known := map[string]bool{}
		keysOf(reflect.TypeOf(dst), known)
		text = fmt.Sprintf("unknown key %q", m[1])
		if meant := spelling.Meant(m[1], slices.Collect(maps.Keys(known))); meant != "" {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
	}
	if t := said.GetToken(); t != nil && t.Position != nil {
		return fmt.Errorf("line %d: %s", t.Position.Line, text)
	}
	return errors.New(text)
}

var unknownKey = regexp.MustCompile(`^unknown field "(.*)"$`)

// keysOf collects the keys of a type and of what is in it.
func keysOf(t reflect.Type, into map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		keysOf(t.Elem(), into)
	case reflect.Struct:
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if name == "" || name == "-" || into[name] {
				continue
			}
			into[name] = true
			keysOf(field.Type, into)
		}
	}
}
