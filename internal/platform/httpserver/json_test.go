package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

func TestReadJSON(t *testing.T) {
	t.Parallel()
	type inner struct {
		Count int `json:"count"`
	}
	type target struct {
		Name string  `json:"name"`
		List []inner `json:"list"`
	}
	for name, tc := range map[string]struct {
		body, media string
		opts        []httpserver.JSONOption
		kind        fault.Kind
		want        string // part of the message; empty: no error
	}{
		"good":            {body: `{"name":"a","list":[{"count":1}]}`},
		"with charset":    {body: `{}`, media: "application/json; charset=utf-8"},
		"a +json type":    {body: `{}`, media: "application/merge-patch+json"},
		"form":            {body: `a=b`, media: "application/x-www-form-urlencoded", kind: fault.UnsupportedMedia, want: "application/json"},
		"form, any media": {body: `{"name":"a"}`, media: "text/plain", opts: []httpserver.JSONOption{httpserver.AnyMedia}},
		"empty":           {body: ``, kind: fault.Invalid, want: "empty"},
		"empty allowed":   {body: ``, opts: []httpserver.JSONOption{httpserver.AllowEmpty}},
		"cut":             {body: `{"name":`, kind: fault.Invalid, want: "Unexpected end"},
		"cut, allowed":    {body: `{"name":`, opts: []httpserver.JSONOption{httpserver.AllowEmpty}, kind: fault.Invalid, want: "Unexpected end"},
		"malformed":       {body: `{x}`, kind: fault.Invalid, want: "Malformed JSON at byte 2"},
		"wrong type":      {body: `{"name":7}`, kind: fault.Invalid, want: "name must be a string, not number"},
		"wrong inside":    {body: `{"list":[{"count":"x"}]}`, kind: fault.Invalid, want: "list.count must be a number, not string"},
		"not an object":   {body: `[]`, kind: fault.Invalid, want: "body must be an object, not array"},
		"unknown":         {body: `{"other":1}`},
		"unknown, strict": {body: `{"other":1}`, opts: []httpserver.JSONOption{httpserver.Strict}, kind: fault.Invalid, want: "property other should not exist"},
		"odd case":        {body: `{"Name":"a"}`},
		"odd, strict":     {body: `{"Name":"a"}`, opts: []httpserver.JSONOption{httpserver.Strict}, kind: fault.Invalid, want: "property Name should not exist"},
		"odd inside":      {body: `{"list":[{"Count":1}]}`, opts: []httpserver.JSONOption{httpserver.Strict}, kind: fault.Invalid, want: "property Count should not exist"},
		"exact, strict":   {body: `{"name":"a","list":[{"count":1}]}`, opts: []httpserver.JSONOption{httpserver.Strict}},
		"trailing":        {body: `{} {}`, kind: fault.Invalid, want: "Unexpected data after"},
		"trailing junk":   {body: `{}x`, kind: fault.Invalid, want: "Unexpected data after"},
		"trailing space":  {body: "{}\n "},
		"twice":           {body: `{"name":"a","name":"b"}`, kind: fault.Invalid, want: "property name must be there once"},
		"twice, folded":   {body: `{"name":"a","Name":"b"}`, kind: fault.Invalid, want: "property Name must be there once"},
		"twice inside":    {body: `{"list":[{"count":1,"count":1}]}`, kind: fault.Invalid, want: "property count must be there once"},
		"twice, unknown":  {body: `{"other":{"a":{"b":1,"b":2}}}`, kind: fault.Invalid, want: "property b must be there once"},
		"two in a map":    {body: `{"other":{"a":1,"A":2}}`},
		"too deep": {
			body: `{"other":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, kind: fault.Invalid, want: "nest",
		},
		"deep": {body: strings.Repeat("[", 100_000), kind: fault.Invalid, want: ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(tc.body))
		if tc.media != "" {
			r.Header.Set("Content-Type", tc.media)
		}
		var v target
		err := httpserver.ReadJSON(nil, r, &v, tc.opts...)
		switch {
		case tc.want == "" && tc.kind == fault.Internal:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !fault.Is(err, tc.kind) || !strings.Contains(fault.From(err).Message, tc.want):
			t.Errorf("%s: got %v, want %s with %q", name, err, tc.kind, tc.want)
		}
	}
}

func TestReadJSONBeyondTheLimit(t *testing.T) {
	t.Parallel()
	read := func(w http.ResponseWriter, r *http.Request) error {
		var v any
		return httpserver.ReadJSON(w, r, &v)
	}
	s := newServer(t, httpserver.Config{MaxBody: 20},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{route("POST", "/", read)}})
	for body, want := range map[string]int{
		`"ok"`: 200, `"` + strings.Repeat("x", 30) + `"`: 413, `"ok"` + strings.Repeat(" ", 30): 413,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body))
		r.ContentLength = -1
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%d bytes: got %d %s, want %d", len(body), w.Code, w.Body, want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	if err := httpserver.WriteJSON(w, http.StatusCreated, map[string]string{"a": "<&>"}); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusCreated || w.Body.String() != `{"a":"<&>"}` || w.Header().Get("Content-Length") != "11" {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	// What cannot be encoded is an error before anything is sent.
	w = httptest.NewRecorder()
	if err := httpserver.WriteJSON(w, http.StatusOK, func() {}); err == nil || w.Body.Len() != 0 {
		t.Errorf("got %v and %q", err, w.Body)
	}
}

func FuzzReadJSON(f *testing.F) {
	f.Add(`{"a":[1,2,{"b":null}]}`, true)
	f.Add(`{} x`, false)
	f.Add("\xff", true)
	f.Fuzz(func(t *testing.T, body string, strict bool) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body))
		var opts []httpserver.JSONOption
		if strict {
			opts = append(opts, httpserver.Strict)
		}
		var v struct {
			A []any          `json:"a"`
			B map[string]int `json:"b"`
		}
		if err := httpserver.ReadJSON(nil, r, &v, opts...); err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatalf("got %v of kind %s", err, fault.KindOf(err))
		}
	})
}
