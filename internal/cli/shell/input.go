package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// DefaultKeyFile is the key of somebody who names none.
const DefaultKeyFile = "castalia.key"

// WriteNew writes a secret to a file that nobody else can read and that was not
// there before.
func WriteNew(name, text string) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	return f.Sync()
}

// ReadSigner reads a key file: what `key new` writes, 64 hexadecimal digits, or
// the BIP-39 phrase of a wallet. Numbered words are no phrase but the key itself,
// as `key words` shows it; to take them for one would make another key.
func ReadSigner(name string, s IO) (did.Signer, error) {
	text, err := ReadInput(name, s)
	if err != nil {
		return did.Signer{}, fmt.Errorf("read key: %w", err)
	}
	if len(strings.Fields(text)) >= 12 {
		if strings.ContainsAny(text, "0123456789") {
			return did.Signer{}, fmt.Errorf("read key %s: numbered words are a key written down: `castalia key import` makes a key file of them", name)
		}
		return did.SignerFromMnemonic(text)
	}
	signer, err := did.ParseSigner(text)
	if err != nil {
		return did.Signer{}, fmt.Errorf("read key %s: %w", name, err)
	}
	return signer, nil
}

// OwnSigner is ReadSigner for somebody's own key, and says how to make one.
func OwnSigner(name string, s IO) (did.Signer, error) {
	signer, err := ReadSigner(name, s)
	if err != nil {
		return did.Signer{}, fmt.Errorf("%w; make one with `castalia key new --out %s`", err, name)
	}
	return signer, nil
}

// HoldsSecret reports whether a file has somebody's private key in it, which must not be
// given away.
func HoldsSecret(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, MaxInput))
	return err == nil && did.HoldsSecret(string(text))
}

// MaxInput bounds what is read from a file or standard input for a token or key.
const MaxInput = 1 << 20

// ReadInput reads a file, or standard input when the name is "-".
func ReadInput(name string, s IO) (string, error) {
	from := s.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(from, MaxInput)); err != nil {
		return "", err
	}
	return b.String(), nil
}

// ExpiresAfter reads a lifetime. Days are allowed, since delegations have them.
func ExpiresAfter(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil {
			return now.AddDate(0, 0, n), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return time.Time{}, Usagef("--ttl %s: expected a duration such as 90s, 15m or 7d, or never", text)
	}
	return now.Add(d), nil
}

// ReadToken reads a token from an argument: the text, @FILE, or - for standard input.
func ReadToken(arg string, s IO) (*ucan.Token, error) {
	text := arg
	if file, ok := strings.CutPrefix(arg, "@"); ok || arg == "-" {
		if arg == "-" {
			file = "-"
		}
		var err error
		if text, err = ReadInput(file, s); err != nil {
			return nil, fmt.Errorf("read token: %w", err)
		}
	}
	return ucan.Parse(text)
}

// IsFolder tells a folder from everything else.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
