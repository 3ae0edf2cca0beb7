// Package telemetry is how the program tells its operator what it does: a
// structured logger, a metrics registry and traces.
//
// It promises that secrets, tokens and telephone numbers never leave in clear,
// whoever logs them and under whatever key: every attribute passes one
// redactor. It keeps no global state: loggers, registries and tracers are
// values that are handed to whoever needs them, and a nil *Metrics or *Traces
// is switched off at no cost.
package telemetry

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"
)

// Config says how to log.
type Config struct {
	// Level is debug, info, warn or error; empty means info.
	Level string
	// Format is pretty or json; empty means pretty on a terminal and JSON elsewhere.
	Format string
}

// NewLogger returns a logger on w that redacts what it is given. An unknown
// level counts as info: configuration is checked before, with ParseLevel.
func NewLogger(w io.Writer, cfg Config) *slog.Logger {
	level, err := ParseLevel(cfg.Level)
	if err != nil {
		level = slog.LevelInfo
	}
	tty := isTerminal(w)
	if cfg.Format == "pretty" || cfg.Format == "" && tty {
		return slog.New(newPretty(w, level, tty))
	}
	return slog.New(redacting{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})})
}

// ParseLevel reads the name of a level; empty is info.
func ParseLevel(name string) (slog.Level, error) {
	if name == "" {
		return slog.LevelInfo, nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("parse log level %q: want debug, info, warn or error", name)
	}
	return level, nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Secret is a string that no formatter, logger or encoder shows. Reveal is the
// only way to the value.
type Secret string

const redacted = "[redacted]"

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return "telemetry.Secret(" + s.String() + ")" }

// Format hides the value from every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Fingerprint is a short keyed hash of s: it lets a log tell two values apart,
// or follow one, without saying what they are.
func Fingerprint(key []byte, s string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, s)
	return hex.EncodeToString(mac.Sum(nil)[:6])
}

// Phone is a telephone number that prints masked.
type Phone string

// String masks the number.
func (p Phone) String() string { return MaskPhone(string(p)) }

// LogValue masks the number.
func (p Phone) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MaskPhone keeps the country and the last two digits of a telephone number:
// +2547•••••01. What is too short to keep anything is hidden whole.
func MaskPhone(number string) string {
	if number == "" {
		return ""
	}
	digits := 0
	for i := range len(number) {
		if isDigit(number[i]) {
			digits++
		}
	}
	if digits != len(number) && (number[0] != '+' || digits != len(number)-1) {
		return redacted
	}
	head := 4
	if number[0] == '+' {
		head = 5
	}
	if len(number) < head+4 {
		return strings.Repeat("•", digits)
	}
	return number[:head] + strings.Repeat("•", len(number)-head-2) + number[len(number)-2:]
}
