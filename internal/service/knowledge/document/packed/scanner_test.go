package packed_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/packed"
)

// scan writes down what a Scanner meets, texts in one piece.
func scan(data []byte) ([]string, error) {
	var out []string
	text := ""
	flush := func() {
		if text != "" {
			out = append(out, fmt.Sprintf("%q", text))
		}
		text = ""
	}
	for s := packed.Scan(data, 1000); ; {
		more, err := s.Next()
		if err != nil || !more {
			flush()
			return out, err
		}
		switch {
		case s.Start() != "":
			flush()
			out = append(out, fmt.Sprintf("<%s %q>", s.Start(), s.Attr("val")))
		case s.End() != "":
			flush()
			out = append(out, "</"+s.End()+">")
		default:
			text += strings.ReplaceAll(strings.ReplaceAll(s.Text(), "\r\n", "\n"), "\r", "\n")
		}
	}
}

// standard does the same with encoding/xml.
func standard(data []byte) ([]string, error) {
	var out []string
	text := ""
	flush := func() {
		if text != "" {
			out = append(out, fmt.Sprintf("%q", text))
		}
		text = ""
	}
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	for depth := 0; ; {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			flush()
			if depth != 0 {
				return out, io.ErrUnexpectedEOF
			}
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			flush()
			value := ""
			if i := slices.IndexFunc(t.Attr, func(a xml.Attr) bool { return a.Name.Local == "val" }); i >= 0 {
				value = t.Attr[i].Value
			}
			out = append(out, fmt.Sprintf("<%s %q>", t.Name.Local, value))
			depth++
		case xml.EndElement:
			flush()
			out = append(out, "</"+t.Name.Local+">")
			if depth--; depth < 0 {
				return out, io.ErrUnexpectedEOF
			}
		case xml.CharData:
			text += string(t)
		}
	}
}

const sample = "\xef\xbb\xbf" + `<?xml version="1.0"?><!-- <a> --><w:a xmlns:w="x" w:val='1 &gt; "0"'><b/>text &amp; &#x41;&#66;<![CDATA[<raw>&]]><c val="/" ></c
></w:a>`

func TestScanner(t *testing.T) {
	t.Parallel()
	got, err := scan([]byte(sample))
	want := []string{`<a "1 > \"0\"">`, `<b "">`, "</b>", `"text & AB<raw>&"`, `<c "/">`, "</c>", "</a>"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	for text, want := range map[string]error{
		"<a>":    document.ErrDamaged,
		"</a>":   document.ErrDamaged,
		"<a b='": document.ErrDamaged,
		"<!-- x": document.ErrDamaged,
		"<a>&x;": document.ErrDamaged,
		"<a>&;":  document.ErrDamaged,
		"<>":     document.ErrDamaged,
		`<!DOCTYPE x [<!ENTITY a "b>">]><a>&a;</a>`: document.ErrDamaged,
		strings.Repeat("<a>", 1001):                 packed.ErrTooDeep,
		`<!DOCTYPE x [<!ENTITY a "b>">]><a/>`:       nil,
	} {
		if _, err := scan([]byte(text)); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%.40s: %v, want %v", text, err, want)
		}
	}
}

// FuzzScanner holds the Scanner to encoding/xml, wherever that reads all.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`<a val="x&#10;y"><b:c>&lt;</b:c></a>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := scan(data)
		want, standardErr := standard(data)
		if standardErr != nil || bytes.Contains(data, []byte("<!")) {
			return
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}
