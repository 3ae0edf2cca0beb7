package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Bounds of what a page may signal.
const (
	maxSignal     = 96 << 10
	maxSDP        = 64 << 10
	maxCandidate  = 1 << 10
	maxMid        = 64
	maxCredential = 32 << 10
	// MaxMessage is the largest frame of the data channel, either way.
	MaxMessage = 16 << 10
	maxText    = 8000 // runes
)

func invalid(format string, args ...any) *fault.Error {
	return fault.Newf(fault.Invalid, format, args...).WithCode("invalid")
}

// decodeStrict reads one JSON object without fields that nobody knows.
func decodeStrict(data []byte, into any) *fault.Error {
	if len(data) > maxSignal {
		return invalid("the event must have at most %d bytes", maxSignal)
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return invalid("the event must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalid("the event cannot be read: %s", jsonTrouble(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("the event must be one JSON object")
	}
	if err := strictjson.Check(data, into); err != nil {
		return invalid("the event cannot be read: %s", err)
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

// offer is call_offer.
type offer struct {
	CallID      string `json:"callId"`
	SDP         string `json:"sdp"`
	Fingerprint string `json:"fingerprint"`
	Restart     bool   `json:"restart"`
	FrameKey    string `json:"frameKey"`
}

func parseOffer(data []byte) (offer, *fault.Error) {
	var o offer
	if err := decodeStrict(data, &o); err != nil {
		return o, err
	}
	switch {
	case o.SDP == "":
		return o, invalid("sdp should not be empty")
	case len(o.SDP) > maxSDP:
		return o, invalid("sdp must have at most %d bytes", maxSDP)
	}
	canonical, ok := canonicalFingerprint(o.Fingerprint)
	if !ok {
		return o, invalid("fingerprint must be sha-256 and 32 bytes in hexadecimal with colons")
	}
	o.Fingerprint = canonical
	found, err := offeredFingerprints(o.SDP)
	if err != nil {
		return o, err
	}
	for _, f := range found {
		if f != o.Fingerprint {
			return o, fault.New(fault.Invalid, "The offer has another fingerprint than the page says").WithCode(string(Mismatch))
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
			return nil, invalid("sdp has a fingerprint that is not sha-256")
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, invalid("sdp has no fingerprint")
	}
	return out, nil
}

// trickle is call_ice.
type trickle struct {
	CallID    string     `json:"callId"`
	Candidate *Candidate `json:"candidate"`
}

func parseTrickle(data []byte) (trickle, *fault.Error) {
	var t trickle
	if err := decodeStrict(data, &t); err != nil {
		return t, err
	}
	c := t.Candidate
	if c == nil {
		return t, nil
	}
	switch {
	case len(c.Candidate) > maxCandidate:
		return t, invalid("candidate must have at most %d bytes", maxCandidate)
	case strings.ContainsAny(c.Candidate, "\r\n\x00"):
		return t, invalid("candidate must be one line")
	case c.SDPMid != nil && len(*c.SDPMid) > maxMid, c.UsernameFragment != nil && len(*c.UsernameFragment) > 256:
		return t, invalid("candidate names a medium that cannot be")
	}
	return t, nil
}

// farewell is call_end.
type farewell struct {
	CallID string `json:"callId"`
	Reason string `json:"reason"`
}

func parseFarewell(data []byte) (farewell, *fault.Error) {
	var f farewell
	if err := decodeStrict(data, &f); err != nil {
		return f, err
	}
	return f, CheckReason(f.Reason)
}

var reasonForm = regexp.MustCompile(`^[a-z][a-z_]*$`)

// CheckReason refuses what is no reason to end a call; empty means hangup.
func CheckReason(text string) *fault.Error {
	if text != "" && (len(text) > maxReason || !reasonForm.MatchString(text)) {
		return invalid("reason must be at most %d small letters and underscores", maxReason)
	}
	return nil
}

// renewal is call_renew.
type renewal struct {
	CallID         string `json:"callId"`
	Invocation     string `json:"invocation"`
	UCANDelegation string `json:"ucanDelegation"`
}

func parseRenewal(data []byte) (renewal, *fault.Error) {
	var r renewal
	if err := decodeStrict(data, &r); err != nil {
		return r, err
	}
	switch {
	case r.Invocation == "" && r.UCANDelegation == "":
		return r, invalid("invocation should not be empty")
	case len(r.Invocation) > maxCredential || len(r.UCANDelegation) > maxCredential:
		return r, invalid("a credential must have at most %d bytes", maxCredential)
	}
	return r, nil
}

// remark is a frame of the data channel from the page.
type remark struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Muted *bool           `json:"muted"`
	T     json.RawMessage `json:"t"`
}

func parseRemark(data []byte) (remark, *fault.Error) {
	var m remark
	if len(data) > MaxMessage {
		return m, invalid("a frame must have at most %d bytes", MaxMessage)
	}
	if err := decodeStrict(data, &m); err != nil {
		return m, err
	}
	switch m.Type {
	case "text":
		m.Text = strings.TrimSpace(strings.ReplaceAll(m.Text, "\x00", ""))
		if m.Text == "" {
			return m, invalid("text should not be empty")
		}
		if utf8.RuneCountInString(m.Text) > maxText {
			return m, invalid("text must have at most %d characters", maxText)
		}
	case "mute":
		if m.Muted == nil {
			return m, invalid("muted must be a boolean value")
		}
	case "interrupt":
	case "ping":
		if len(m.T) > 64 {
			return m, invalid("t must have at most 64 bytes")
		}
	default:
		return m, invalid("type must be one of text, mute, interrupt, ping")
	}
	return m, nil
}

// Identity lets a page check whom it talks to.
type Identity struct {
	DID string `json:"did"`
	// PublicKey is the signing key as multibase, KeyID its name in the DID's document.
	PublicKey string `json:"publicKey"`
	KeyID     string `json:"keyId"`
	// Fingerprint is the transport certificate's, Agreement the public half of
	// the X25519 key that frame keys are made with.
	Fingerprint string `json:"fingerprint"`
	Agreement   string `json:"agreement"`
	Signature   string `json:"signature"`
}

// Statement is the text that the oracle signs for a call.
func Statement(callID, oracleDID, fingerprint, agreement string) []byte {
	return fmt.Appendf(nil, "castalia-call-v1\n%s\n%s\n%s\n%s\n", callID, oracleDID, fingerprint, agreement)
}

// identify signs what a page must know of a call. Signatures are deterministic,
// so that any node says the same.
func identify(s did.Signer, r Record) Identity {
	name := string(s.DID())
	key := s.Key().DID().ID()
	return Identity{
		DID: name, PublicKey: key, KeyID: name + "#" + key, Fingerprint: r.Fingerprint, Agreement: r.Agreement,
		Signature: base64.RawURLEncoding.EncodeToString(s.Sign(Statement(r.ID, name, r.Fingerprint, r.Agreement))),
	}
}
