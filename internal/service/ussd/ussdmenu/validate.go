package ussdmenu

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// The kinds of input that a screen may ask for.
const (
	KindText    = "text"    // anything
	KindName    = "name"    // letters of any script, digits, space and - ' .
	KindEmail   = "email"   // something@something.something
	KindDigits  = "digits"  // digits only
	KindPIN     = "pin"     // digits, secret: a PIN that exists
	KindNewPIN  = "newpin"  // digits, secret, not easy to guess: a PIN to be
	KindAccount = "account" // an account id: C and eight letters or digits
	KindWord    = "word"    // letters, digits and : . _ - without space, such as a DID
)

// Kinds lists the kinds of input.
func Kinds() []string {
	return []string{KindText, KindName, KindEmail, KindDigits, KindPIN, KindNewPIN, KindAccount, KindWord}
}

// validate checks a typed value. It returns the value as it is to be stored, or
// the name of the error.
func (in *Input) validate(raw string) (value, problem string) {
	value = Clean(raw)
	n := utf8.RuneCountInString(value)
	if n < max(in.Min, 1) || n > in.Max {
		return "", "invalid"
	}
	ok := true
	switch in.Kind {
	case KindName:
		ok = isName(value)
	case KindEmail:
		ok = isEmail(value)
	case KindDigits, KindPIN, KindNewPIN:
		ok = isDigits(value)
	case KindAccount:
		value = strings.ToUpper(value)
		ok = isAccount(value)
	case KindWord:
		ok = isWord(value)
	}
	if !ok {
		return "", "invalid"
	}
	if in.Kind == KindNewPIN && ussdpin.Weak(value) {
		return "", "weak"
	}
	return value, ""
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isName(s string) bool {
	letter := false
	for _, r := range s {
		switch {
		case unicode.IsLetter(r):
			letter = true
		case unicode.IsDigit(r), unicode.Is(unicode.M, r):
		case strings.ContainsRune(" -'.’", r):
		default:
			return false
		}
	}
	return letter
}

func isEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || local == "" || strings.ContainsAny(s, " *<>\"(),;\\") || strings.Contains(domain, "@") {
		return false
	}
	dot := strings.LastIndexByte(domain, '.')
	return dot > 0 && dot < len(domain)-2 && !strings.Contains(domain, "..") && domain[0] != '-'
}

func isAccount(s string) bool {
	if len(s) != 9 || s[0] != 'C' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case strings.IndexByte(":._-/", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
