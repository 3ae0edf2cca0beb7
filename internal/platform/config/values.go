package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Secret is a text that is never printed.
type Secret string

// String hides the value, so that a stray %v shows nothing.
func (Secret) String() string { return masked }

// GoString hides the value from %#v too.
func (Secret) GoString() string { return masked }

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// UnmarshalText takes any text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// Allowed says what fits.
func (*Secret) Allowed() string { return "a secret text" }

// Key is a 256-bit key written as 64 hexadecimal digits; nil when not given.
type Key []byte

// String hides the key.
func (Key) String() string { return masked }

// UnmarshalText takes 64 hexadecimal digits or nothing.
func (k *Key) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*k = nil
		return nil
	}
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != 32 {
		return errors.New("not a key")
	}
	*k = raw
	return nil
}

// Allowed says what fits.
func (*Key) Allowed() string { return "64 hexadecimal digits" }

// KeyList is several keys, newest first.
type KeyList []Key

// String hides the keys.
func (KeyList) String() string { return masked }

// UnmarshalText takes a comma list of keys.
func (l *KeyList) UnmarshalText(text []byte) error {
	*l = nil
	for part := range strings.SplitSeq(string(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		var k Key
		if err := k.UnmarshalText([]byte(part)); err != nil {
			return err
		}
		*l = append(*l, k)
	}
	return nil
}

// Allowed says what fits.
func (*KeyList) Allowed() string { return "a comma list of keys of 64 hexadecimal digits" }

// Size is a number of bytes written as 512KiB, 5GiB or plain digits.
type Size int64

// UnmarshalText takes a whole number with an optional binary unit.
func (s *Size) UnmarshalText(text []byte) error {
	digits, unit := string(text), int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if rest, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = strings.TrimSpace(rest), int64(1)<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return errors.New("not a size")
	}
	*s = Size(n * unit)
	return nil
}

// Allowed says what fits.
func (*Size) Allowed() string { return "a size such as 512KiB, 64MiB or 5GiB" }

// Networks is a list of address ranges.
type Networks []netip.Prefix

// UnmarshalText takes a comma list of CIDR ranges or single addresses.
func (n *Networks) UnmarshalText(text []byte) error {
	*n = nil
	for part := range strings.SplitSeq(string(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			addr, addrErr := netip.ParseAddr(part)
			if addrErr != nil {
				return err
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		*n = append(*n, prefix.Masked())
	}
	return nil
}

// Contains reports whether the address lies in one of the ranges.
func (n Networks) Contains(addr netip.Addr) bool {
	for _, p := range n {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

// Allowed says what fits.
func (*Networks) Allowed() string { return "a comma list of ranges such as 10.0.0.0/8, 2001:db8::/32" }

// URL is an absolute address with one of the schemes that its setting takes;
// credentials in it are not printed.
type URL struct {
	text string
}

// UnmarshalText takes an absolute URL or nothing.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		u.text = ""
		return nil
	}
	parsed, err := url.Parse(string(text))
	if err != nil || parsed.Scheme == "" {
		return errors.New("not a URL")
	}
	u.text = string(text)
	return nil
}

// String hides credentials.
func (u URL) String() string { return Mask(u.text) }

// Reveal returns the address with its credentials.
func (u URL) Reveal() string { return u.text }

// Given reports whether there is an address.
func (u URL) Given() bool { return u.text != "" }

// Allowed says what fits.
func (*URL) Allowed() string { return "an absolute URL" }

// Keep is for how long something is kept. That it is kept for ever (off) may be given too,
// which is not the same as to say nothing.
type Keep struct {
	Time  time.Duration
	Given bool
}

// UnmarshalText takes a duration, off or nothing.
func (k *Keep) UnmarshalText(text []byte) (err error) {
	k.Given = len(text) > 0
	k.Time, err = ParseDuration(string(text))
	return err
}

// Allowed says what fits.
func (*Keep) Allowed() string { return "a duration such as 24h or 90d, or off" }

// Features switches plugins: name=true, false or auto.
type Features map[string]string

// UnmarshalText takes a comma list of name=true|false|auto.
func (f *Features) UnmarshalText(text []byte) error {
	*f = Features{}
	for part := range strings.SplitSeq(string(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" || value != "true" && value != "false" && value != "auto" {
			return fmt.Errorf("feature %q", part)
		}
		(*f)[name] = value
	}
	return nil
}

// Allowed says what fits.
func (*Features) Allowed() string { return "a comma list of plugin=true, plugin=false or plugin=auto" }

func isSecret(t reflect.Type) bool {
	switch reflect.Zero(t).Interface().(type) {
	case Secret, Key, KeyList:
		return true
	}
	return false
}
