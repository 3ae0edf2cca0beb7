package telemetry_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func TestRedactText(t *testing.T) {
	t.Parallel()
	car := base64.StdEncoding.EncodeToString([]byte("\x3a\xa2eroots\x81\xd8\x2a\x58\x25\x00\x01\x71\x12\x20 and then the rest of the car file"))
	hex64, appKey := strings.Repeat("9f86d081", 8), strings.Repeat("ab2cdefghi", 4)
	for in, want := range map[string]string{
		"":                                    "",
		"nothing to see":                      "nothing to see",
		"dialled +254712345601 today":         "dialled +2547••••••01 today",
		"+254712345601":                       "+2547••••••01",
		"%2B254712345601":                     "%2B2547••••••01",
		"tel:+254712345601":                   "tel:+2547••••••01",
		"tel:254712345601":                    "tel:2547••••••01",
		"from=0712345601 to=x":                "from=0712••••01 to=x",
		"00254712345601":                      "0025••••••••01",
		"x+254712345601":                      "x+2547••••••01",
		"(+254712345601)":                     "(+2547••••••01)",
		"+254712345601th":                     "+2547••••••01th",
		"2+2":                                 "2+2",
		"+1234567 is short":                   "+1234567 is short",
		"+1234567890123456 is long":           "+1234567890123456 is long",
		"at 1763222400000 ms":                 "at 1763222400000 ms",
		"Authorization: Bearer abc.def-ghi_j": "Authorization: Bearer [redacted]",
		"bearer  abcdefghijkl":                "bearer [redacted]",
		"bearer of news":                      "bearer of news",
		"key cak_" + appKey + ".":             "key [redacted].",
		"u:cak_" + appKey:                     "u:[redacted]",
		"cut cak_" + appKey[:20]:              "cut [redacted]",
		"a cak_ is a prefix":                  "a cak_ is a prefix",
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:cak_"+appKey)): "Authorization: Basic [redacted]",
		"basic authentication is off": "basic authentication is off",
		"token " + car + " end":       "token [redacted] end",
		"m" + car:                     "[redacted]",
		"jwt eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJ4In0.c2ln": "jwt [redacted]",
		"key " + hex64:               "key 9f86d0…[redacted]",
		strings.Repeat("Ab9+", 30):   "[redacted]",
		strings.Repeat("Ab9+", 3000): "[redacted]",
		"eyJ" + strings.Repeat("abc", 5) + strings.Repeat(".ab", 500) + " end": "[redacted] end",
		// What belongs in a log stays.
		"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK":                                      "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
		"bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi":                                   "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
		"01a1e009-869f-7352-88a7-53e81d5dd996":                                                          "01a1e009-869f-7352-88a7-53e81d5dd996",
		"/home/user/projects/castalia/internal/platform/telemetry/redact_and_more_text/file_test.go:12": "/home/user/projects/castalia/internal/platform/telemetry/redact_and_more_text/file_test.go:12",
		"2026-11-15T16:00:00+0300":                                                                      "2026-11-15T16:00:00+0300",
	} {
		if got := telemetry.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMaskPhone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "+254712345601": "+2547••••••01", "254712345601": "2547••••••01", "12345": "•••••", "+1234567": "•••••••", "not a number": "[redacted]", "+": "",
	} {
		if got := telemetry.MaskPhone(in); got != want {
			t.Errorf("MaskPhone(%q) = %q, want %q", in, got, want)
		}
	}
}

// text is an attribute under a key that we would not write ourselves.
func text(key, value string) slog.Attr { return slog.String(key, value) }

type leaky struct{ Deep string }

type resolver struct{ s string }

func (r resolver) LogValue() slog.Value { return slog.StringValue(r.s) }

// Whoever logs a secret, however, it does not come out.
func TestLoggerRedacts(t *testing.T) {
	t.Parallel()
	const number = "+254712345601"
	for name, attr := range map[string]slog.Attr{
		"key":            slog.String("access_token", "hunter2"),
		"camel case":     text("accessToken", "hunter2"),
		"header":         text("Authorization", "hunter2"),
		"pin":            slog.Int("pin", 313378423),
		"user pin":       text("userPin", "313378423"),
		"structure":      slog.Any("credentials", leaky{"hunter2"}),
		"api key":        slog.String("api_key", "hunter2"),
		"secret type":    slog.Any("x", config.Secret("hunter2")),
		"secret inside":  slog.Any("x", struct{ S config.Secret }{"hunter2"}),
		"secret in list": slog.Any("x", []config.Secret{"hunter2"}),
		"group":          slog.Group("request", slog.String("token", "hunter2"), slog.String("from", number)),
		"phone":          slog.String("phone", "0712345601"),
		"phone number":   text("phoneNumber", "254712345601"),
		"any text":       slog.String("text", "call "+number),
		"error":          slog.Any("error", fmt.Errorf("wrap: %w", errors.New("no route to "+number))),
		"deep":           slog.Any("x", []any{map[string]any{"k": leaky{number}}}),
		"resolver":       slog.Any("x", resolver{number}),
		"bytes":          slog.Any("x", []byte("hunter2")),
	} {
		for _, format := range []string{"json", "pretty"} {
			var out bytes.Buffer
			log := telemetry.NewLogger(&out, telemetry.Config{Format: format})
			log.LogAttrs(t.Context(), slog.LevelInfo, "call from "+number, attr)
			log.With(attr).WithGroup("g").With(attr).LogAttrs(t.Context(), slog.LevelInfo, "x", attr)
			for _, secret := range []string{"hunter2", "313378423", "12345601", "7123456"} {
				if strings.Contains(out.String(), secret) {
					t.Errorf("%s, %s: %q is in the log: %s", name, format, secret, out.String())
				}
			}
		}
	}
}

func TestLoggerKeepsWhatIsNotSecret(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, telemetry.Config{})
	log.LogAttrs(t.Context(), slog.LevelInfo, "hello", slog.Int("pin_attempts", 2), slog.String("token_cid", "bafy"),
		slog.String("key", "k"), slog.Bool("ok", true), slog.String("empty_token", ""), slog.Duration("took",
			1500*time.Microsecond))
	log.LogAttrs(t.Context(), slog.LevelDebug, "not shown")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("not one JSON line: %v: %s", err, out.String())
	}
	for k, want := range map[string]any{
		"msg": "hello", "level": "INFO", "pin_attempts": 2.0, "token_cid": "bafy",
		"key": "k", "ok": true, "empty_token": "", "took_ms": 1.5,
	} {
		if got[k] != want {
			t.Errorf("%s is %v, want %v", k, got[k], want)
		}
	}
}

func TestPrettyIsOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, telemetry.Config{Format: "pretty", Level: "debug"})
	log.WithGroup("g").LogAttrs(t.Context(), slog.LevelWarn, "two\nlines", slog.String("a", "x y\x1b[31m\n"),
		slog.Group("in", slog.Int("b", 1)))
	line := out.String()
	if strings.Count(line, "\n") != 1 || strings.ContainsRune(line, 0x1b) {
		t.Errorf("got %q", line)
	}
	for _, part := range []string{`WRN`, `"two\nlines"`, `g.a="x y\x1b[31m\n"`, `g.in.b=1`} {
		if !strings.Contains(line, part) {
			t.Errorf("no %s in %q", part, line)
		}
	}
}

func TestPrettyRequest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, telemetry.Config{Format: "pretty"})
	log.LogAttrs(t.Context(), slog.LevelInfo, "request", slog.String("request_id", "abc"), slog.String("method", "GET"),
		slog.String("route", "/dial/{number}"),
		slog.String("path", "/dial/+254712345601"), slog.Int("status", 404), slog.Duration("took", 1234567))
	if got := out.String(); !strings.HasSuffix(got, " INF GET /dial/+2547••••••01 404 1.23ms request_id=abc\n") {
		t.Errorf("got %q", got)
	}
}

// Alerts read JSON and name the event; people at a terminal have the sentence.
func TestEventsAreForMachines(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]bool{"json": true, "pretty": false} {
		var out bytes.Buffer
		telemetry.NewLogger(&out, telemetry.Config{Format: format}).Warn("the bus is away", slog.String("event", "bus.away"),
			slog.Int("tries", 3))
		if got := out.String(); strings.Contains(got, "bus.away") != want || !strings.Contains(got, "tries") {
			t.Errorf("%s: got %q", format, got)
		}
	}
}

func TestParseLevel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]slog.Level{
		"": slog.LevelInfo, "debug": slog.LevelDebug, "WARN": slog.LevelWarn,
		"error": slog.LevelError,
	} {
		if got, err := telemetry.ParseLevel(name); got != want || err != nil {
			t.Errorf("%q: got %v %v", name, got, err)
		}
	}
	if _, err := telemetry.ParseLevel("loud"); err == nil {
		t.Error("loud is a level")
	}
}

var number = regexp.MustCompile(`\+[0-9]{8,15}($|[^0-9])`)

func FuzzRedact(f *testing.F) {
	for _, seed := range []string{
		"+254712345601", "Bearer abcdefgh", "%2B254712345601", "tel:+254712345601", "0712345601", "eyJhbGciOiJFZERTQSJ9.e30.x", strings.Repeat("a", 200), "\xff+\xfe", "é+254712345601é", "++254712345601", "+254712345601+254712345601",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := telemetry.Redact(s)
		if again := telemetry.Redact(once); again != once {
			t.Fatalf("Redact(%q) = %q, and again %q", s, once, again)
		}
		if number.MatchString(once) {
			t.Fatalf("Redact(%q) = %q shows a telephone number", s, once)
		}
		if strings.Contains(telemetry.Redact("Bearer "+"k3y"+strings.Repeat("z", 20)+" "+s), "k3yzzz") {
			t.Fatalf("a bearer token before %q is shown", s)
		}
	})
}
