package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// redacting passes every attribute through the redactor before the handler
// behind it sees it. It works on the record, so that groups, errors and values
// that turn themselves into others are covered as well.
type redacting struct{ next slog.Handler }

func (h redacting) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h redacting) Handle(ctx context.Context, r slog.Record) error {
	var room [16]slog.Attr // as many as a line of ours has
	attrs, message := room[:0], Redact(r.Message)
	same := message == r.Message
	r.Attrs(func(a slog.Attr) bool {
		b := inMilliseconds(redactAttr(a))
		same = same && unchanged(a, b)
		attrs = append(attrs, b)
		return true
	})
	if same {
		return h.next.Handle(ctx, r) // as most lines are: no copy
	}
	clean := slog.NewRecord(r.Time, r.Level, message, r.PC)
	clean.AddAttrs(attrs...)
	return h.next.Handle(ctx, clean)
}

// unchanged reports whether b says what a says. What may be equal without being
// the same, or has no equality, counts as changed.
func unchanged(a, b slog.Attr) bool {
	switch kind := a.Value.Kind(); kind {
	case slog.KindString, slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindBool, slog.KindTime:
		return kind == b.Value.Kind() && a.Key == b.Key && a.Value.Equal(b.Value)
	case slog.KindAny:
		return a.Key == "" && b.Key == "" && a.Value.Any() == nil && b.Value.Any() == nil // left out by every handler
	default:
		return false
	}
}

func (h redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	return redacting{h.next.WithAttrs(redactAttrs(attrs))}
}

func (h redacting) WithGroup(name string) slog.Handler {
	return redacting{h.next.WithGroup(name)}
}

// inMilliseconds writes a duration as a number with its unit in the key: slog's
// own JSON is a count of nanoseconds that does not say so.
func inMilliseconds(a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_ms", float64(a.Value.Duration().Microseconds())/1000)
}

func redactAttrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = redactAttr(a)
	}
	return clean
}

func redactAttr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(redactAttrs(v.Group())...)}
	}
	switch classify(a.Key) {
	case keySecret:
		if v.Kind() == slog.KindString && v.String() == "" {
			return a
		}
		return slog.String(a.Key, redacted)
	case keyPhone:
		return slog.String(a.Key, MaskPhone(v.String()))
	}
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Redact(v.String()))
	case slog.KindAny:
		// Structures are printed here rather than by the handler: a field
		// deep inside would otherwise escape the redactor.
		switch x := v.Any().(type) {
		case nil:
			return a
		case error:
			return slog.String(a.Key, Redact(x.Error()))
		case []byte:
			return slog.String(a.Key, fmt.Sprintf("[%d bytes]", len(x)))
		default:
			return slog.String(a.Key, Redact(fmt.Sprint(x)))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

type keyClass uint8

const (
	keyPlain keyClass = iota
	keySecret
	keyPhone
)

// classify looks at the last word of a key: access_token and userPin hide
// their values, token_cid and pin_attempts do not.
func classify(key string) keyClass {
	word := key
	for i := len(key) - 1; i > 0; i-- {
		c := key[i]
		if c == '_' || c == '-' || c == '.' || c == ' ' {
			word = key[i+1:]
			break
		}
		if 'A' <= c && c <= 'Z' && 'a' <= key[i-1] && key[i-1] <= 'z' {
			word = key[i:]
			break
		}
	}
	switch strings.ToLower(word) {
	case "token", "tokens", "authorization", "bearer", "pin", "pins", "secret", "secrets", "password", "passwd",
		"passphrase", "cookie", "seed", "mnemonic", "delegation", "invocation", "credential", "credentials", "apikey":
		return keySecret
	case "phone", "msisdn", "phonenumber", "telephone":
		return keyPhone
	case "key":
		switch lower := strings.ToLower(key); {
		case strings.HasPrefix(lower, "api"), strings.HasPrefix(lower, "private"), strings.HasPrefix(lower, "master"),
			strings.HasPrefix(lower, "secret"), strings.HasSuffix(lower, "encryption_key"):
			return keySecret
		}
	case "number":
		if lower := strings.ToLower(key); strings.HasPrefix(lower, "phone") || strings.HasPrefix(lower, "telephone") {
			return keyPhone
		}
	}
	return keyPlain
}

// tokenLength is how long a run of base64 characters may be before it is
// taken for a token. Identifiers that belong in a log (CIDs, DIDs, UUIDs) are
// shorter; signatures and encoded tokens are longer.
const tokenLength = 80

// Redact returns s with bearer tokens, app keys, encoded capability tokens, 256-bit
// hex keys and telephone numbers hidden. Text without any is returned as it is.
func Redact(s string) string {
	if harmless(s) {
		return s
	}
	var out strings.Builder
	done := 0 // s[:done] is in out already
	for i := 0; i < len(s); {
		end, text := match(s, i)
		if end == i {
			i = skip(s, i)
			continue
		}
		out.WriteString(s[done:i])
		out.WriteString(text)
		i, done = end, end
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// harmless is a quick look at what most texts are: nothing in them is long
// enough to be a number or a token.
func harmless(s string) bool {
	digits, run := 0, 0
	for i := range len(s) {
		c := s[i]
		if isDigit(c) {
			digits++
		} else {
			digits = 0
		}
		if isToken(c) {
			run++
		} else {
			run = 0
		}
		switch {
		case digits >= 8, run >= 40,
			c == 'J' && run >= 3 && s[i-2:i] == "ey",
			c == '_' && run >= 4 && s[i-3:i] == "cak",
			c == ' ' && i >= 5 && hasFold(s[i-5:], "basic"),
			c == ' ' && i >= 6 && hasFold(s[i-6:], "bearer"):
			return false
		}
	}
	return true
}

// match reports the end of the sensitive text that starts at i and what to
// write instead; end == i means that none starts there.
func match(s string, i int) (end int, text string) {
	if i > 0 && isWord(s[i-1]) && s[i] != '+' {
		return i, ""
	}
	c := s[i]
	switch {
	case (c == 'B' || c == 'b') && hasFold(s[i:], "bearer "):
		j := i + len("bearer ")
		for j < len(s) && s[j] == ' ' {
			j++
		}
		end = j
		for end < len(s) && (isToken(s[end]) || s[end] == '.' || s[end] == '~') {
			end++
		}
		if end-j < 8 { // "bearer of news"
			return i, ""
		}
		return end, s[i:i+len("bearer ")] + redacted
	case (c == 'B' || c == 'b') && hasFold(s[i:], "basic "):
		return matchBasic(s, i)
	case c == '+' || c == '%' && hasFold(s[i:], "%2b"):
		return matchPhone(s, i)
	case c == '0' || c == 't' && strings.HasPrefix(s[i:], "tel:"):
		if end, text = matchPhone(s, i); end != i {
			return end, text
		}
	}
	if !isToken(c) {
		return i, ""
	}
	return matchToken(s, i)
}

// matchBasic looks at a name and password in base64: longer than words that follow
// "basic" in a sentence.
func matchBasic(s string, i int) (end int, text string) {
	from := i + len("basic ")
	for end = from; end < len(s) && isToken(s[end]); end++ {
	}
	if end-from < 24 {
		return i, ""
	}
	return end, s[i:from] + redacted
}

func matchPhone(s string, i int) (end int, text string) {
	j, least := i, 8
	switch s[i] {
	case '+':
		j++
	case '%':
		j += len("%2b")
	case 't':
		j += len("tel:")
		if j < len(s) && s[j] == '+' {
			j++
		}
	default: // national or 00 form: a leading zero and nothing around it
		least = 10
	}
	end = j
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	if n := end - j; n < least || n > 15 || least > 8 && end < len(s) && isWord(s[end]) {
		return i, ""
	}
	if s[i] == '+' || s[i] == '0' {
		return end, MaskPhone(s[i:end])
	}
	return end, s[i:j] + MaskPhone(s[j:end])
}

// matchToken looks at the run of base64 characters that starts at i. It
// decides by the beginning of the run, so that text with many beginnings is
// still read in linear time.
func matchToken(s string, i int) (end int, text string) {
	end, hexOnly := i, true
	for end < len(s) && end < i+4*tokenLength && isToken(s[end]) {
		hexOnly = hexOnly && isHex(s[end])
		end++
	}
	text = redacted
	switch n := end - i; {
	case n >= 16 && strings.HasPrefix(s[i:], "eyJ"): // a JWT, or any base64 of a JSON object
	case n >= 12 && strings.HasPrefix(s[i:], "cak_"): // an app key, or what is left of one
	case n >= 40 && strings.Contains(s[i:min(end, i+24)], "lcm9vdH"): // base64 of a CAR header: "roots"
	case n == 64 && hexOnly:
		text = s[i:i+6] + "…" + redacted
	case n >= tokenLength && !pathLike(s[i:end]):
	default:
		return i, ""
	}
	for end < len(s) && (isToken(s[end]) || s[end] == '.' && s[i] == 'e') {
		end++
	}
	return end, text
}

// pathLike tells a file path, whose slashes are many and near, from base64.
func pathLike(s string) bool { return strings.Count(s, "/")*24 > len(s) }

// skip moves past the rest of a word, or one character: tokens start where
// words start.
func skip(s string, i int) int {
	i++
	for i < len(s) && isWord(s[i-1]) && isWord(s[i]) {
		i++
	}
	return i
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}

func isToken(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '+' || c == '/' || c == '-' || c == '_' ||
		c == '='
}
