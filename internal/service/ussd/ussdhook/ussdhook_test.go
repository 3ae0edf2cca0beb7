package ussdhook_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
)

func short(_, value string) bool { return len(value) <= 8 }

func TestAnswersAreReadWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	h := ussdhook.Hook{Take: []string{"price", "unit"}}
	got, err := h.Read([]byte(`{"price": 40.50, "unit":"bag", "other": {"a": [1]}}`), short)
	if err != nil || !maps.Equal(got, map[string]string{"price": "40.50", "unit": "bag"}) {
		t.Errorf("%v %v", got, err)
	}
	for body, want := range map[string]string{
		``: "JSON object", `null`: "JSON object", `[]`: "JSON object", `"x"`: "JSON object", `{"price":1,"unit":"a","unit":"b"}`: "JSON object",
		`{"price":1}`: `"unit"`, `{"price":1,"unit":null}`: `"unit"`, `{"price":1,"unit":{}}`: `"unit"`, `{"price":[1],"unit":"a"}`: `"price"`,
		`{"price":1,"unit":"secret-and-long"}`: `"unit" is longer`, `{"price":123456789,"unit":"a"}`: `"price" is longer`, `{"price":1,"unit":"a"} x`: "JSON object",
	} {
		got, err := h.Read([]byte(body), short)
		if err == nil || got != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v %v", body, got, err)
		}
	}
	if got, err := (ussdhook.Hook{}).Read([]byte("anything"), short); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

func TestWhatAStatusMeans(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][2]bool{
		0: {}, 200: {true}, 204: {true}, 302: {}, 400: {false, true},
		404: {false, true}, 422: {false, true}, 408: {}, 410: {}, 429: {}, 500: {}, 503: {},
	} {
		r := ussdhook.Reply{Status: status}
		if r.Answered() != want[0] || r.Refused() != want[1] {
			t.Errorf("%d: %t %t", status, r.Answered(), r.Refused())
		}
	}
}

func TestWhatACallComesTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		once   bool
		want   string
	}{
		{200, `{"a":"x"}`, false, "ok"},
		{200, `{}`, false, "failed"},
		{422, ``, false, "refused"},
		{422, ``, true, "refused"},
		{0, ``, false, "promised"},
		{503, ``, false, "promised"},
		{503, ``, true, "failed"},
		{410, ``, false, "failed"},
	} {
		h := ussdhook.Hook{Take: []string{"a"}, Once: c.once}
		if got, _, err := h.Settle(ussdhook.Reply{Status: c.status, Body: []byte(c.body)}, short); got != c.want ||
			(err != nil) != (c.body == "{}") {
			t.Errorf("%+v: %s %v", c, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"price":1,"unit":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		set, err := ussdhook.Hook{Take: []string{"price"}}.Read(body, short)
		if (err == nil) != (len(set) == 1) || len(set["price"]) > 8 {
			t.Errorf("%v %v", set, err)
		}
	})
}
