// Package config turns defaults, a file, the environment and flags, in that
// order of growing weight, into one struct per part of the program.
//
// A setting is a struct field with tags: its environment name, default, what is
// allowed and what it means. The same tags produce the error texts, the output
// of `castalia config` and docs/reference/config.md, so that the three cannot
// differ. A bad value stops the start with one line that names the variable,
// what was given and what is allowed; secrets are never shown. The package
// reads no environment by itself: it is handed in.
package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/spelling"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// Source says where a value came from.
type Source string

// The sources, weakest first. Load knows nothing of databases: see Use.
const (
	FromDefault     Source = "default"
	FromDatabase    Source = "database"
	FromFile        Source = "file"
	FromEnvironment Source = "environment"
	FromFlag        Source = "flag"
)

// Setting is one effective value, ready to print.
type Setting struct {
	Part    string
	Name    string
	Value   string // masked when Secret
	Default string
	Allowed string
	Kind    string   // text, number, boolean, duration, list or choice
	Choices []string // of a choice
	Doc     string
	Source  Source
	Secret  bool
	Machine bool // of the machine alone: Use leaves it as it is
}

// Input is what values are read from.
type Input struct {
	File  []byte            // YAML: NAME: value
	Env   []string          // NAME=value
	Flags map[string]string // NAME -> value
}

// Load fills dst, a pointer to a struct whose fields are parts (structs with
// tagged fields), and returns the effective settings in declaration order.
// Every bad value is reported, one line each.
//
// Names in the file and in flags that neither dst nor one of the extra parts
// (pointers to structs, by part name) knows are refused: a typing mistake must
// not pass silently. Extra parts are how plugins bring settings of their own.
func Load(dst any, in Input, extra ...Part) ([]Setting, error) {
	fromFile, err := parseFile(in.File)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for _, line := range in.Env {
		if name, value, ok := strings.Cut(line, "="); ok {
			env[name] = value
		}
	}
	l := loader{file: fromFile, env: env, flags: in.Flags, known: map[string]bool{}}
	root := reflect.ValueOf(dst).Elem()
	for i := range root.NumField() {
		l.part(root.Type().Field(i).Name, root.Field(i))
	}
	for _, p := range extra {
		l.part(p.Name, reflect.ValueOf(p.Into).Elem())
	}
	l.unknown()
	return l.settings, errors.Join(l.errs...)
}

// Part is a struct of settings that does not belong to the program itself.
type Part struct {
	Name string
	Into any // a pointer to a struct with tagged fields
}

func parseFile(text []byte) (map[string]string, error) {
	values := map[string]string{}
	if len(text) == 0 {
		return values, nil
	}
	var raw map[string]any
	if err := yamlfile.Unmarshal(text, &raw, 0); err != nil {
		return nil, fmt.Errorf("read configuration file: %w", err)
	}
	for name, value := range raw {
		switch v := value.(type) {
		case nil:
			values[name] = ""
		case []any:
			items := make([]string, len(v))
			for i, item := range v {
				items[i] = fmt.Sprint(item)
			}
			values[name] = strings.Join(items, ",")
		case map[string]any:
			return nil, fmt.Errorf("%s: given as a map in the configuration file, allowed is a single value or a list", name)
		default:
			values[name] = fmt.Sprint(v)
		}
	}
	return values, nil
}

type loader struct {
	file, env, flags map[string]string
	known            map[string]bool
	settings         []Setting
	errs             []error
}

func (l *loader) part(part string, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, ok := field.Tag.Lookup("env")
		if !ok {
			continue
		}
		l.known[name] = true
		text, source := l.lookup(name, field.Tag.Get("default"))
		set := Setting{
			Part: part, Name: name, Value: text, Source: source, Doc: field.Tag.Get("doc"),
			Default: field.Tag.Get("default"), Allowed: allowed(field), Kind: kind(field), Choices: choices(field),
			Secret: isSecret(field.Type) || field.Tag.Get("secret") == "true", Machine: field.Tag.Get("machine") == "true",
		}
		if err := assign(v.Field(i), field, text); err != nil {
			shown := strconv.Quote(show(v.Field(i), text))
			if set.Secret {
				shown = "a secret that does not fit"
			}
			l.errs = append(l.errs, fmt.Errorf("%s: given %s (from %s), allowed is %s", name, shown, source, set.Allowed))
		}
		if set.Value = show(v.Field(i), text); set.Secret && text != "" {
			set.Value = masked
		}
		l.settings = append(l.settings, set)
	}
}

// show is a value as people may see it.
func show(field reflect.Value, text string) string {
	switch field.Interface().(type) {
	case []string, Features, Networks:
		return maskList(text)
	}
	return Mask(text) // numbers too: what was given may be an address by mistake
}

// lookup treats an empty value as absent, because an unset variable in a
// compose file or unit arrives as an empty string.
func (l *loader) lookup(name, fallback string) (string, Source) {
	for _, from := range []struct {
		values map[string]string
		source Source
	}{{l.flags, FromFlag}, {l.env, FromEnvironment}, {l.file, FromFile}} {
		if text := strings.TrimSpace(from.values[name]); text != "" {
			return text, from.source
		}
	}
	return fallback, FromDefault
}

// unknown refuses names that no part knows. The environment is full of others'
// names, so it is not asked.
func (l *loader) unknown() {
	for where, values := range map[Source]map[string]string{FromFile: l.file, FromFlag: l.flags} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !l.known[name] {
				l.errs = append(l.errs, fmt.Errorf("%s: no such setting (from %s); did you mean %s?", name, where, l.near(name)))
			}
		}
	}
}

func (l *loader) near(name string) string {
	best, _ := spelling.Nearest(name, slices.Collect(maps.Keys(l.known)))
	return cmp.Or(best, "nothing")
}

func assign(v reflect.Value, field reflect.StructField, text string) error {
	if choices := field.Tag.Get("allowed"); choices != "" && text != "" && !slices.Contains(strings.Split(choices, "|"), text) {
		return errors.New("not one of the choices")
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Interface().(type) {
	case string:
		v.SetString(text)
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return err
		}
		v.SetBool(b)
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if low, ok := field.Tag.Lookup("min"); ok {
			if bound, _ := strconv.Atoi(low); n < bound {
				return errors.New("too small")
			}
		}
		if high, ok := field.Tag.Lookup("max"); ok {
			if bound, _ := strconv.Atoi(high); n > bound {
				return errors.New("too large")
			}
		}
		v.SetInt(int64(n))
	case time.Duration:
		d, err := ParseDuration(text)
		if err != nil {
			return err
		}
		v.SetInt(int64(d))
	case []string:
		var items []string
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		v.Set(reflect.ValueOf(items))
	default:
		return fmt.Errorf("setting of unknown type %s", v.Type())
	}
	return nil
}

// day is what a d counts in durations.
const day = 24 * time.Hour

// ParseDuration takes Go durations, whole days such as 90d, and the word "off", which is
// zero.
func ParseDuration(text string) (time.Duration, error) {
	if text == "off" || text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * day, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		return 0, errors.New("negative duration")
	}
	return d, err
}

// FormatDuration writes a duration as ParseDuration reads it, whole days as such.
func FormatDuration(d time.Duration) string {
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}

// explainer is implemented by setting types that can say what they allow.
type explainer interface{ Allowed() string }

func allowed(field reflect.StructField) string {
	if choices := field.Tag.Get("allowed"); choices != "" {
		return strings.Join(strings.Split(choices, "|"), " or ")
	}
	if e, ok := reflect.TypeAssert[explainer](reflect.New(field.Type)); ok {
		return e.Allowed()
	}
	switch reflect.Zero(field.Type).Interface().(type) {
	case bool:
		return "true or false"
	case int:
		low, high := field.Tag.Get("min"), field.Tag.Get("max")
		switch {
		case low != "" && high != "":
			return "a whole number from " + low + " to " + high
		case low != "":
			return "a whole number of at least " + low
		}
		return "a whole number"
	case time.Duration:
		return "a duration such as 90s, 15m, 24h or 90d, or off"
	case []string:
		return "a comma-separated list"
	}
	return "a text"
}
