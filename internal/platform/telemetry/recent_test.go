package telemetry_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func TestRecentRemembersRedactedLines(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "pretty"} {
		var out bytes.Buffer
		recent := &telemetry.Recent{}
		log := telemetry.NewLogger(&out, telemetry.Config{Format: format, Recent: recent})
		log.Debug("too small")
		log.Info("one", slog.String("token", "s3cret"), slog.String("phone", "+254700000001"))
		log.With(slog.String("part", "model")).Warn("two")
		log.Error("three")
		if out.Len() == 0 {
			t.Fatal("nothing was logged")
		}
		lines, more := recent.Lines(telemetry.Wanted{Level: slog.LevelDebug, Limit: 10}, time.Now())
		if len(lines) != 3 || more || !strings.Contains(string(lines[0]), `"one"`) ||
			!strings.Contains(string(lines[1]), `"part":"model"`) {
			t.Errorf("%s: %s, more %v", format, lines, more)
		}
		if text := string(lines[0]); strings.Contains(text, "s3cret") || strings.Contains(text, "+254700000001") {
			t.Errorf("%s: a secret is remembered: %s", format, text)
		}
		if lines, more = recent.Lines(telemetry.Wanted{Level: slog.LevelWarn, Limit: 1}, time.Now()); len(lines) != 1 ||
			!more || !strings.Contains(string(lines[0]), "three") {
			t.Errorf("%s: the newest warning: %s, more %v", format, lines, more)
		}
		if lines, _ = recent.Lines(telemetry.Wanted{Contains: "TWO", Limit: 9}, time.Now()); len(lines) != 1 {
			t.Errorf("%s: by a word: %s", format, lines)
		}
		if lines, _ = recent.Lines(telemetry.Wanted{Limit: 9}, time.Now().Add(2*time.Hour)); len(lines) != 0 {
			t.Errorf("%s: after two hours: %s", format, lines)
		}
	}
}

func TestRecentIsBounded(t *testing.T) {
	t.Parallel()
	recent := &telemetry.Recent{}
	log := telemetry.NewLogger(&bytes.Buffer{}, telemetry.Config{Format: "json", Recent: recent})
	filler := strings.Repeat("rain ", 200)
	for i := range 9000 { // twice what is remembered
		log.Info("line", slog.Int("number", i), slog.String("filler", filler))
	}
	lines, more := recent.Lines(telemetry.Wanted{Limit: 100_000}, time.Now())
	if len(lines) < 3000 || len(lines) > 4200 || more {
		t.Fatalf("%d lines are remembered, more %v", len(lines), more)
	}
	if last := string(lines[len(lines)-1]); !strings.Contains(last, `"number":8999`) {
		t.Errorf("the newest is %.80s", last)
	}
}
