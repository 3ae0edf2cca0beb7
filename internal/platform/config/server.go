package config

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Clock is the clock of this node's services. Tests of faults make it wrong;
// leases go by the database's clock, whatever this one says.
func (s Server) Clock() (func() time.Time, error) {
	if s.ClockOffset == 0 {
		return time.Now, nil
	}
	if s.Environment != "test" {
		return nil, errors.New("TEST_CLOCK_OFFSET_SECONDS: only for tests, with CASTALIA_ENV=test")
	}
	offset := time.Duration(s.ClockOffset) * time.Second
	return func() time.Time { return time.Now().Add(offset) }, nil
}

// CheckPublicURL refuses what links cannot begin with.
func (s Server) CheckPublicURL() error {
	if !s.PublicURL.Given() {
		return nil
	}
	if err := CheckAddress(s.PublicURL.Reveal()); err != nil {
		return fmt.Errorf("PUBLIC_URL: %w", err)
	}
	return nil
}

// CheckAddress refuses what links cannot begin with.
func CheckAddress(text string) error {
	u, err := url.Parse(text)
	web := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	if !web || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("given %q, allowed is an address such as https://castalia.example", Mask(text))
	}
	return nil
}
