package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"
)

// judge says what is wrong with a value of the field.
func (f *Field) judge(raw json.RawMessage) error {
	switch f.Type {
	case "boolean":
		var b *bool
		if json.Unmarshal(raw, &b) != nil || b == nil {
			return errors.New("must be true or false")
		}
	case "number", "integer":
		var n *float64
		if json.Unmarshal(raw, &n) != nil || n == nil {
			return errors.New("must be a number")
		}
		return f.judgeNumber(*n)
	case "array":
		var list []string
		if json.Unmarshal(raw, &list) != nil || list == nil {
			return errors.New("must be a list of texts")
		}
		return f.judgeList(list)
	default:
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			return errors.New("must be a text")
		}
		return f.judgeText(*s)
	}
	return nil
}

func (f *Field) judgeNumber(n float64) error {
	switch {
	case f.Type == "integer" && n != math.Trunc(n):
		return errors.New("must be a whole number")
	case f.Minimum != nil && n < *f.Minimum:
		return fmt.Errorf("must be at least %v", *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return fmt.Errorf("must be at most %v", *f.Maximum)
	}
	return nil
}

func (f *Field) judgeList(list []string) error {
	switch {
	case f.MinItems != nil && len(list) < *f.MinItems:
		return fmt.Errorf("must have at least %d choices", *f.MinItems)
	case f.MaxItems != nil && len(list) > *f.MaxItems:
		return fmt.Errorf("must have at most %d choices", *f.MaxItems)
	}
	options := f.options()
	for i, one := range list {
		if !slices.Contains(options, one) || slices.Contains(list[:i], one) {
			return fmt.Errorf("has %.80q, which is no choice, or is there twice", one)
		}
	}
	return nil
}

func (f *Field) judgeText(s string) error {
	length := utf8.RuneCountInString(s)
	switch {
	case f.MinLength != nil && length < *f.MinLength:
		return fmt.Errorf("must have at least %d characters", *f.MinLength)
	case f.MaxLength != nil && length > *f.MaxLength:
		return fmt.Errorf("must have at most %d characters", *f.MaxLength)
	}
	if options := f.options(); len(options) > 0 && !slices.Contains(options, s) {
		return fmt.Errorf("is %.80q, which is no choice", s)
	}
	var err error
	switch f.Format {
	case "email":
		_, err = mail.ParseAddress(s)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(s); err == nil && !u.IsAbs() {
			err = errors.New("it is relative")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "date-time":
		_, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		return fmt.Errorf("must be of the format %s", f.Format)
	}
	return nil
}
