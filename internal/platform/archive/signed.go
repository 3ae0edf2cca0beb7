package archive

import (
	"errors"
	"fmt"
)

// signedAs goes before what is signed, so that a signature is good for nothing else.
const signedAs = "castalia archive\n"

// ErrUnsigned says that nobody signed an archive, although somebody had to.
var ErrUnsigned = errors.New("the archive is not signed: a release that did not sign wrote it, or somebody else who can write to where it was kept; `--unsigned` restores it all the same")

// Signer signs for a deployment: with a key that is known by this name.
type Signer struct {
	Name string
	Sign func(text []byte) []byte
}

// Author is who may have made what is restored.
type Author struct {
	// Signer is who must have signed it; empty: anybody.
	Signer string
	// Unsigned takes what nobody signed, as releases before wrote it.
	Unsigned bool
	// Verify says what is wrong with a signature.
	Verify func(signer string, text, signature []byte) error
}

// statement is what is signed: the sum has names, lengths and bytes of all other entries.
func (e end) statement() []byte { return fmt.Appendf(nil, "%s%d %s\n", signedAs, e.Entries, e.SHA256) }

// signed returns an end as the signer writes it; without one, as it is.
func (e end) signed(by Signer) end {
	if by.Sign == nil {
		return e
	}
	e.Signer, e.Signature = by.Name, by.Sign(e.statement())
	return e
}

// made refuses the end of an archive that the author did not make.
func (a Author) made(e end) error {
	switch {
	case e.Signer == "" && len(e.Signature) > 0:
		return fmt.Errorf("%w: its signature has no signer", errCut)
	case e.Signer == "" && !a.Unsigned:
		return ErrUnsigned
	case e.Signer == "":
		return nil
	}
	if a.Verify == nil {
		return errors.New("the archive is signed, and nothing here can tell by whom")
	}
	if err := a.Verify(e.Signer, e.statement(), e.Signature); err != nil {
		return fmt.Errorf("the archive: %w", err)
	}
	if a.Signer != "" && e.Signer != a.Signer {
		return fmt.Errorf("the archive is signed by %s, not by %s: if that is this deployment's earlier key, say `--signer %s`; if not, somebody else made it",
			e.Signer, a.Signer, e.Signer)
	}
	return nil
}
