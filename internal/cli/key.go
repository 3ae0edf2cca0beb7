package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

func keyCommand() command {
	return command{
		name: "key", args: "new [--backup] [--out FILE] [--mnemonic FILE] | show FILE",
		summary: "make a key (0600) and print its DID; show the DID of a key", run: runKey,
	}
}

func runKey(_ context.Context, args []string, s IO) error {
	switch name, rest := cutFirst(args); name {
	case "new":
		return runKeyNew(rest, s)
	case "show":
		return runKeyShow(rest, s)
	}
	return noSubcommand(args, "new", "show")
}

const defaultKeyFile = "castalia.key"

func runKeyNew(args []string, s IO) error {
	fs := newFlags("key new", s)
	out := fs.String("out", defaultKeyFile, "`FILE` to write the key to; it must not exist")
	mnemonic := fs.String("mnemonic", "", "derive the key from the BIP-39 phrase in `FILE` (- is standard input), as IXO wallets do")
	backup := fs.Bool("backup", false, "make an age key for encrypted backups instead, and print its recipient")
	if rest, err := parseMixed(fs, args); err != nil {
		return err
	} else if len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}
	if *backup {
		return newBackupKey(*out, s)
	}
	signer, err := newSigner(*mnemonic, s)
	if err != nil {
		return err
	}
	if err := writeNew(*out, signer.PrivateText()+"\n"); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "The key is in %s. Whoever has this file is you: keep it secret and back it up.\n", *out)
	_, err = fmt.Fprintln(s.Out, signer.DID())
	return err
}

// newBackupKey writes the identity that opens archives, and prints the recipient
// for which they are encrypted.
func newBackupKey(out string, s IO) error {
	identity, recipient, err := archive.NewKey()
	if err != nil {
		return err
	}
	if err := writeNew(out, "# public key: "+recipient+"\n"+identity+"\n"); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "The key is in %s. It opens your backups: keep it apart from them, and more than once.\n", out)
	_, err = fmt.Fprintln(s.Out, recipient)
	return err
}

func newSigner(mnemonic string, s IO) (did.Signer, error) {
	if mnemonic == "" {
		return did.NewSigner()
	}
	phrase, err := readInput(mnemonic, s)
	if err != nil {
		return did.Signer{}, fmt.Errorf("read mnemonic: %w", err)
	}
	return did.SignerFromMnemonic(phrase)
}

// writeNew writes a secret to a file that nobody else can read and that was not
// there before.
func writeNew(name, text string) (err error) {
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

func runKeyShow(args []string, s IO) error {
	fs := newFlags("key show", s)
	rest, err := parseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usagef("expected one key file")
	}
	signer, err := readSigner(rest[0], s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, signer.DID())
	return err
}

// readSigner reads a key file: what `key new` writes, 64 hexadecimal digits, or
// a BIP-39 phrase.
func readSigner(name string, s IO) (did.Signer, error) {
	text, err := readInput(name, s)
	if err != nil {
		return did.Signer{}, fmt.Errorf("read key: %w", err)
	}
	if len(strings.Fields(text)) >= 12 {
		return did.SignerFromMnemonic(text)
	}
	signer, err := did.ParseSigner(text)
	if err != nil {
		return did.Signer{}, fmt.Errorf("read key %s: %w", name, err)
	}
	return signer, nil
}

// maxInput bounds what is read from a file or standard input for a token or key.
const maxInput = 1 << 20

// readInput reads a file, or standard input when the name is "-".
func readInput(name string, s IO) (string, error) {
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
	if _, err := b.ReadFrom(io.LimitReader(from, maxInput)); err != nil {
		return "", err
	}
	return b.String(), nil
}

// parseMixed reads flags that may stand before and after other arguments, and
// returns those.
func parseMixed(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := parse(fs, args); err != nil {
			return nil, err
		}
		args = fs.Args()
		if len(args) == 0 {
			return rest, nil
		}
		rest = append(rest, args[0])
		args = args[1:]
	}
}
