// Package ucancli is the part of the command line that makes keys, and issues,
// verifies and revokes the tokens that they sign.
package ucancli

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// How the command is called, and what it is for.
const (
	KeyUsage = "new [--backup] [--out FILE] [--mnemonic FILE] | show FILE | " +
		"words FILE | qr FILE | import [--out FILE] [FILE] | " +
		"app --for NAME [--can oracle|knowledge|files[:write][:/PATH]]… [--days N] [--tokens N] [--dollars N] | apps [--json] | revoke NAME | " +
		"link ACCOUNT | telephones | unlink ACCOUNT | reset-pin ACCOUNT | lost ACCOUNT | requests | refuse ID"
	KeySummary = "make a key (0600) and copy it as words or a QR code; app keys for other programs; link your telephone, or ask through it for a new key"
)

// RunKey runs one command line of `castalia key`.
func RunKey(ctx context.Context, args []string, s shell.IO) error {
	switch name, rest := shell.CutFirst(args); name {
	case "new":
		return runKeyNew(rest, s)
	case "show":
		return runKeyShow(rest, s)
	case "words":
		return runKeyWords(rest, s)
	case "qr":
		return runKeyCode(rest, s)
	case "import":
		return runKeyImport(ctx, rest, s)
	case "app":
		return runAppKeyMake(ctx, rest, s)
	case "apps":
		return runAppKeyList(ctx, rest, s)
	case "revoke":
		return runAppKeyRevoke(ctx, rest, s)
	case "link":
		return runKeyLink(ctx, rest, s)
	case "telephones":
		return runKeyTelephones(ctx, rest, s)
	case "unlink":
		return runKeyUnlink(ctx, rest, s)
	case "reset-pin":
		return runKeyResetPIN(ctx, rest, s)
	case "lost":
		return runKeyLost(ctx, rest, s)
	case "requests":
		return runKeyRequests(ctx, rest, s)
	case "refuse":
		return runKeyRefuse(ctx, rest, s)
	}
	return shell.NoSubcommand(args, "new", "show", "words", "qr", "import", "app", "apps", "revoke",
		"link", "telephones", "unlink", "reset-pin", "lost", "requests", "refuse")
}

func runKeyNew(args []string, s shell.IO) error {
	fs := shell.NewFlags("key new", s)
	out := fs.String("out", shell.DefaultKeyFile, "`FILE` to write the key to; it must not exist")
	mnemonic := fs.String("mnemonic", "", "derive the key from the BIP-39 phrase in `FILE` (- is standard input), as IXO wallets do")
	backup := fs.Bool("backup", false, "make an age key for encrypted backups instead, and print its recipient")
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	if *backup {
		return newBackupKey(*out, s)
	}
	signer, err := newSigner(*mnemonic, s)
	if err != nil {
		return err
	}
	if err := shell.WriteNew(*out, signer.PrivateText()+"\n"); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "The key is in %s. Whoever has this file is you: keep it secret and back it up.\n", *out)
	_, err = fmt.Fprintln(s.Out, signer.DID())
	return err
}

// newBackupKey writes the identity that opens archives, and prints the recipient
// for which they are encrypted.
func newBackupKey(out string, s shell.IO) error {
	identity, recipient, err := archive.NewKey()
	if err != nil {
		return err
	}
	if err := shell.WriteNew(out, "# public key: "+recipient+"\n"+identity+"\n"); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "The key is in %s. It opens your backups: keep it apart from them, and more than once.\n", out)
	_, err = fmt.Fprintln(s.Out, recipient)
	return err
}

func newSigner(mnemonic string, s shell.IO) (did.Signer, error) {
	if mnemonic == "" {
		return did.NewSigner()
	}
	phrase, err := shell.ReadInput(mnemonic, s)
	if err != nil {
		return did.Signer{}, fmt.Errorf("read mnemonic: %w", err)
	}
	return did.SignerFromMnemonic(phrase)
}

func runKeyShow(args []string, s shell.IO) error {
	signer, err := namedKey("key show", args, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, signer.DID())
	return err
}

// namedKey reads the one key file that a command takes.
func namedKey(command string, args []string, s shell.IO) (did.Signer, error) {
	rest, err := shell.ParseMixed(shell.NewFlags(command, s), args)
	if err != nil {
		return did.Signer{}, err
	}
	if len(rest) != 1 {
		return did.Signer{}, shell.Usagef("expected one key file")
	}
	return shell.ReadSigner(rest[0], s)
}
