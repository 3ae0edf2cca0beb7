package cli

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/archive"
)

// passphraseEnv is for those who can neither be asked nor have a file.
const passphraseEnv = "CASTALIA_PASSPHRASE" //nolint:gosec // the name of one, not one

// passphraseFlags are how both commands are given a passphrase.
type passphraseFlags struct {
	file string
	ask  bool
	// standing is what the deployment's own settings have, where they say it.
	standing string
}

func (f *passphraseFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.file, "passphrase-file", "", "`FILE` with the passphrase; or set "+passphraseEnv)
	fs.BoolVar(&f.ask, "passphrase", false, "ask for the passphrase at the terminal")
}

func (f *passphraseFlags) given(s shell.IO) bool {
	return f.file != "" || f.ask || s.Getenv(passphraseEnv) != ""
}

// read returns the passphrase. A new one is asked for twice.
func (f *passphraseFlags) read(s shell.IO, fresh bool) (string, error) {
	switch {
	case f.file != "":
		text, err := shell.ReadInput(f.file, s)
		if err != nil {
			return "", fmt.Errorf("read passphrase: %w", err)
		}
		return strings.TrimRight(text, "\r\n"), nil
	case !f.ask && s.Getenv(passphraseEnv) != "":
		return s.Getenv(passphraseEnv), nil
	case !f.ask && f.standing != "":
		return f.standing, nil
	}
	text, err := askSecret(s, "Passphrase of the archive: ")
	if err != nil || !fresh {
		return text, err
	}
	again, err := askSecret(s, "The same once more: ")
	if err == nil && again != text {
		err = errors.New("the two passphrases differ")
	}
	return text, err
}

// askSecret reads a line from the terminal without showing it.
func askSecret(s shell.IO, prompt string) (string, error) {
	if !s.InIsTerminal() {
		return "", fmt.Errorf("there is no terminal to ask for the passphrase: give --passphrase-file or %s", passphraseEnv)
	}
	hidden, err := shell.OpenHidden(s)
	if err != nil {
		return "", err
	}
	defer hidden.Close()
	text, err := hidden.Ask(prompt)
	if err != nil {
		return "", fmt.Errorf("read passphrase: %w", err)
	}
	return text, nil
}

// lockFlags say for whom an archive is encrypted.
type lockFlags struct {
	to         shell.List
	passphrase passphraseFlags
	plain      bool
}

func (f *lockFlags) register(fs *flag.FlagSet) {
	fs.Var(&f.to, "to", "encrypt for this age `RECIPIENT` (age1…, or @FILE of them); may be repeated")
	f.passphrase.register(fs)
	fs.BoolVar(&f.plain, "plain", false, "do not encrypt: whoever has the archive can read everything")
}

// lock returns how to encrypt, or nil for a plain archive, which has to be asked
// for by name. A flag outweighs the environment.
func (f *lockFlags) lock(s shell.IO) (*archive.Lock, error) {
	flagged := f.passphrase.file != "" || f.passphrase.ask
	switch {
	case f.plain && (len(f.to) > 0 || flagged), len(f.to) > 0 && flagged:
		return nil, shell.Usagef("give one of --to, a passphrase, and --plain")
	case f.plain:
		return nil, nil //nolint:nilnil // a plain archive has no lock
	case len(f.to) > 0:
		return lockTo(f.to, s)
	case !f.passphrase.given(s):
		return nil, shell.Usagef("an archive holds everything, keys too: encrypt it with --to RECIPIENT (`castalia key new --backup` makes one) or --passphrase, or say --plain")
	}
	text, err := f.passphrase.read(s, true)
	if err != nil {
		return nil, err
	}
	lock, err := archive.LockBy(text)
	return &lock, err
}

func lockTo(recipients []string, s shell.IO) (*archive.Lock, error) {
	var texts []string
	for _, text := range recipients {
		if file, ok := strings.CutPrefix(text, "@"); ok {
			read, err := shell.ReadInput(file, s)
			if err != nil {
				return nil, fmt.Errorf("--to: %w", err)
			}
			text = read
		}
		texts = append(texts, text)
	}
	lock, err := archive.LockTo(texts...)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	return &lock, nil
}

// unlockFlags are how an encrypted archive is opened.
type unlockFlags struct {
	identity   shell.List
	passphrase passphraseFlags
	// asked is what was read, since an archive is opened twice: to verify it, and
	// to restore it.
	asked map[archive.Locked]archive.Keys
}

func (f *unlockFlags) register(fs *flag.FlagSet) {
	f.asked = map[archive.Locked]archive.Keys{}
	fs.Var(&f.identity, "identity", "`FILE` of the age key that the archive is encrypted for; may be repeated")
	f.passphrase.register(fs)
}

// keys answers what archive.Decrypt asks.
func (f *unlockFlags) keys(s shell.IO) func(archive.Locked) (archive.Keys, error) {
	return func(how archive.Locked) (archive.Keys, error) {
		if keys, ok := f.asked[how]; ok {
			return keys, nil
		}
		keys, err := f.read(how, s)
		if err == nil {
			f.asked[how] = keys
		}
		return keys, err
	}
}

// needed refuses an archive that nothing had to be opened for, although something
// that opens it was given: it may not be the one that was made.
func (f *unlockFlags) needed(s shell.IO) error {
	switch {
	case len(f.asked) > 0:
		return nil
	case len(f.identity) > 0 || f.passphrase.file != "" || f.passphrase.ask:
		return errors.New("the archive is not encrypted, so it may not be yours; if you know that it is, restore it without --identity and --passphrase")
	case f.passphrase.given(s):
		return fmt.Errorf("the archive is not encrypted although %s is set, so it may not be yours; if you know that it is, restore it without that variable", passphraseEnv)
	}
	return nil
}

func (f *unlockFlags) read(how archive.Locked, s shell.IO) (archive.Keys, error) {
	if how == archive.ByPassphrase {
		text, err := f.passphrase.read(s, false)
		if err != nil {
			return archive.Keys{}, err
		}
		return archive.KeyOf(text)
	}
	if len(f.identity) == 0 {
		return archive.Keys{}, errors.New("the archive is encrypted for a key: give the file that holds it with --identity")
	}
	var texts []string
	for _, file := range f.identity {
		text, err := shell.ReadInput(file, s)
		if err != nil {
			return archive.Keys{}, fmt.Errorf("--identity: %w", err)
		}
		texts = append(texts, text)
	}
	return archive.KeysFrom(texts...)
}
