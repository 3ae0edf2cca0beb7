package config

import (
	"errors"
	"strconv"
	"strings"
)

// Limit is a bound on what one user may have. The program chooses it where the
// operator did not.
type Limit struct {
	chosen bool
	max    int64
}

// Or returns the bound: what the operator chose, else what the program does. 0
// is none.
func (l Limit) Or(auto int64) int64 {
	if l.chosen {
		return l.max
	}
	return auto
}

// read takes auto, off, or what parse understands.
func (l *Limit) read(text string, parse func(string) (int64, error)) error {
	switch text {
	case "auto", "":
		*l = Limit{}
		return nil
	case "off":
		*l = Limit{chosen: true}
		return nil
	}
	n, err := parse(text)
	if err == nil && n < 0 {
		err = errors.New("negative limit")
	}
	*l = Limit{chosen: true, max: n}
	return err
}

// SizeLimit is a Limit in bytes.
type SizeLimit struct{ Limit }

// UnmarshalText takes a size, auto or off.
func (l *SizeLimit) UnmarshalText(text []byte) error {
	return l.read(string(text), func(text string) (int64, error) {
		var s Size
		err := s.UnmarshalText([]byte(text))
		return int64(s), err
	})
}

// Allowed says what fits.
func (*SizeLimit) Allowed() string {
	return "a size such as 512MiB or 5GiB, 0 or off for no limit, or auto"
}

// CountLimit is a Limit of how many.
type CountLimit struct{ Limit }

// UnmarshalText takes a whole number, auto or off.
func (l *CountLimit) UnmarshalText(text []byte) error {
	return l.read(string(text), func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
}

// Allowed says what fits.
func (*CountLimit) Allowed() string { return "a whole number, 0 or off for no limit, or auto" }

// DollarLimit is a Limit in millionths of a US dollar, written in dollars.
type DollarLimit struct{ Limit }

// maxDollars keeps the sum of a day far from the end of the numbers.
const maxDollars = 1_000_000

// UnmarshalText takes dollars with at most six decimals, auto or off.
func (l *DollarLimit) UnmarshalText(text []byte) error {
	return l.read(string(text), func(text string) (int64, error) {
		whole, part, _ := strings.Cut(text, ".")
		if len(part) > 6 {
			return 0, errors.New("more than six decimals")
		}
		dollars, err := strconv.ParseUint(whole, 10, 32)
		if err != nil || dollars > maxDollars {
			return 0, errors.New("not an amount")
		}
		micros, err := strconv.ParseUint((part + "000000")[:6], 10, 32)
		if err != nil {
			return 0, errors.New("not an amount")
		}
		return int64(dollars)*1_000_000 + int64(micros), nil
	})
}

// Allowed says what fits.
func (*DollarLimit) Allowed() string {
	return "an amount in US dollars such as 1 or 0.50, 0 or off for no limit, or auto"
}
