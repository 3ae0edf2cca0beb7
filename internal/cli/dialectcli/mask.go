package dialectcli

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
)

// mask replaces what may be somebody's. Its key is forgotten with it.
type mask struct{ key [32]byte }

func newMask() *mask {
	m := &mask{}
	_, _ = rand.Read(m.key[:]) // never fails, by its contract
	return m
}

var (
	longDigits = regexp.MustCompile(`[0-9]{4,}`)
	letters    = regexp.MustCompile(`\pL`)
	codeHead   = regexp.MustCompile(`^\*[0-9]+`)
)

const (
	numberDigits  = 9 // as many digits are a telephone number
	countryDigits = 3 // of which so many may be seen
)

// value masks one field. A code's first part stays. Words stay where they may be
// signs of the gateway; among what was typed they do not.
func (m *mask) value(s string) string {
	head := codeHead.FindString(s)
	rest := longDigits.ReplaceAllStringFunc(s[len(head):], m.digits)
	if strings.ContainsAny(s, "* ") {
		rest = letters.ReplaceAllString(rest, "x")
	}
	return head + rest
}

// digits are others of the same number, the same ones for the same ones.
func (m *mask) digits(s string) string {
	h := hmac.New(sha256.New, m.key[:])
	_, _ = h.Write([]byte(s)) // a hash does not fail
	sum, out := h.Sum(nil), []byte(s)
	from := 0
	if len(s) >= numberDigits {
		from = countryDigits
	}
	for i := from; i < len(out); i++ {
		out[i] = '1' + sum[i%len(sum)]%9
	}
	return string(out)
}

func (m *mask) form(text string) string {
	values, err := url.ParseQuery(text)
	if err != nil {
		return ""
	}
	for _, all := range values {
		for i := range all {
			all[i] = m.value(all[i])
		}
	}
	return values.Encode()
}

func (m *mask) body(in ussddialect.Incoming) string {
	switch {
	case len(in.Body) == 0:
		return ""
	case strings.Contains(in.Media, "urlencoded"):
		return m.form(string(in.Body))
	case in.Body[0] == '{':
		return m.json(in.Body)
	case in.Body[0] == '<':
		return m.xml(in.Body)
	}
	return fmt.Sprintf("<%d bytes that are no form, no JSON object and no XML>", len(in.Body))
}

func (m *mask) json(body []byte) string {
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return "<not JSON>"
	}
	out, err := json.Marshal(m.tree(v))
	if err != nil {
		return "<not JSON>"
	}
	return string(out)
}

func (m *mask) tree(v any) any {
	switch v := v.(type) {
	case string:
		return m.value(v)
	case json.Number:
		return json.Number(m.value(v.String()))
	case []any:
		for i := range v {
			v[i] = m.tree(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = m.tree(v[name])
		}
	}
	return v
}

func (m *mask) xml(body []byte) string {
	in := xml.NewDecoder(bytes.NewReader(body))
	var b bytes.Buffer
	out := xml.NewEncoder(&b)
	for {
		token, err := in.RawToken()
		if err != nil {
			break
		}
		switch t := token.(type) {
		case xml.CharData:
			token = xml.CharData(m.value(string(t)))
		case xml.StartElement:
			for i := range t.Attr {
				t.Attr[i].Value = m.value(t.Attr[i].Value)
			}
			token = t
		case xml.Comment, xml.Directive:
			continue
		}
		if out.EncodeToken(token) != nil {
			return "<not XML>"
		}
	}
	if out.Flush() != nil {
		return "<not XML>"
	}
	return b.String()
}
