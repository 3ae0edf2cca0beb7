package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Declared are the settings of parts as they are declared, with their defaults.
func Declared(parts []Part) []Setting {
	l := loader{known: map[string]bool{}}
	for _, p := range parts {
		l.part(p.Name, reflect.New(reflect.TypeOf(p.Into).Elem()).Elem()) // the values stay as they are
	}
	return l.settings
}

// Find returns the declaration of a setting.
func Find(parts []Part, name string) (Setting, bool) {
	for _, s := range Declared(parts) {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}

// Fits says why a value does not fit the setting; nil means that it does. Secrets are not shown.
func Fits(parts []Part, name, text string) error {
	for _, p := range parts {
		if _, _, err := set(reflect.New(reflect.TypeOf(p.Into).Elem()).Elem(), name, text); !errors.Is(err, errElsewhere) {
			return err
		}
	}
	return fmt.Errorf("%s: no such setting", name)
}

// errElsewhere says that a part does not have the setting.
var errElsewhere = errors.New("not of this part")

// set puts a value into the field of a setting. It returns how the value is shown.
func set(part reflect.Value, name, text string) (shown string, secret bool, err error) {
	for i := range part.NumField() {
		field := part.Type().Field(i)
		if field.Tag.Get("env") != name {
			continue
		}
		secret = isSecret(field.Type) || field.Tag.Get("secret") == "true"
		if err := assign(part.Field(i), field, text); err != nil {
			given := fmt.Sprintf("%q", show(part.Field(i), text))
			if secret {
				given = "a secret that does not fit"
			}
			return "", secret, fmt.Errorf("%s: given %s, allowed is %s", name, given, allowed(field))
		}
		return show(part.Field(i), text), secret, nil
	}
	return "", false, errElsewhere
}

// WhereItRuns is why nobody but whoever runs the server changes a setting with the tag
// machine:"true": it guards the machine and its network, or says where its secrets are sent.
const WhereItRuns = "set where the server runs"

// Use puts stored values into those settings of parts that are at their defaults, before anybody
// has read them. It returns the settings as they are then, and what did not fit or is of the
// machine alone.
func Use(parts []Part, settings []Setting, values map[string]string) ([]Setting, []error) {
	out := make([]Setting, len(settings))
	var problems []error
	for i, s := range settings {
		out[i] = s
		text, stored := values[s.Name]
		if !stored || s.Source != FromDefault {
			continue
		}
		if s.Machine {
			problems = append(problems, fmt.Errorf("%s is %s: what is stored of it is not used", s.Name, WhereItRuns))
			continue
		}
		for _, p := range parts {
			if p.Name != s.Part {
				continue
			}
			if err := Fits(parts, s.Name, text); err != nil {
				problems = append(problems, err)
				continue
			}
			shown, secret, err := set(reflect.ValueOf(p.Into).Elem(), s.Name, text)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			if secret {
				shown = masked
			}
			out[i].Value, out[i].Source = shown, FromDatabase
		}
	}
	return out, problems
}

func choices(field reflect.StructField) []string {
	if tag := field.Tag.Get("allowed"); tag != "" {
		return strings.Split(tag, "|")
	}
	return nil
}

// kind is what a form asks for.
func kind(field reflect.StructField) string {
	if choices(field) != nil {
		return "choice"
	}
	switch reflect.Zero(field.Type).Interface().(type) {
	case bool:
		return "boolean"
	case int:
		return "number"
	case time.Duration:
		return "duration"
	case []string:
		return "list"
	}
	return "text"
}
