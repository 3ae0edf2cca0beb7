package ussddialect_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
)

const good = `name: mine
request:
  method: POST
  fields: json
  session: session_id
  phone: msisdn
  code: code
  input: payload.response
  typed: newest
  start: {field: command, is: [initiate]}
  over: {field: command, is: [terminate, timeout]}
answer:
  media: application/json
  continue: '{"command": "continue", "id": "{{request.payload.request_id}}", "message": "{{text}}"}'
  end: '{"command": "terminate", "id": "{{request.payload.request_id}}", "message": "{{text}}"}'
`

const goodXML = `name: wasp
request: {method: POST, fields: xml, session: ussd.sessionid, phone: ussd.msisdn, input: ussd.msg, typed: newest, start: {field: ussd.type, is: ["1"]}, over: {field: ussd.type, is: ["3", "4"]}}
answer:
  media: text/xml
  continue: <ussd><type>2</type><msg>{{text}}</msg><id>{{request.ussd.sessionid}}</id></ussd>
  end: <ussd><type>3</type><msg>{{text}}</msg></ussd>
`

func parse(t testing.TB, source string) *ussddialect.Dialect {
	t.Helper()
	d, err := ussddialect.Parse("mine.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAFileThatCannotBeUsedSaysWhere, and what to write instead.
func TestAFileThatCannotBeUsedSaysWhere(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ from, to, want string }{
		{"name: mine", "name: Mine", "mine.yaml:1: name: write 2 to 32"},
		{"name: mine", "name: hubtel", `mine.yaml:1: name: "hubtel" is taken; choose another`},
		{"name: mine", "name: sessions", "is taken"},
		{"method: POST", "method: PUT", "mine.yaml:3: request.method: write GET or POST"},
		{"method: POST", "method: GET", "mine.yaml:4: request.fields: a GET has no body: write query"},
		{"fields: json", "fields: body", "mine.yaml:4: request.fields: write query, form, json or xml"},
		{"  session: session_id\n", "", "mine.yaml:2: request.session: write the name of the field"},
		{"  session: session_id\n", "  sesion: session_id\n", `mine.yaml:5: unknown key "sesion"; did you mean "session"?`},
		{"typed: newest", "typed: last", "mine.yaml:9: request.typed: write all"},
		{"typed: newest", "typed: all", "mine.yaml:10: request.start: leave it out"},
		{"typed: newest", "typed: newest\n  extension: 1", "mine.yaml:10: request.extension: leave"},
		{"is: [initiate]", "is: []", "mine.yaml:10: request.start.is: write the values"},
		{"is: [initiate]", "is: initiate", "mine.yaml:10:"},
		{"field: command, is: [initiate]", "field: a b, is: [initiate]", "mine.yaml:10: request.start.field: write a field's name"},
		{"media: application/json", "media: html", "mine.yaml:13: answer.media: write text/plain"},
		{"media: application/json", "media: text/xml", "mine.yaml:14: answer.continue: it is not XML"},
		{`'{"command": "continue"`, `'{"command": continue`, "mine.yaml:14: answer.continue: it is not JSON"},
		{`"command": "terminate"`, `"command": "continue"`, "mine.yaml:15: answer.end: it must differ"},
		{`"command": "terminate"`, `"command": "{{request.command}}"`, "mine.yaml:15: answer.end: it must differ"},
		{"{{text}}", "{{message}}", "mine.yaml:14: answer.continue: {{message}} is not known"},
		{`"message": "{{text}}"`, `"message": "hi"`, "it has {{text}} 0 times"},
		{"answer:", "answer: [", "mine.yaml:"},
		{good, "", "mine.yaml:1: name:"},
		{good, strings.Repeat("#", 70<<10), "mine.yaml:1:"},
	} {
		_, err := ussddialect.Parse("mine.yaml", []byte(strings.Replace(good, tc.from, tc.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q as %q: %v, want %s", tc.from, tc.to, err, tc.want)
		}
	}
}

func TestANewestInputIsRead(t *testing.T) {
	t.Parallel()
	d := parse(t, good)
	for _, tc := range []struct {
		body string
		want ussd.Request
		over bool
		rule string
	}{
		{
			body: `{"session_id":7,"msisdn":"255700000001","code":"149","command":"initiate","payload":{"request_id":1}}`,
			want: ussd.Request{SessionID: "7", Phone: "+255700000001", ServiceCode: "*149#", Start: true},
		},
		{
			body: `{"session_id":"7","msisdn":"255700000001","code":"149","command":"initiate","payload":{"response":"*149*1*2#"}}`,
			want: ussd.Request{SessionID: "7", Phone: "+255700000001", ServiceCode: "*149#", Start: true, Text: "1*2"},
		},
		{
			body: `{"session_id":"7","msisdn":"255700000001","code":"149","command":"continue","payload":{"response":2}}`,
			want: ussd.Request{SessionID: "7", Phone: "+255700000001", ServiceCode: "*149#", Text: "2"},
		},
		{
			body: `{"session_id":"7","msisdn":"255700000001","command":"timeout"}`,
			want: ussd.Request{SessionID: "7", Phone: "+255700000001", ServiceCode: "*0#"}, over: true,
		},
		{body: `{"session_id":"7","msisdn":"1","code":"149","command":"continue"}`, rule: "payload.response is required exactly once"},
		{body: `{"session_id":"7","session_id":"8","msisdn":"1"}`, rule: "session_id is required exactly once"},
		{body: `{"msisdn":"1"}`, rule: "session_id is required exactly once"},
		{body: `[]`, rule: "body must be a JSON object"},
		{body: `{} {}`, rule: "body must be a JSON object"},
		{body: `{"a":[[[[[[[[[1]]]]]]]]]}`, rule: "body must be a JSON object"},
		{body: "{\"a\":\"\xff\"}", rule: "body must be of UTF-8"},
	} {
		call, err := d.Read(ussddialect.Incoming{Media: "application/json; charset=utf-8", Body: []byte(tc.body)})
		if tc.rule != "" {
			if why, ok := errors.AsType[*ussd.InvalidError](err); !ok || !strings.HasPrefix(why.Error(), tc.rule) ||
				!fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v, want %s", tc.body, err, tc.rule)
			}
			continue
		}
		tc.want.Dialect, tc.want.Newest = "mine", true
		if err != nil || call.Request != tc.want || call.Over != tc.over {
			t.Errorf("%s: %+v, %v, want %+v", tc.body, call, err, tc.want)
		}
	}
	if _, err := d.Read(ussddialect.Incoming{Media: "text/plain", Body: []byte(`{}`)}); err == nil ||
		!strings.Contains(err.Error(), "Content-Type must be application/json") {
		t.Error(err)
	}
	// What the request had goes back as it came: a number as a number.
	call, _ := d.Read(ussddialect.Incoming{Body: []byte(`{"payload":{"request_id":12}}`)})
	if got := string(d.Answer(call, ussd.Answer{Text: "Say \"hi\" & <go>\n1. Yes"})); got != `{"command":"continue","id":12,"message":"Say \"hi\" \u0026 \u003cgo\u003e\n1. Yes"}` {
		t.Error(got)
	}
}

func TestEverythingTypedIsRead(t *testing.T) {
	t.Parallel()
	all, err := ussddialect.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ussddialect.Shipped("advanta")
	if err != nil {
		t.Fatal(err)
	}
	shared := parse(t, strings.Replace(strings.Replace(string(text), "typed: all", "typed: all\n  extension: 1", 1), "name: advanta", "name: shared", 1))
	whole := parse(t, strings.Replace(strings.Replace(string(text), "typed: all", "typed: all\n  dialled: true", 1), "name: advanta", "name: whole", 1))
	for _, tc := range []struct {
		d                        *ussddialect.Dialect
		code, input, kept, typed string
	}{
		{all[0], "*415%23", "", "*415#", ""},
		{all[0], "*415%23", "1*Ann+B", "*415#", "1*Ann B"},
		{all[0], "415", "1", "*415#", "1"},
		{shared, "*415%23", "33", "*415*33#", ""},
		{shared, "*415%23", "33*1*2", "*415*33#", "1*2"},
		{whole, "*415%23", "*415%23", "*415#", ""},
		{whole, "*415%23", "*415*33*1%23", "*415#", "33*1"},
		{whole, "*415%23", "1", "*415#", "1"},
	} {
		call, err := tc.d.Read(ussddialect.Incoming{Query: "SESSIONID=1&MSISDN=254726770792&USSDCODE=" + tc.code + "&INPUT=" + tc.input})
		want := ussd.Request{Dialect: tc.d.Name(), SessionID: "1", Phone: "+254726770792", ServiceCode: tc.kept, Text: tc.typed}
		if err != nil || call.Request != want {
			t.Errorf("%s %q: %+v, %v", tc.d.Name(), tc.input, call.Request, err)
		}
	}
	if _, err := shared.Read(ussddialect.Incoming{Query: "SESSIONID=1&MSISDN=2547&USSDCODE=*415%23&INPUT="}); err == nil || !strings.Contains(err.Error(), "INPUT must begin with the extension") {
		t.Error(err)
	}
	// An input that is missing is not an empty one, which would begin anew.
	if _, err := all[0].Read(ussddialect.Incoming{Query: "SESSIONID=1&MSISDN=2547&USSDCODE=*415%23"}); err == nil || !strings.Contains(err.Error(), "INPUT is required") {
		t.Error(err)
	}
}

func TestXMLIsRead(t *testing.T) {
	t.Parallel()
	d := parse(t, goodXML)
	call, err := d.Read(ussddialect.Incoming{Media: "text/xml", Body: []byte("<?xml version=\"1.0\"?>\n<ussd><msisdn>26481</msisdn>\n<sessionid>9&amp;</sessionid><type>1</type><msg>*5*7#</msg></ussd>")})
	if err != nil ||
		call.Request != (ussd.Request{
			Dialect: "wasp", SessionID: "9&", Phone: "+26481", ServiceCode: "*5#", Newest: true, Start: true,
		}) {
		t.Errorf("%+v %v", call, err)
	}
	if got := string(d.Answer(call, ussd.Answer{Text: "a<b"})); got != "<ussd><type>2</type><msg>a&lt;b</msg><id>9&amp;</id></ussd>" {
		t.Error(got)
	}
	for _, body := range []string{"", "<a/><b/>", "<!DOCTYPE a [<!ENTITY b \"c\">]><ussd/>", strings.Repeat("<a>", 9) + strings.Repeat("</a>", 9), "<ussd>&b;</ussd>"} {
		if _, err := d.Read(ussddialect.Incoming{Body: []byte(body)}); err == nil || !strings.Contains(err.Error(), "body must be XML") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestAFileTakesThePlaceOfAShippedOne(t *testing.T) {
	t.Parallel()
	all, err := ussddialect.Load(nil)
	if err != nil || strings.Join(ussddialect.Names(all), " ") != "advanta beem bonga crossgate hollatags" {
		t.Fatalf("%v %v", ussddialect.Names(all), err)
	}
	if _, err := ussddialect.Load([]string{t.TempDir() + "/none.yaml"}); err == nil {
		t.Error("a file that is not there is a dialect")
	}
}

// valid reports what an answer of the media type is.
func valid(media string, body []byte) bool {
	switch media {
	case "application/json":
		var v map[string]any
		return json.Unmarshal(body, &v) == nil && v["message"] != nil || v["session_msg"] != nil || v["payload"] != nil
	case "text/xml":
		in := xml.NewDecoder(strings.NewReader(string(body)))
		for {
			if _, err := in.Token(); err != nil {
				return errors.Is(err, io.EOF)
			}
		}
	}
	return strings.HasPrefix(string(body), "CON ") || strings.HasPrefix(string(body), "END ")
}

// TestAnyRequestHasAnAnswer: whatever is sent, what goes back is a valid continue
// or end of its dialect, and what is read passes the request's own rules or is
// refused by them.
func TestAnyRequestHasAnAnswer(t *testing.T) {
	t.Parallel()
	all, err := ussddialect.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, parse(t, good), parse(t, goodXML))
	seeds := []string{
		"SESSIONID=1&MSISDN=254726770792&USSDCODE=*415%23&INPUT=1*2", "session_id=1&session_msisdn=234&session_from=*1%23&session_msg=x&session_operation=begin",
		`{"session_id":7,"msisdn":"255700000001","code":"149","command":"initiate","payload":{"request_id":[1,{"a":null}],"response":"x"}}`,
		"<ussd><msisdn>26481</msisdn><sessionid>9&amp;</sessionid><type>1</type><msg>*5*7#</msg></ussd>", "",
	}
	r := rand.New(rand.NewPCG(22, 1))
	for range 40_000 {
		b := []byte(seeds[r.IntN(len(seeds))])
		for range r.IntN(4) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		b = b[:r.IntN(len(b)+1)]
		for _, d := range all {
			in := ussddialect.Incoming{Query: string(b), Body: b}
			call, err := d.Read(in)
			if err != nil && !fault.Is(err, fault.Invalid) {
				t.Fatalf("%s %q: %v", d.Name(), b, err)
			}
			for _, end := range []bool{false, true} {
				if body := d.Answer(call, ussd.Answer{Text: string(b), End: end}); !valid(d.Media(), body) {
					t.Fatalf("%s %q: %q", d.Name(), b, body)
				}
			}
		}
	}
}

// FuzzParse reads anything as a dialect. What is taken answers anything.
func FuzzParse(f *testing.F) {
	f.Add(good, "{}")
	f.Add(goodXML, "<a/>")
	for _, name := range []string{"advanta", "beem", "bonga", "crossgate", "hollatags"} {
		text, err := ussddialect.Shipped(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "a=b")
	}
	f.Fuzz(func(t *testing.T, source, body string) {
		d, err := ussddialect.Parse("x", []byte(source))
		if err != nil {
			if _, ok := errors.AsType[*ussddialect.IssueError](err); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		call, _ := d.Read(ussddialect.Incoming{Query: body, Body: []byte(body)})
		con, end := d.Answer(call, ussd.Answer{Text: body}), d.Answer(call, ussd.Answer{Text: body, End: true})
		if d.Media() == "application/json" && (!json.Valid(con) || !json.Valid(end)) {
			t.Fatalf("%q %q", con, end)
		}
		if d.Media() != "text/xml" && d.Media() != "application/xml" && string(con) == string(end) {
			t.Fatalf("an end like a continue: %q", con)
		}
	})
}
