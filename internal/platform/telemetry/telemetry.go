// Package telemetry is how the program tells its operator what it does: a
// structured logger, a metrics registry and traces.
//
// It promises that secrets, tokens and telephone numbers never leave in clear,
// whoever logs them and under whatever key: every attribute passes one
// redactor. It keeps no global state: loggers, registries and tracers are
// values that are handed to whoever needs them, and a nil *Metrics or *Traces
// is switched off at no cost.
//
// Decision: ADR 0024.
package telemetry

import (
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
	// Recent, when set, remembers what is logged.
	Recent *Recent
}

// NewLogger returns a logger on w that redacts what it is given. An unknown
// level counts as info: configuration is checked before, with ParseLevel.
func NewLogger(w io.Writer, cfg Config) *slog.Logger {
	level, err := ParseLevel(cfg.Level)
	if err != nil {
		level = slog.LevelInfo
	}
	tty := isTerminal(w)
	asJSON := func(w io.Writer) slog.Handler {
		return redacting{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})}
	}
	switch inPretty := cfg.Format == "pretty" || cfg.Format == "" && tty; {
	case inPretty && cfg.Recent != nil:
		return slog.New(both{newPretty(w, level, tty), asJSON(cfg.Recent)})
	case inPretty:
		return slog.New(newPretty(w, level, tty))
	case cfg.Recent != nil:
		return slog.New(asJSON(io.MultiWriter(cfg.Recent, w))) // one line for both: to write it is half of a quick request
	}
	return slog.New(asJSON(w))
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

const redacted = "[redacted]"

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
