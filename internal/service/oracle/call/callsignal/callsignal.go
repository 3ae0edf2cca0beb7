// Package callsignal reads what pages signal about calls: events of the socket and
// frames of the data channel.
//
// It promises that whatever is sent is bounded and strict (one object, no field that
// nobody knows, no number where a text belongs), and that a refusal says what is wrong in
// the page's own words. It knows nothing of calls.
package callsignal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Bounds of what a page may signal.
const (
	// MaxSignal is the largest event.
	MaxSignal     = 96 << 10
	maxReason     = 64
	maxSDP        = 64 << 10
	maxCandidate  = 1 << 10
	maxMid        = 64
	maxCredential = 32 << 10
	// MaxMessage is the largest frame of the data channel, either way.
	MaxMessage = 16 << 10
	// MaxText is how many letters may be said at once.
	MaxText = 8000
)

// Invalid is the refusal of what a page sent.
func Invalid(format string, args ...any) *fault.Error {
	return fault.Newf(fault.Invalid, format, args...).WithCode("invalid")
}

// decodeStrict reads one JSON object without fields that nobody knows.
func decodeStrict(data []byte, into any) *fault.Error {
	if len(data) > MaxSignal {
		return Invalid("the event must have at most %d bytes", MaxSignal)
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return Invalid("the event must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return Invalid("the event cannot be read: %s", jsonTrouble(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return Invalid("the event must be one JSON object")
	}
	if err := strictjson.Check(data, into); err != nil {
		return Invalid("the event cannot be read: %s", err)
	}
	return nil
}

// jsonTrouble is a decoder's error without Go's names in it.
func jsonTrouble(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s must not be a %s", wrong.Field, wrong.Value)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if len(text) > 200 || !utf8.ValidString(text) {
		return "it is not valid JSON"
	}
	return text
}

// fingerprintForm is the only form that is taken: the one that browsers use.
var fingerprintForm = regexp.MustCompile(`^sha-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}$`)

// canonicalFingerprint brings a fingerprint to that form, or fails.
func canonicalFingerprint(text string) (string, bool) {
	if len(text) > 128 {
		return "", false
	}
	algorithm, digest, _ := strings.Cut(strings.TrimSpace(text), " ")
	out := strings.ToLower(algorithm) + " " + strings.ToUpper(strings.TrimSpace(digest))
	return out, fingerprintForm.MatchString(out)
}

// Offer is call_offer.
type Offer struct {
	CallID      string `json:"callId"`
	SDP         string `json:"sdp"`
	Fingerprint string `json:"fingerprint"`
	Restart     bool   `json:"restart"`
	FrameKey    string `json:"frameKey"`
}

// ParseOffer reads call_offer.
func ParseOffer(data []byte) (Offer, *fault.Error) {
	var o Offer
	if err := decodeStrict(data, &o); err != nil {
		return o, err
	}
	switch {
	case o.SDP == "":
		return o, Invalid("sdp should not be empty")
	case len(o.SDP) > maxSDP:
		return o, Invalid("sdp must have at most %d bytes", maxSDP)
	}
	canonical, ok := canonicalFingerprint(o.Fingerprint)
	if !ok {
		return o, Invalid("fingerprint must be sha-256 and 32 bytes in hexadecimal with colons")
	}
	o.Fingerprint = canonical
	found, err := offeredFingerprints(o.SDP)
	if err != nil {
		return o, err
	}
	for _, f := range found {
		if f != o.Fingerprint {
			return o, fault.New(fault.Invalid, "The offer has another fingerprint than the page says").WithCode("fingerprint_mismatch")
		}
	}
	return o, nil
}

// offeredFingerprints are those of an offer, which must have one.
func offeredFingerprints(sdp string) ([]string, *fault.Error) {
	var out []string
	for line := range strings.SplitSeq(sdp, "\n") {
		value, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), "a=fingerprint:")
		if !ok {
			continue
		}
		f, ok := canonicalFingerprint(value)
		if !ok {
			return nil, Invalid("sdp has a fingerprint that is not sha-256")
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, Invalid("sdp has no fingerprint")
	}
	return out, nil
}

// Trickle is call_ice.
type Trickle struct {
	CallID    string                `json:"callId"`
	Candidate *oracle.CallCandidate `json:"candidate"`
}

// ParseTrickle reads call_ice.
func ParseTrickle(data []byte) (Trickle, *fault.Error) {
	var t Trickle
	if err := decodeStrict(data, &t); err != nil {
		return t, err
	}
	c := t.Candidate
	if c == nil {
		return t, nil
	}
	switch {
	case len(c.Candidate) > maxCandidate:
		return t, Invalid("candidate must have at most %d bytes", maxCandidate)
	case strings.ContainsAny(c.Candidate, "\r\n\x00"):
		return t, Invalid("candidate must be one line")
	case c.SDPMid != nil && len(*c.SDPMid) > maxMid, c.UsernameFragment != nil && len(*c.UsernameFragment) > 256:
		return t, Invalid("candidate names a medium that cannot be")
	}
	return t, nil
}

// Farewell is call_end.
type Farewell struct {
	CallID string `json:"callId"`
	Reason string `json:"reason"`
	// Fingerprint is that of the page's last offer: a page that the call was taken from
	// ends nothing. Empty is whoever has it.
	Fingerprint string `json:"fingerprint"`
}

// ParseFarewell reads call_end.
func ParseFarewell(data []byte) (Farewell, *fault.Error) {
	var f Farewell
	if err := decodeStrict(data, &f); err != nil {
		return f, err
	}
	var err *fault.Error
	if f.Fingerprint, err = CheckFingerprint(f.Fingerprint); err != nil {
		return f, err
	}
	return f, CheckReason(f.Reason)
}

// CheckFingerprint brings a fingerprint to its one form; empty is none.
func CheckFingerprint(text string) (string, *fault.Error) {
	canonical, ok := canonicalFingerprint(text)
	switch {
	case text == "":
		return "", nil
	case !ok:
		return "", Invalid("fingerprint must be sha-256 and 32 bytes in hexadecimal with colons")
	}
	return canonical, nil
}

var reasonForm = regexp.MustCompile(`^[a-z][a-z_]*$`)

// CheckReason refuses what is no reason to end a call; empty means hangup.
func CheckReason(text string) *fault.Error {
	if text != "" && (len(text) > maxReason || !reasonForm.MatchString(text)) {
		return Invalid("reason must be at most %d small letters and underscores", maxReason)
	}
	return nil
}

// Renewal is call_renew.
type Renewal struct {
	CallID         string `json:"callId"`
	Invocation     string `json:"invocation"`
	UCANDelegation string `json:"ucanDelegation"`
}

// ParseRenewal reads call_renew.
func ParseRenewal(data []byte) (Renewal, *fault.Error) {
	var r Renewal
	if err := decodeStrict(data, &r); err != nil {
		return r, err
	}
	switch {
	case r.Invocation == "" && r.UCANDelegation == "":
		return r, Invalid("invocation should not be empty")
	case len(r.Invocation) > maxCredential || len(r.UCANDelegation) > maxCredential:
		return r, Invalid("a credential must have at most %d bytes", maxCredential)
	}
	return r, nil
}

// Remark is a frame of the data channel from the page.
type Remark struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Muted *bool           `json:"muted"`
	T     json.RawMessage `json:"t"`
}

// ParseRemark reads a frame of the data channel.
func ParseRemark(data []byte) (Remark, *fault.Error) {
	var m Remark
	if len(data) > MaxMessage {
		return m, Invalid("a frame must have at most %d bytes", MaxMessage)
	}
	if err := decodeStrict(data, &m); err != nil {
		return m, err
	}
	switch m.Type {
	case "text":
		m.Text = strings.TrimSpace(strings.ReplaceAll(m.Text, "\x00", ""))
		if m.Text == "" {
			return m, Invalid("text should not be empty")
		}
		if utf8.RuneCountInString(m.Text) > MaxText {
			return m, Invalid("text must have at most %d characters", MaxText)
		}
	case "mute":
		if m.Muted == nil {
			return m, Invalid("muted must be a boolean value")
		}
	case "interrupt":
	case "ping":
		if len(m.T) > 64 {
			return m, Invalid("t must have at most 64 bytes")
		}
	default:
		return m, Invalid("type must be one of text, mute, interrupt, ping")
	}
	return m, nil
}
