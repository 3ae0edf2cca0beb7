package ussddialect

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// The types of bodies.
const (
	mediaText    = "text/plain"
	mediaForm    = "application/x-www-form-urlencoded"
	mediaJSON    = "application/json"
	mediaXML     = "application/xml"
	mediaTextXML = "text/xml"
)

// template is an answer with places for the screen and for what the request had.
type template struct {
	media string
	parts []part // of text and XML
	tree  any    // of JSON: parts where a string is, else as it is
}

// part is text, or a place.
type part struct {
	text  string
	place string // "text", or the path of a field of the request
	echo  bool
}

const (
	placeText   = "text"
	placePrefix = "request."
)

func parseTemplate(media, text string) (template, error) {
	t := template{media: media}
	if text == "" || len(text) > maxTemplate {
		return t, fmt.Errorf("write the answer, at most %d characters, with {{text}} where the screen goes", maxTemplate)
	}
	var err error
	switch media {
	case mediaJSON:
		err = t.parseJSON(text)
	case mediaXML, mediaTextXML:
		if t.parts, err = parseParts(text); err == nil {
			err = t.checkXML()
		}
	default:
		t.parts, err = parseParts(text)
	}
	if err != nil {
		return t, err
	}
	places := 0
	t.each(func(p part) {
		if p.place == placeText && !p.echo {
			places++
		}
	})
	if places != 1 {
		return t, fmt.Errorf("it has {{text}} %d times: write it once", places)
	}
	return t, nil
}

func parseParts(s string) ([]part, error) {
	var parts []part
	for s != "" {
		text, rest, found := strings.Cut(s, "{{")
		if text != "" {
			parts = append(parts, part{text: text})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}}")
		name = strings.TrimSpace(name)
		path, echo := strings.CutPrefix(name, placePrefix)
		switch {
		case !closed:
			return nil, errors.New("{{ has no }}")
		case !echo && name != placeText:
			return nil, fmt.Errorf("{{%s}} is not known: write {{text}}, or {{request.NAME}} for a field of the request", name)
		}
		parts = append(parts, part{place: path, echo: echo})
		s = after
	}
	return parts, nil
}

// parseJSON takes the template apart, so that whatever goes into its strings
// leaves it valid.
func (t *template) parseJSON(text string) error {
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	var tree any
	if err := in.Decode(&tree); err != nil {
		return errors.New("it is not JSON: write places inside quotes, as {\"message\": \"{{text}}\"}")
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the JSON value: remove it")
	}
	if _, object := tree.(map[string]any); !object {
		return errors.New("write a JSON object, as {\"message\": \"{{text}}\"}")
	}
	var err error
	t.tree, err = planted(tree)
	return err
}

// planted puts parts in place of the strings.
func planted(node any) (any, error) {
	var err error
	switch n := node.(type) {
	case string:
		return parseParts(n)
	case []any:
		for i := range n {
			if n[i], err = planted(n[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range n {
			if strings.Contains(name, "{{") {
				return nil, fmt.Errorf("%q: a member's name has no places", name)
			}
			if n[name], err = planted(n[name]); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}

func (t *template) checkXML() error {
	var b bytes.Buffer
	for _, p := range t.parts {
		if b.WriteString(p.text); p.text == "" {
			b.WriteString("x")
		}
	}
	in := xml.NewDecoder(&b)
	elements := 0
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.New("it is not XML: look for an element that is not closed")
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements++
		case xml.Comment:
			return errors.New("write no comment: what goes into it would not be escaped")
		case xml.Directive:
			return fmt.Errorf("write no <!%.20s>", token)
		}
	}
	for _, p := range t.parts {
		if strings.Contains(p.text, "<![CDATA[") {
			return errors.New("write no CDATA: places are escaped")
		}
	}
	if elements == 0 {
		return errors.New("it is not XML: write <response>{{text}}</response>")
	}
	return nil
}

// each calls fn for every part, in no order that counts.
func (t template) each(fn func(part)) {
	for _, p := range t.parts {
		fn(p)
	}
	var walk func(any)
	walk = func(node any) {
		switch n := node.(type) {
		case []part:
			for _, p := range n {
				fn(p)
			}
		case []any:
			for _, one := range n {
				walk(one)
			}
		case map[string]any:
			for _, one := range n {
				walk(one)
			}
		}
	}
	walk(t.tree)
}

// echoes lists the fields of the request that the answer repeats.
func (t template) echoes() []string {
	var paths []string
	t.each(func(p part) {
		if p.echo {
			paths = append(paths, p.place)
		}
	})
	slices.Sort(paths)
	return slices.Compact(paths)
}

// differs reports whether no answer of t can be one of other, whatever goes into
// its places.
func (t template) differs(other template) bool {
	switch t.media {
	case mediaText:
		if len(t.parts) == 0 || len(other.parts) == 0 {
			return false
		}
		a, b := t.parts[0].text, other.parts[0].text
		return !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a)
	case mediaJSON:
		return unlike(t.tree, other.tree)
	}
	return !bytes.Equal(t.render("", nil), other.render("", nil))
}

// unlike reports whether two trees differ where neither has a place.
func unlike(a, b any) bool {
	x, isMap := a.(map[string]any)
	y, isToo := b.(map[string]any)
	if isMap && isToo {
		for name := range x {
			if other, has := y[name]; !has || unlike(x[name], other) {
				return true
			}
		}
		return len(x) != len(y)
	}
	free := func(node any) bool {
		places := false
		template{tree: node}.each(func(p part) { places = places || p.text == "" })
		return !places
	}
	return free(a) && free(b) && !reflect.DeepEqual(a, b)
}

// render fills the places.
func (t template) render(text string, echo map[string]value) []byte {
	if t.tree != nil {
		out, err := json.Marshal(filled(t.tree, text, echo))
		if err != nil {
			return []byte("{}") // of strings, numbers and maps it is never an error
		}
		return out
	}
	var b bytes.Buffer
	for _, p := range t.parts {
		s := p.text
		if s == "" {
			s = text
			if p.echo {
				s = echo[p.place].text
			}
			if t.media != mediaText {
				_ = xml.EscapeText(&b, []byte(s)) // a buffer does not fail
				continue
			}
		}
		b.WriteString(s)
	}
	return b.Bytes()
}

func filled(node any, text string, echo map[string]value) any {
	switch n := node.(type) {
	case []part:
		if len(n) == 1 && n[0].echo && echo[n[0].place].raw != nil {
			return echo[n[0].place].raw // a number stays a number
		}
		var b strings.Builder
		for _, p := range n {
			switch {
			case p.echo:
				b.WriteString(echo[p.place].text)
			case p.place == placeText:
				b.WriteString(text)
			default:
				b.WriteString(p.text)
			}
		}
		return b.String()
	case []any:
		out := make([]any, len(n))
		for i := range n {
			out[i] = filled(n[i], text, echo)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(n))
		for name := range n {
			out[name] = filled(n[name], text, echo)
		}
		return out
	}
	return node
}
