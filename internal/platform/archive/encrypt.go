package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// workFactor is what a passphrase costs to try: 2^18 rounds of scrypt, a second
// and 256 MiB. An archive that asks for more is refused.
const workFactor = 18

// How an encrypted stream begins. What follows the first line says for whom it is;
// a passphrase stands alone there.
const (
	ageIntro    = "age-encryption.org/v1\n"
	scryptIntro = ageIntro + "-> scrypt "
)

// Locked says how an archive is encrypted.
type Locked int

// The ways in which it may be.
const (
	Plain Locked = iota
	ByPassphrase
	ByRecipients
)

// Lock is for whom an archive is encrypted.
type Lock struct{ recipients []age.Recipient }

// LockTo encrypts for the holders of keys: texts of "age1…", one for each line.
func LockTo(texts ...string) (Lock, error) {
	var lock Lock
	for _, text := range texts {
		recipients, err := age.ParseRecipients(bytes.NewReader([]byte(text)))
		if err != nil {
			return Lock{}, fmt.Errorf("read recipient: %w", err)
		}
		lock.recipients = append(lock.recipients, recipients...)
	}
	if len(lock.recipients) == 0 {
		return Lock{}, errors.New("no recipient is named")
	}
	return lock, nil
}

// Recipients is for how many an archive is encrypted.
func (l Lock) Recipients() int { return len(l.recipients) }

// maxHeader bounds the lines before an encrypted stream.
const maxHeader = 64 << 10

// LockedFor reads the header of an archive that is encrypted for keys, and returns for how
// many. Whether they are the right ones, only who has one of them can tell.
func LockedFor(from io.Reader) (int, error) {
	in := bufio.NewReaderSize(io.LimitReader(from, maxHeader), 4<<10)
	keys := 0
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			return 0, fmt.Errorf("%w: its header has no end", errCut)
		case first && line != ageIntro:
			return 0, errors.New("the archive is not encrypted")
		case strings.HasPrefix(line, "--- "):
			return keys, nil
		case strings.HasPrefix(line, "-> "):
			keys++
		}
	}
}

// minPassphrase is the least number of characters under which something with keys in it
// is encrypted: whoever has it can try passphrases for ever.
const minPassphrase = 12

// LockBy encrypts under a passphrase.
func LockBy(passphrase string) (Lock, error) {
	if n := utf8.RuneCountInString(passphrase); n < minPassphrase {
		return Lock{}, fmt.Errorf("the passphrase has %d characters, at least %d are needed: whoever has the archive can try for ever", n, minPassphrase)
	}
	r, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return Lock{}, err
	}
	r.SetWorkFactor(workFactor)
	return Lock{[]age.Recipient{r}}, nil
}

// Encrypt returns a writer whose bytes come out at the other one encrypted. Who
// does not close it leaves a stream that is refused as cut off.
func Encrypt(to io.Writer, lock Lock) (io.WriteCloser, error) {
	w, err := age.Encrypt(to, lock.recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt archive: %w", err)
	}
	return w, nil
}

// Keys open an encrypted archive.
type Keys struct{ identities []age.Identity }

// KeysFrom reads the texts of identities ("AGE-SECRET-KEY-1…", one for each line).
func KeysFrom(texts ...string) (Keys, error) {
	var keys Keys
	for _, text := range texts {
		identities, err := age.ParseIdentities(bytes.NewReader([]byte(text)))
		if err != nil {
			return Keys{}, errors.New("read identity: it is not the text of an age key") // the cause may repeat the secret
		}
		keys.identities = append(keys.identities, identities...)
	}
	return keys, nil
}

// KeyOf is a passphrase as a key.
func KeyOf(passphrase string) (Keys, error) {
	id, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return Keys{}, err
	}
	id.SetMaxWorkFactor(workFactor)
	return Keys{[]age.Identity{&remembering{slow: id}}}, nil
}

// remembering opens the same archive again without the price of its passphrase: it is read
// twice, to verify it before anything is touched and to restore it.
type remembering struct {
	slow age.Identity

	mu  sync.Mutex
	of  string // how the archive said that it was locked
	key []byte // of that archive
}

// Unwrap implements age.Identity.
func (r *remembering) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var of strings.Builder
	for _, s := range stanzas {
		_, _ = fmt.Fprintf(&of, "%q %q %x\n", s.Type, s.Args, s.Body)
	}
	if r.key != nil && of.String() == r.of {
		return bytes.Clone(r.key), nil
	}
	key, err := r.slow.Unwrap(stanzas)
	if err != nil {
		return nil, err
	}
	r.of, r.key = of.String(), bytes.Clone(key)
	return key, nil
}

// NewKey makes a key for encrypted archives: the secret text of its identity, and
// the recipient to encrypt for.
func NewKey() (identity, recipient string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	return id.String(), id.Recipient().String(), nil
}

// ErrOtherKey says nothing about the archive, but about what should open it.
var ErrOtherKey = errors.New("the archive is not encrypted for this key or passphrase")

// Decrypt returns a stream as it was before it was encrypted, and an archive that
// is plain as it is. It asks for keys only when it needs them.
func Decrypt(from io.Reader, ask func(Locked) (Keys, error)) (io.Reader, error) {
	in := bufio.NewReaderSize(from, 4<<10)
	if head, _ := in.Peek(len(armor.Header)); string(head) == armor.Header {
		in = bufio.NewReaderSize(armor.NewReader(in), 4<<10)
	}
	head, err := in.Peek(len(scryptIntro))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	how := Plain
	switch {
	case bytes.HasPrefix(head, []byte(scryptIntro)):
		how = ByPassphrase
	case bytes.HasPrefix(head, []byte(ageIntro)):
		how = ByRecipients
	}
	if how == Plain {
		return in, nil
	}
	keys, err := ask(how)
	if err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(in, keys.identities...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, ErrOtherKey
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	return plain, nil
}
