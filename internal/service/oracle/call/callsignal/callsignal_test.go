package callsignal

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

const goodPrint = "sha-256 AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB"

const goodSDP = "v=0\r\na=fingerprint:" + goodPrint + "\r\n"

func encoded(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestBadSignalsAreNamed is the table of what a page may get wrong.
func TestBadSignalsAreNamed(t *testing.T) {
	t.Parallel()
	offer := func(change map[string]any) string {
		body := map[string]any{"callId": "c", "sdp": goodSDP, "fingerprint": goodPrint}
		maps.Copy(body, change)
		return encoded(t, body)
	}
	parse := map[string]func([]byte) *fault.Error{
		"call_offer": func(d []byte) *fault.Error { _, err := ParseOffer(d); return err },
		"call_ice":   func(d []byte) *fault.Error { _, err := ParseTrickle(d); return err },
		"call_end":   func(d []byte) *fault.Error { _, err := ParseFarewell(d); return err },
		"call_renew": func(d []byte) *fault.Error { _, err := ParseRenewal(d); return err },
		"frame":      func(d []byte) *fault.Error { _, err := ParseRemark(d); return err },
	}
	for _, c := range []struct{ event, body, code, says string }{
		{"call_offer", offer(nil), "", ""},
		{"call_offer", offer(map[string]any{"fingerprint": strings.ToLower(goodPrint)}), "", ""},
		{"call_offer", `null`, "invalid", "the event must be a JSON object"},
		{"call_offer", `"x"`, "invalid", "the event must be a JSON object"},
		{"call_offer", `{"callId":7}`, "invalid", "the event cannot be read: callId must not be a number"},
		{"call_offer", offer(map[string]any{"who": 1}), "invalid", `the event cannot be read: unknown field "who"`},
		{"call_offer", offer(nil) + "{}", "invalid", "the event must be one JSON object"},
		{"call_offer", offer(map[string]any{"sdp": ""}), "invalid", "sdp should not be empty"},
		{"call_offer", offer(map[string]any{"sdp": strings.Repeat("x", maxSDP+1)}), "invalid", "sdp must have at most 65536 bytes"},
		{"call_offer", offer(map[string]any{"sdp": strings.Repeat("x", MaxSignal+1)}), "invalid", "the event must have at most 98304 bytes"},
		{"call_offer", offer(map[string]any{"sdp": "v=0\r\n"}), "invalid", "sdp has no fingerprint"},
		{"call_offer", offer(map[string]any{"sdp": "a=fingerprint:sha-1 AB:CD"}), "invalid", "sdp has a fingerprint that is not sha-256"},
		{"call_offer", offer(map[string]any{"fingerprint": "sha-1 AB"}), "invalid", "fingerprint must be sha-256 and 32 bytes in hexadecimal with colons"},
		{"call_offer", offer(map[string]any{"fingerprint": ""}), "invalid", "fingerprint must be sha-256 and 32 bytes in hexadecimal with colons"},
		{"call_offer", offer(map[string]any{"sdp": goodSDP + strings.Replace(goodSDP, "AB", "CD", 1)}), "fingerprint_mismatch", "The offer has another fingerprint than the page says"},
		{"call_ice", `{"callId":"c","candidate":null}`, "", ""},
		{"call_ice", `{"callId":"c","candidate":{"candidate":"candidate:1 1 udp 1 192.0.2.1 1 typ host","sdpMid":"0","sdpMLineIndex":0}}`, "", ""},
		{"call_ice", `{"callId":"c","candidate":"x"}`, "invalid", "the event cannot be read: candidate must not be a string"},
		{"call_ice", `{"callId":"c","candidate":{"candidate":"a\nb"}}`, "invalid", "candidate must be one line"},
		{"call_ice", `{"callId":"c","candidate":{"candidate":"` + strings.Repeat("x", maxCandidate+1) + `"}}`, "invalid", "candidate must have at most 1024 bytes"},
		{"call_ice", `{"callId":"c","candidate":{"candidate":"x","sdpMid":"` + strings.Repeat("x", maxMid+1) + `"}}`, "invalid", "candidate names a medium that cannot be"},
		{"call_ice", `{"callId":"c","candidate":{"candidate":"x","sdpMLineIndex":-1}}`, "invalid", "the event cannot be read: candidate.sdpMLineIndex must not be a number -1"},
		{"call_end", `{"callId":"c"}`, "", ""},
		{"call_end", `{"callId":"c","reason":"I am Bored!"}`, "invalid", "reason must be at most 64 small letters and underscores"},
		{"call_renew", `{"callId":"c"}`, "invalid", "invocation should not be empty"},
		{"call_renew", `{"callId":"c","invocation":"` + strings.Repeat("x", maxCredential+1) + `"}`, "invalid", "a credential must have at most 32768 bytes"},
		{"frame", `{"type":"text","text":"` + strings.Repeat("é", MaxText+1) + `"}`, "invalid", "text must have at most 8000 characters"},
		{"frame", `{"type":"text","text":" \u0000 "}`, "invalid", "text should not be empty"},
		{"frame", `{"type":"ping","t":"` + strings.Repeat("x", 64) + `"}`, "invalid", "t must have at most 64 bytes"},
		{"frame", `{"type":"interrupt"}`, "", ""},
	} {
		err := parse[c.event]([]byte(c.body))
		code, says := "", ""
		if err != nil {
			code, says = err.Code, err.Message
		}
		if code != c.code || says != c.says {
			t.Errorf("%s %.80s: %s %q, want %s %q", c.event, c.body, code, says, c.code, c.says)
		}
	}
}

// FuzzSignal reads what a page may send over its socket.
func FuzzSignal(f *testing.F) {
	f.Add([]byte(`{"callId":"c","sdp":` + encoded(f, goodSDP) + `,"fingerprint":"` + goodPrint + `"}`))
	f.Add([]byte(`{"callId":"c","candidate":{"candidate":"candidate:1 1 udp 1 192.0.2.1 1 typ host","sdpMid":"0","sdpMLineIndex":0}}`))
	f.Add([]byte(`{"callId":"c","reason":"hangup"}`))
	f.Add([]byte(`{"callId":"c","invocation":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := ParseOffer(data); err == nil && (len(o.SDP) > maxSDP || !fingerprintForm.MatchString(o.Fingerprint) ||
			!strings.Contains(o.SDP, "a=fingerprint:")) {
			t.Errorf("%q is an offer", data)
		}
		if c, err := ParseTrickle(data); err == nil && c.Candidate != nil &&
			(len(c.Candidate.Candidate) > maxCandidate || strings.Contains(c.Candidate.Candidate, "\n")) {
			t.Errorf("%q is a candidate", data)
		}
		if e, err := ParseFarewell(data); err == nil && len(e.Reason) > maxReason {
			t.Errorf("%q is a farewell", data)
		}
		if r, err := ParseRenewal(data); err == nil && r.Invocation == "" && r.UCANDelegation == "" {
			t.Errorf("%q is a renewal", data)
		}
	})
}

// FuzzRemark reads what a page may send over its data channel.
func FuzzRemark(f *testing.F) {
	for _, s := range []string{`{"type":"text","text":"hi"}`, `{"type":"mute","muted":true}`, `{"type":"interrupt"}`, `{"type":"ping","t":1}`, `[]`, `{"type":"ping","t":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseRemark(data)
		if err != nil {
			if err.Kind != fault.Invalid || err.Message == "" || len(err.Message) > 400 {
				t.Errorf("%q is refused with %v", data, err)
			}
			return
		}
		if m.Type == "text" && m.Text == "" || m.Type == "mute" && m.Muted == nil {
			t.Errorf("%q was accepted", data)
		}
		if _, err := json.Marshal(map[string]any{"type": "pong", "t": m.T}); err != nil {
			t.Errorf("%q cannot be answered: %v", data, err)
		}
	})
}
