package ussdhttp

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzPlain holds the short way to read a request to the decoder: what it reads is the same,
// and what the decoder refuses it does not read.
func FuzzPlain(f *testing.F) {
	for _, raw := range []string{
		`{"sessionId":"s1","serviceCode":"*2233#","phoneNumber":"+254700000001","text":""}`,
		" {\n\t\"text\" : \"1*2\" , \"sessionId\":\"é\" } \r\n",
		`{}`, `{"text":"1",}`, `{"text":"1"}}`, `{"text":"1" "text":"2"}`, `{"text":"1","text":"2"}`, `{"Text":"1"}`,
		`{"text":"a\u0031"}`, `{"te\u0078t":"1"}`, `{"text":1}`, `{"text":null}`, `{"text":"1","more":"x"}`, `["text","1"]`, `{"text":"`,
		"{\"text\":\"a\nb\"}", "{\"text\":\"\x7f\"}", "\ufeff{\"text\":\"1\"}", "{\"text\":\"1\"}\x00",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !utf8.Valid(raw) {
			return // such bodies come no further than readRaw
		}
		var short, long SessionRequest
		if !short.plain(raw) {
			return
		}
		if err := decodeJSON(raw, &long); err != nil || !exact(raw) {
			t.Fatalf("%q was read, and is none: %v", raw, err)
		}
		if diff := cmp.Diff(long, short); diff != "" {
			t.Errorf("%q: %s", raw, diff)
		}
	})
}

// TestPlainReadsWhatGatewaysSend has the short way taken where it is meant to be.
func TestPlainReadsWhatGatewaysSend(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"sessionId":"s1","serviceCode":"*2233#","phoneNumber":"+254700000001","text":"1*2"}`: true,
		`{"sessionId": "s1", "text": ""}`: true,
		`{"text":"a\"b"}`:                 false,
	} {
		var in SessionRequest
		if got := in.plain([]byte(raw)); got != want {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}
