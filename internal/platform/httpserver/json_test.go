package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
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
		"many":    {body: `{"list":[` + strings.Repeat(`{},`, 9_998) + `{}]}`},
		"a crowd": {body: `{"list":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, kind: fault.Invalid, want: "more than 20000 values"},
		"a page":  {body: `{"name":"` + strings.Repeat(`{,[`, 10_000) + `"}`},
		"deep":    {body: strings.Repeat("[", 100_000), kind: fault.Invalid, want: ""},
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

// TestACrowdIsNotDecoded counts what a body of very many values makes the reader ask
// for. It counts what the whole process asks for, so nothing runs beside it.
func TestACrowdIsNotDecoded(t *testing.T) {
	body := `{"list":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`
	for name, into := range map[string]any{"an item": &struct{ List []struct{ ID, Path string } }{}, "anything": new(any)} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := httpserver.ReadJSON(nil, r, into)
		runtime.ReadMemStats(&after)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if asked := after.TotalAlloc - before.TotalAlloc; asked > uint64(8*len(body)) { // it grew into its buffer
			t.Errorf("%s: %d bytes make the reader ask for %d", name, len(body), asked)
		}
	}
}

// TestRoutesSayHowManyValues mounts one that takes more and one that takes fewer.
func TestRoutesSayHowManyValues(t *testing.T) {
	t.Parallel()
	read := func(w http.ResponseWriter, r *http.Request) error {
		var v any
		if err := httpserver.ReadJSON(w, r, &v); err != nil {
			return err
		}
		return httpserver.WriteJSON(w, http.StatusOK, true)
	}
	accepting := func(path string, most int) httpserver.Route {
		return httpserver.Route{Method: "POST", Pattern: path, Auth: httpserver.Public, MaxValues: most, Handler: read}
	}
	s := newServer(t, httpserver.Config{}, httpserver.Surface{
		Name: "test", Routes: []httpserver.Route{accepting("/usual", 0), accepting("/few", 3), accepting("/more", 30_000)},
	})
	for _, c := range []struct {
		path   string
		zeros  int
		status int
	}{
		{"/usual", 20_000, 200}, {"/usual", 20_001, 400}, {"/few", 3, 200}, {"/few", 4, 400}, {"/more", 30_000, 200}, {"/more", 30_001, 400},
	} {
		body := "[" + strings.Repeat("0,", c.zeros-1) + "0]"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", c.path, strings.NewReader(body)))
		if w.Code != c.status {
			t.Errorf("%d values at %s: %d %s", c.zeros, c.path, w.Code, w.Body)
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
