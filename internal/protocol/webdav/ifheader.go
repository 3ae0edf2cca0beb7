package webdav

import (
	"errors"
	"strings"
)

// ErrIf says that an If header cannot be read.
var ErrIf = errors.New("malformed If header")

// maxConditions bounds an If header.
const maxConditions = 200

// Condition is about a lock or an entity tag of a resource.
type Condition struct {
	Not   bool
	Token string // of a lock, or
	Tag   string // an entity tag, with its quotes
}

// List is met when all its conditions are.
type List struct {
	// Resource is the address that the list is about; empty is that of the request.
	Resource   string
	Conditions []Condition
}

// If is an If header. It is met when one of its lists is.
type If []List

// Tokens returns the locks that the header names, which is how they are submitted.
func (f If) Tokens() map[string]bool {
	all := map[string]bool{}
	for _, l := range f {
		for _, c := range l.Conditions {
			if c.Token != "" {
				all[c.Token] = true
			}
		}
	}
	return all
}

// ParseIf reads an If header; an empty one has no lists.
func ParseIf(text string) (If, error) {
	var all If
	resource, tagged, conditions := "", false, 0
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		switch text[0] {
		case '<':
			uri, rest, ok := strings.Cut(text[1:], ">")
			if !ok || uri == "" || len(all) > 0 && !tagged {
				return nil, ErrIf
			}
			resource, tagged, text = uri, true, strings.TrimSpace(rest)
			if !strings.HasPrefix(text, "(") {
				return nil, ErrIf
			}
		case '(':
			list, rest, err := parseList(text[1:])
			if err != nil {
				return nil, err
			}
			if conditions += len(list); conditions > maxConditions {
				return nil, ErrIf
			}
			all, text = append(all, List{resource, list}), rest
		default:
			return nil, ErrIf
		}
	}
	return all, nil
}

// parseList reads conditions up to the closing parenthesis.
func parseList(text string) (list []Condition, rest string, err error) {
	for {
		text = strings.TrimLeft(text, " \t")
		if after, ok := strings.CutPrefix(text, ")"); ok {
			if len(list) == 0 {
				return nil, "", ErrIf
			}
			return list, after, nil
		}
		var c Condition
		if len(text) > 3 && strings.EqualFold(text[:3], "not") {
			c.Not, text = true, strings.TrimLeft(text[3:], " \t")
		}
		var ok bool
		switch {
		case strings.HasPrefix(text, "<"):
			c.Token, text, ok = strings.Cut(text[1:], ">")
			ok = ok && c.Token != ""
		case strings.HasPrefix(text, "["):
			c.Tag, text, ok = cutTag(text[1:])
		}
		if !ok || len(list) >= maxConditions {
			return nil, "", ErrIf
		}
		list = append(list, c)
	}
}

// cutTag reads an entity tag and the bracket behind it: a tag can have brackets.
func cutTag(text string) (tag, rest string, ok bool) {
	weak := strings.HasPrefix(text, "W/")
	quoted := strings.TrimPrefix(text, "W/")
	if !strings.HasPrefix(quoted, `"`) {
		return "", "", false
	}
	inner, rest, ok := strings.Cut(quoted[1:], `"`)
	if !ok || !strings.HasPrefix(rest, "]") {
		return "", "", false
	}
	tag = `"` + inner + `"`
	if weak {
		tag = "W/" + tag
	}
	return tag, rest[1:], true
}
