package ussdtest

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Leak finds a secret in clear, in hexadecimal digits or in base64, and returns
// it with what stands around it. Digits inside a longer number or word are
// chance: clear text has the secret between other characters.
func Leak(text, secret string) string {
	around := func(at, n int) string { return text[max(0, at-60):min(len(text), at+n+20)] }
	for from := 0; ; {
		at := strings.Index(text[from:], secret)
		if at < 0 {
			break
		}
		at += from
		from = at + 1
		if end := at + len(secret); (at == 0 || !wordly(text[at-1])) && (end == len(text) || !wordly(text[end])) {
			return around(at, len(secret))
		}
	}
	hidden := []string{hex.EncodeToString([]byte(secret)), "%2A" + secret, "%2a" + secret}
	for shift := range 3 { // the three ways to stand in a base64 text
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
		first, last := (shift*8+5)/6, (shift+len(secret))*8/6
		hidden = append(hidden, coded[first:last])
	}
	for _, form := range hidden {
		if at := strings.Index(text, form); at >= 0 {
			return around(at, len(form))
		}
	}
	return ""
}

func wordly(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.'
}
