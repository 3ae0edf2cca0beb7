package ucancli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/qrcode"
)

// shown is said beside a secret on the screen. It goes to the other stream, so that who
// prints the words has nothing else on the paper.
const shown = "Whoever sees this is you. It is in the memory of this terminal's window until that is closed."

// runKeyWords shows a key as words to be written down.
func runKeyWords(args []string, s shell.IO) error {
	signer, err := namedKey("key words", args, s)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Err, "The key of %s in %d words: the key itself, not the phrase of a wallet. %s\n"+
		"`castalia key import` and the console take them back.\n", signer.DID(), did.Words, shown)
	// Always with their numbers: what is saved so is not taken for the phrase of a wallet.
	const columns = 4
	words := signer.Words()
	var b strings.Builder
	for i, word := range words {
		if (i+1)%columns == 0 {
			fmt.Fprintf(&b, "%2d. %s\n", i+1, word)
		} else {
			fmt.Fprintf(&b, "%2d. %-10s", i+1, word)
		}
	}
	_, err = fmt.Fprint(s.Out, b.String())
	return err
}

// runKeyCode draws a key as the QR code that the console reads.
func runKeyCode(args []string, s shell.IO) error {
	signer, err := namedKey("key qr", args, s)
	if err != nil {
		return err
	}
	code, err := qrcode.Encode(signer.SeedText())
	if err != nil {
		return fmt.Errorf("draw key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "The key of %s; the first page of the console reads it with a camera. %s\n", signer.DID(), shown)
	_, err = fmt.Fprint(s.Out, code.Text())
	return err
}

// runKeyImport makes a key file of a key that was written down, or that the console shows.
func runKeyImport(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key import", s)
	out := fs.String("out", shell.DefaultKeyFile, "`FILE` to write the key to; it must not exist")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return shell.Usagef("expected one file with the words of a key, or with its text: typed as arguments they stay in the shell's history")
	}
	signer, err := broughtKey(ctx, rest, s)
	if err != nil {
		return fmt.Errorf("import key: %w", err)
	}
	if err := shell.WriteNew(*out, signer.PrivateText()+"\n"); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "The key is in %s. Whoever has this file is you: keep it secret.\n", *out)
	_, err = fmt.Fprintln(s.Out, signer.DID())
	return err
}

// broughtKey asks at the terminal when no file is named and somebody is there.
func broughtKey(ctx context.Context, named []string, s shell.IO) (did.Signer, error) {
	if len(named) == 0 && s.InIsTerminal() {
		_, _ = fmt.Fprintf(s.Err, "Type the %d words, one at a time or all in one line, or the text of the key. What you type is not shown.\n", did.Words)
		hidden, err := shell.OpenHidden(s)
		if err != nil {
			return did.Signer{}, err
		}
		defer hidden.Close()
		return askKey(ctx, hidden.Ask, hidden.Say)
	}
	text, err := shell.ReadInput(append(named, "-")[0], s)
	if err != nil {
		return did.Signer{}, err
	}
	return keyOf(text)
}

// keyOf reads the words of a key, or its text.
func keyOf(text string) (did.Signer, error) {
	if len(did.SplitWords(text)) > 1 {
		return did.SignerFromWords(text)
	}
	return did.ParseSigner(text)
}

// askKey asks for words until there are enough. One that is on no list is asked for
// again, since who typed it could not see it.
func askKey(
	ctx context.Context, ask func(prompt string) (string, error), tell func(trouble string),
) (did.Signer, error) {
	var words []string
	for len(words) < did.Words {
		line, err := ask(fmt.Sprintf("Word %d of %d: ", len(words)+1, did.Words))
		if err = errors.Join(err, ctx.Err()); err != nil {
			return did.Signer{}, err
		}
		if len(words) == 0 {
			if signer, err := did.ParseSigner(line); err == nil {
				return signer, nil
			}
		}
		for _, word := range did.SplitWords(line) {
			if !did.IsWord(word) {
				tell(fmt.Sprintf("Word %d is not on the list. Type it again, and those after it.", len(words)+1))
				break
			}
			words = append(words, word)
		}
	}
	return did.SignerFromWords(strings.Join(words, " "))
}
