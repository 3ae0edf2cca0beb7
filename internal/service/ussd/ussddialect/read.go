package ussddialect

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// Incoming is what a gateway sent.
type Incoming struct {
	Query string // as it stands in the address
	Media string // the content type
	Body  []byte
}

// Call is a request that was read as far as it could be.
type Call struct {
	Request ussd.Request
	// Over says that the gateway only tells that the session has ended.
	Over bool
	echo map[string]value
}

// value is a field of a request.
type value struct {
	text string
	raw  json.RawMessage // of JSON, as it stood there
	many bool            // it came twice: nobody knows which one is meant
}

// The bounds of a body.
const (
	maxFields = 256
	maxDepth  = 8
)

const ruleOnce = "is required exactly once"

// Read takes a request apart. The call is usable for an answer also when there is
// an error, which is an ussd.InvalidError.
func (d *Dialect) Read(in Incoming) (Call, error) {
	fields, err := d.fields(in)
	call := Call{echo: fields, Request: ussd.Request{Dialect: d.src.Name}}
	if err != nil {
		return call, err
	}
	return d.read(call)
}

func (d *Dialect) read(call Call) (Call, error) {
	r, q := &d.src.Request, &call.Request
	get := func(path string) (string, error) {
		v, ok := call.echo[path]
		if !ok || v.many {
			return "", &ussd.InvalidError{Field: path, Rule: ruleOnce}
		}
		return v.text, nil
	}
	says := func(s *sign) bool { return s != nil && slices.Contains(s.Is, call.echo[s.Field].text) }
	var err error
	if q.SessionID, err = get(r.Session); err != nil {
		return call, err
	}
	if q.Phone, err = get(r.Phone); err != nil {
		return call, err
	}
	q.Phone = ussdnumber.E164(q.Phone)
	q.ServiceCode = ussdnumber.NoCode
	code := ""
	call.Over, q.Start = says(r.Over), says(r.Start)
	if r.Code != "" && !call.Over {
		if code, err = get(r.Code); err != nil {
			return call, err
		}
		q.ServiceCode = ussdnumber.ServiceCode(code)
	}
	input, err := get(r.Input)
	if err != nil && !q.Start && !call.Over {
		return call, err
	}
	if r.Sequence != "" {
		number, err := get(r.Sequence)
		if err != nil {
			return call, err
		}
		if q.Sequence, err = strconv.Atoi(number); err != nil || q.Sequence < 0 || q.Sequence > 1<<20 {
			return call, &ussd.InvalidError{Field: r.Sequence, Rule: "must be a number"}
		}
	}
	q.Newest, q.Text = r.Typed == typedNewest, input
	switch {
	case q.Start:
		q.ServiceCode, q.Text = ussdnumber.Dialled(input, code)
	case !q.Newest:
		if q.Text, err = d.typed(q, input); err != nil {
			return call, err
		}
	}
	return call, nil
}

// typed is what was typed in the session, without what belongs to the code.
func (d *Dialect) typed(q *ussd.Request, input string) (string, error) {
	r := &d.src.Request
	if r.Dialled {
		inner := strings.TrimSuffix(input, "#")
		if rest, ok := strings.CutPrefix(inner, strings.TrimSuffix(q.ServiceCode, "#")); ok &&
			(rest == "" || rest[0] == '*') {
			input = strings.TrimPrefix(rest, "*")
		}
	}
	for range r.Extension {
		first, rest, _ := strings.Cut(input, "*")
		code := strings.TrimSuffix(q.ServiceCode, "#") + "*" + first + "#"
		if !ussdnumber.ValidServiceCode(code) {
			return "", &ussd.InvalidError{Field: r.Input, Rule: "must begin with the extension of the code"}
		}
		q.ServiceCode, input = code, rest
	}
	return input, nil
}

// Answer writes the next screen, or the last one.
func (d *Dialect) Answer(call Call, a ussd.Answer) []byte {
	if a.End {
		return d.end.render(a.Text, call.echo)
	}
	return d.goOn.render(a.Text, call.echo)
}

// fields reads those fields that the dialect knows.
func (d *Dialect) fields(in Incoming) (map[string]value, error) {
	wrong := func(rule string) error { return &ussd.InvalidError{Field: "body", Rule: rule} }
	found := collector{want: func(path string) bool {
		return d.wanted[path] || d.echoed[path]
	}, values: map[string]value{}}
	if media := d.BodyMedia(); media != "" {
		given, _, _ := strings.Cut(in.Media, ";")
		given = strings.ToLower(strings.TrimSpace(given))
		if given == mediaTextXML {
			given = mediaXML
		}
		if given != "" && given != media {
			return found.values, &ussd.InvalidError{Field: "Content-Type", Rule: "must be " + media}
		}
	}
	if !utf8.Valid(in.Body) {
		return found.values, wrong("must be of UTF-8")
	}
	switch d.src.Request.Fields {
	case fieldsJSON:
		if err := found.readJSON(in.Body); err != nil {
			return found.values, wrong("must be a JSON object, with no more than a gateway says")
		}
	case fieldsXML:
		if err := found.readXML(in.Body); err != nil {
			return found.values, wrong("must be XML, with no more than a gateway says")
		}
	case fieldsForm:
		if err := found.readForm(string(in.Body)); err != nil {
			return found.values, wrong("must be a form")
		}
	default:
		if err := found.readForm(in.Query); err != nil || !utf8.ValidString(in.Query) {
			return found.values, &ussd.InvalidError{Field: "query", Rule: "must be fields, joined by &"}
		}
	}
	return found.values, nil
}

// collector keeps the fields that are wanted.
type collector struct {
	want   func(string) bool
	values map[string]value
	seen   int
}

var errTooMuch = errors.New("ussddialect: too many fields, or too deep")

func (c *collector) add(path string, v value) error {
	if c.seen++; c.seen > maxFields {
		return errTooMuch
	}
	if !c.want(path) {
		return nil
	}
	_, v.many = c.values[path]
	c.values[path] = v
	return nil
}

func (c *collector) readForm(text string) error {
	if strings.Count(text, "&") > maxFields {
		return errTooMuch
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return err
	}
	for name, all := range values {
		for _, one := range all {
			if !utf8.ValidString(one) {
				return errTooMuch
			}
			if err := c.add(name, value{text: one}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collector) readJSON(body []byte) error {
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber()
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return errors.New("ussddialect: not an object")
	}
	if err := c.object(in, "", 1); err != nil {
		return err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("ussddialect: something behind the object")
	}
	return nil
}

// object reads what follows a {.
func (c *collector) object(in *json.Decoder, prefix string, depth int) error {
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errTooMuch
		}
		if err := c.member(in, prefix+name, depth); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

func (c *collector) member(in *json.Decoder, path string, depth int) error {
	token, err := in.Token()
	if err != nil {
		return err
	}
	v := value{}
	switch t := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			return errTooMuch
		}
		if t == '{' {
			return c.object(in, path+".", depth+1)
		}
		for n := 0; in.More(); n++ {
			if err := c.member(in, path+"."+strconv.Itoa(n), depth+1); err != nil {
				return err
			}
		}
		_, err := in.Token()
		return err
	case nil:
		return nil // as if it were not there
	case string:
		v.text = t
	case json.Number:
		v.text = t.String()
	case bool:
		v.text = strconv.FormatBool(t)
	}
	if v.raw, err = json.Marshal(token); err != nil {
		return err
	}
	return c.add(path, v)
}

// readXML reads elements without elements: a/b is the path a.b.
func (c *collector) readXML(body []byte) error {
	in := xml.NewDecoder(bytes.NewReader(body))
	var path []string
	var text strings.Builder
	leaf, roots := false, 0
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.Directive:
			return errTooMuch // no document type, no entities
		case xml.StartElement:
			if len(path) == 0 {
				roots++
			}
			if len(path) == maxDepth {
				return errTooMuch
			}
			path, leaf = append(path, t.Name.Local), true
			text.Reset()
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			if leaf {
				if err := c.add(strings.Join(path, "."), value{text: strings.TrimSpace(text.String())}); err != nil {
					return err
				}
			}
			path, leaf = path[:len(path)-1], false
		}
	}
	if roots != 1 {
		return errors.New("ussddialect: not one document")
	}
	return nil
}
