package form_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/form"
)

const booking = `{"type":"object","properties":{
	"who":{"type":"string","title":"Name","minLength":2,"maxLength":10,"x-secret":"left out"},
	"beds":{"type":"integer","minimum":1,"maximum":3,"default":9},
	"price":{"type":"number","format":"date-time","default":8.64e15},
	"breakfast":{"type":"boolean","default":true},
	"room":{"type":"string","enum":["sea","hill"],"enumNames":["By the sea","On the hill"]},
	"extras":{"type":"array","maxItems":2,"items":{"anyOf":[{"const":"towel","title":"A towel"},{"const":"key"}]}},
	"mail":{"type":"string","format":"email"},"from":{"type":"string","format":"date"}
},"required":["who","beds"]}`

func TestFormsKeepWhatPagesDraw(t *testing.T) {
	t.Parallel()
	f, err := form.Parse(json.RawMessage(booking))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if strings.Contains(text, "secret") || strings.Contains(text, `"default":9`) ||
		strings.Contains(text, "date-time") || !strings.Contains(text, `"default":true`) {
		t.Errorf("form: %s", text)
	}
	last := -1
	for _, name := range []string{"who", "beds", "price", "breakfast", "room", "extras", "mail", "from"} {
		at := strings.Index(text, `"`+name+`":{`)
		if at <= last {
			t.Errorf("%s is out of its place: %s", name, text)
		}
		last = at
	}
	again, err := form.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(again); err != nil || string(second) != text {
		t.Errorf("read again: %s %v", second, err)
	}
}

func TestFormsThatCannotBeDrawn(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"a list":           `[]`,
		"no object":        `{"type":"string"}`,
		"an object inside": `{"type":"object","properties":{"a":{"type":"object"}}}`,
		"a free list":      `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`,
		"a name twice":     `{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"number"}}}`,
		"no name":          `{"type":"object","properties":{"":{"type":"string"}}}`,
		"what is missing":  `{"type":"object","properties":{},"required":["a"]}`,
		"large":            `{"type":"object","properties":{"a":{"type":"string","title":"` + strings.Repeat("x", form.MaxForm) + `"}}}`,
		"properties wrong": `{"type":"object","properties":[1]}`,
	} {
		if f, err := form.Parse(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: taken as %+v", name, f)
		}
	}
}

func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	f, err := form.Parse(json.RawMessage(booking))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(json.RawMessage(`{"who":"Asha","beds":2,"price":1.5,"breakfast":false,"room":"sea","extras":["key"],"mail":"a@b.example","from":"2026-11-17"}`)); err != nil {
		t.Error(err)
	}
	for said, names := range map[string]string{
		`{"who":"Asha"}`:                                 "beds",
		`{"who":"A","beds":1}`:                           "who",
		`{"who":"Somebody long","beds":1}`:               "who",
		`{"who":null,"beds":1}`:                          "who",
		`{"who":"Asha","beds":1.5}`:                      "beds",
		`{"who":"Asha","beds":4}`:                        "beds",
		`{"who":"Asha","beds":"1"}`:                      "beds",
		`{"who":"Asha","beds":1,"breakfast":"yes"}`:      "breakfast",
		`{"who":"Asha","beds":1,"room":"cellar"}`:        "room",
		`{"who":"Asha","beds":1,"extras":["cat"]}`:       "extras",
		`{"who":"Asha","beds":1,"extras":["key","key"]}`: "extras",
		`{"who":"Asha","beds":1,"mail":"nobody"}`:        "mail",
		`{"who":"Asha","beds":1,"from":"tomorrow"}`:      "from",
		`{"who":"Asha","beds":1,"more":1}`:               "more",
		`{"who":"Asha","who":"Juma","beds":1}`:           "",
		`[]`:                                             "", `null`: "", ``: "",
	} {
		if err := f.Check(json.RawMessage(said)); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v", said, err)
		}
	}
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(booking), []byte(`{"who":"Asha","beds":2}`))
	f.Fuzz(func(t *testing.T, raw, said []byte) {
		parsed, err := form.Parse(raw)
		if err != nil {
			return
		}
		out, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		again, err := form.Parse(out)
		if err != nil {
			t.Fatalf("%s became %s: %v", raw, out, err)
		}
		if (parsed.Check(said) == nil) != (again.Check(said) == nil) {
			t.Errorf("%s is judged twice by %s", said, out)
		}
	})
}

// A form that is kept can be read: what it grows by counts.
func TestFormsThatGrowAreRefused(t *testing.T) {
	t.Parallel()
	describe := func(n int) json.RawMessage {
		list := make([]string, 150)
		for i := range list {
			list[i] = strconv.Quote(strconv.Itoa(i) + strings.Repeat("<", n))
		}
		return json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","enum":[` + strings.Join(list, ",") + `]}}}`)
	}
	for n, kept := range map[int]bool{30: true, 200: false} {
		f, err := form.Parse(describe(n))
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Encode()
		if (err == nil) != kept {
			t.Errorf("%d: %v", n, err)
		}
		if _, again := form.Parse(out); kept && again != nil {
			t.Errorf("%d: %v", n, again)
		}
	}
}
