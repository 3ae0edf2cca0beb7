package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

type inner struct {
	Key  string `json:"key"`
	Also string `json:"also"`
}

type embedded struct {
	Deep *inner `json:"deep"`
}

type outer struct {
	embedded

	Name  string            `json:"name"`
	One   inner             `json:"one"`
	Many  []inner           `json:"many"`
	Named map[string]*inner `json:"named"`
	Free  map[string]any    `json:"free"`
	Raw   json.RawMessage   `json:"raw"`
	Any   any               `json:"any"`
	Bare  inner
}

// members writes an object with n members of their own and some text behind them.
func members(n int, more string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":%d,`, i, i)
	}
	return "{" + b.String() + more + "}"
}

func TestAMemberComesOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, twice string
	}{
		{"plain", `{"name":"a","one":{"key":"k","also":"l"},"many":[{"key":"a"},{"key":"b"}]}`, ""},
		{"empty", `{}`, ""},
		{"null", `null`, ""},
		{"a text that looks like a member", `{"name":"\"name\":1,","raw":["name","name"]}`, ""},
		{"same names in different objects", `{"one":{"key":"a"},"bare":{"key":"b"},"named":{"a":{"key":"x"},"b":{"key":"y"}}}`, ""},
		{"a name and its values inside", `{"raw":{"raw":{"raw":1}}}`, ""},
		{"behind an inner object", `{"name":"a","one":{"name":1},"also":1,"also2":2}`, ""},
		{"exactly", `{"name":"a","name":"b"}`, "name"},
		{"exactly, unknown", `{"x":1,"x":1}`, "x"},
		{"with an object between", `{"one":{"key":"a"},"name":"x","one":{}}`, "one"},
		{"in another case", `{"name":"a","NAME":"b"}`, "NAME"},
		{"with letters that fold", `{"key":1,"one":{"Key":"a","` + "\u212a" + `ey":"b"}}`, "\u212aey"},
		{"escaped", `{"name":"a","n\u0061me":"b"}`, "name"},
		{"escaped in another case", `{"name":"a","\u004eame":"b"}`, "Name"},
		{"bytes that are no UTF-8", "{\"raw\":{\"\xff\":1,\"\xfe\":2}}", "\ufffd"},
		{"in a list", `{"many":[{"key":"a"},{"key":"a","Key":"b"}]}`, "Key"},
		{"in a map's value", `{"named":{"a":{"key":"a","KEY":"b"}}}`, "KEY"},
		{"in an embedded struct", `{"deep":{"key":"a","KEY":"b"}}`, "KEY"},
		{"in a field without a tag", `{"bare":{"key":"a","KEY":"b"}}`, "KEY"},
		{"of a map", `{"named":{"a":{},"a":{}}}`, "a"},
		{"of a map in two cases", `{"named":{"a":{},"A":{}},"free":{"x":1,"X":2}}`, ""},
		{"of JSON in two cases", `{"raw":{"x":1,"X":2},"any":[{"y":1,"Y":2}]}`, ""},
		{"of JSON", `{"raw":[[{"x":1,"x":2}]]}`, "x"},
		{"of any", `{"any":{"y":{"z":1,"z":1}}}`, "z"},
		{"of unknown members", `{"whatever":{"z":{"z":1,"z":1}}}`, "z"},
		{"of unknown members in two cases", `{"whatever":{"z":{"z":1,"Z":1}}}`, ""},
		{"among many", members(50, `"other":1`), ""},
		{"among many, twice", members(50, `"m7":1`), "m7"},
		{"among many, late", members(50, `"new":1,"new":1`), "new"},
		{"among many, in another case", members(50, `"M49":1`), "M49"},
		{"among just as many as are compared", members(16, `"m0":1`), "m0"},
		{"long", `{"` + strings.Repeat("a", 100) + `":1,"` + strings.Repeat("a", 100) + `":1}`, strings.Repeat("a", 64) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var into outer
			err := strictjson.Unmarshal([]byte(c.text), &into)
			var twice *strictjson.DuplicateError
			switch {
			case c.twice == "" && err != nil:
				t.Fatalf("%s: %v", c.text, err)
			case c.twice != "" && (!errors.As(err, &twice) || twice.Name != c.twice):
				t.Fatalf("%s: got %v, want %q twice", c.text, err, c.twice)
			}
		})
	}
}

// Where it is asked for, members of structs are spelt as their fields, also inside
// others; those of maps are as they are.
func TestNamesAreExact(t *testing.T) {
	t.Parallel()
	type target struct {
		embedded
		*inner
		Plain  int
		Named  string                     `json:"named,omitempty"`
		Map    map[string]int             `json:"map"`
		Values []struct{ X int }          `json:"values"`
		Raw    json.RawMessage            `json:"raw"`
		Deep   map[string]struct{ Y int } `json:"deep"`
	}
	for text, fine := range map[string]bool{
		`{"named":"a","Plain":1,"map":{"Named":1,"X":2},"values":[{"X":1}],"raw":{"x":1},"deep":{"q":{"Y":1}}}`: true,
		`{"Named":"a"}`: false, `{"plain":1}`: false, `{"values":[{"x":1}]}`: false, `{"deep":{"q":{"y":1}}}`: false, `{"\u004eamed":1}`: false,
		`{"\u006eamed":"a"}`: true, `{"none":1}`: false,
	} {
		err := strictjson.CheckNames([]byte(text), &target{})
		if named, ok := errors.AsType[*strictjson.NameError](err); ok == fine || !fine && named.Error() == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOtherErrorsAreThoseOfTheDecoder(t *testing.T) {
	t.Parallel()
	var into outer
	var syntax *json.SyntaxError
	if err := strictjson.Unmarshal([]byte(`{"name":`), &into); !errors.As(err, &syntax) {
		t.Errorf("half a text: %v", err)
	}
	var wrong *json.UnmarshalTypeError
	if err := strictjson.Unmarshal([]byte(`{"name":1,"name":2}`), &into); !errors.As(err, &wrong) {
		t.Errorf("a wrong type: %v", err)
	}
	deep := strings.Repeat("[", strictjson.MaxDepth+1) + strings.Repeat("]", strictjson.MaxDepth+1)
	var v any
	if err := strictjson.Unmarshal([]byte(deep), &v); !errors.Is(err, strictjson.DepthError{}) {
		t.Errorf("too deep: %v", err)
	}
	if err := strictjson.Unmarshal([]byte(deep[1:len(deep)-1]), &v); err != nil {
		t.Errorf("just as deep as may be: %v", err)
	}
}

// FuzzCheck compares with a slow reader that walks token by token.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		`{"name":"a","NAME":"b"}`, `{"one":{"key":"a","Key":"b"},"raw":{"a":1,"A":2}}`, `[{"x":1,"x":2}]`, `{"n\u0061me":1,"name":2}`,
		"{\"raw\":{\"\xff\":1,\"\xfe\":2}}", `{"named":{"a":{"key":1,"KEY":2}}}`, members(20, `"M3":1`), `{"any":"\\\"","any":[}`, `"`, `{"`, `]]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<12 {
			return
		}
		exact := strictjson.Check(text, nil)
		folded := strictjson.Check(text, &outer{})
		if !json.Valid(text) || errors.Is(exact, strictjson.DepthError{}) {
			return
		}
		if want := slowDuplicate(t, text); (exact != nil) != want {
			t.Fatalf("%q: Check says %v, a slow reader %v", text, exact, want)
		}
		if exact != nil && folded == nil {
			t.Fatalf("%q: %v, but not in a struct", text, exact)
		}
	})
}

// slowDuplicate reports whether an object of a valid text has a member twice.
func slowDuplicate(t *testing.T, text []byte) bool {
	t.Helper()
	type open struct {
		object, name bool
		seen         map[string]bool
	}
	var stack []*open
	value := func() { // a value ended: a name comes next
		if n := len(stack); n > 0 {
			stack[n-1].name = stack[n-1].object
		}
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		d.UseNumber()
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			stack = append(stack, &open{
				object: token == json.Delim('{'), name: token == json.Delim('{'), seen: map[string]bool{},
			})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
			value()
			continue
		}
		if n := len(stack); n > 0 && stack[n-1].name {
			name, _ := token.(string)
			if stack[n-1].seen[name] {
				return true
			}
			stack[n-1].seen[name] = true
			stack[n-1].name = false
			continue
		}
		value()
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	small := []byte(`{"name":"harvest","one":{"key":"k","also":"l"}}`)
	messages := []byte(`{"name":"chat","many":[` +
		strings.TrimSuffix(strings.Repeat(`{"key":"user","also":"`+strings.Repeat("When does the clinic open? ", 20)+`"},`, 200), ",") + `]}`)
	wide := []byte(members(5000, `"name":"x"`))
	for _, c := range []struct {
		name string
		text []byte
	}{{"small", small}, {"messages", messages}, {"wide", wide}} {
		b.Run(c.name+"/encoding", func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := json.Unmarshal(c.text, &outer{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/strict", func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := strictjson.Unmarshal(c.text, &outer{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestTextsCostTheirSize: a text of which every character is escaped was searched to
// its end for each of them, which takes hours for these.
func TestTextsCostTheirSize(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	for name, text := range map[string]string{
		"escapes":        `{"a":"` + strings.Repeat(`\n`, size/2) + `"}`,
		"code points":    `{"a":"` + strings.Repeat(`\u00e9`, size/6) + `"}`,
		"quotes":         `{"a":"` + strings.Repeat(`\"`, size/2) + `"}`,
		"no end":         `{"a":"` + strings.Repeat(`\n`, size/2),
		"escaped name":   `{"` + strings.Repeat(`\n`, size/2) + `":1}`,
		"texts":          `[` + strings.Repeat(`"\n",`, size/5) + `1]`,
		"backslashes":    `{"a":"` + strings.Repeat(`\\`, size/2) + `"}`,
		"escapes, names": `{"` + strings.Repeat(`\n`, size/4) + `":1,"` + strings.Repeat(`\n`, size/4) + `x":1}`,
	} {
		done := make(chan error, 1)
		go func() { done <- strictjson.Check([]byte(text), nil) }()
		select {
		case err := <-done:
			if err != nil && name != "no end" {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: still at it", name)
		}
	}
}
