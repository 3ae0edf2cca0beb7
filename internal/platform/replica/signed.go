package replica

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/castalia-org/castalia/internal/platform/archive"
)

// signedAs goes before the text of a start where it is signed, so that the signature is
// good for nothing else.
const signedAs = "castalia replica start\n"

// signature follows the text of a start. Whoever can write to the place and knows for
// whom it is encrypted could begin a generation otherwise. What a generation holds needs
// none of its own: it is encrypted for a key that only its start tells.
type signature struct {
	Signer    string `json:"signer"`
	Signature []byte `json:"signature"`
}

// sealStart returns a start as it is stored, signed.
func sealStart(s start, signer archive.Signer, lock archive.Lock) ([]byte, error) {
	var text bytes.Buffer
	if err := writeJSON(&text, s); err != nil {
		return nil, err
	}
	by := signature{signer.Name, signer.Sign(append([]byte(signedAs), text.Bytes()...))}
	if err := writeJSON(&text, by); err != nil {
		return nil, err
	}
	return sealText(text.Bytes(), lock)
}

func sealText(text []byte, lock archive.Lock) ([]byte, error) {
	var out bytes.Buffer
	w, err := seal(&out, lock)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// openStart reads a start and who signed it; nobody is empty.
func (w *Wanted) openStart(from io.Reader) (s start, err error) {
	text, err := io.ReadAll(io.LimitReader(from, 2*maxSmall))
	if err != nil {
		return s, err
	}
	in := bytes.NewReader(text)
	if err := readJSON(in, &s); err != nil {
		return s, err
	}
	signed := text[:len(text)-in.Len()]
	if in.Len() == 0 { // as releases before wrote it
		return s, nil
	}
	var sig signature
	if err := readJSON(in, &sig); err != nil {
		return s, err
	}
	if in.Len() > 0 {
		return s, errors.New("something follows its signature")
	}
	s.by = sig.Signer
	return s, w.Verify(sig.Signer, append([]byte(signedAs), signed...), sig.Signature)
}

// from refuses a start that the wanted deployment did not write, if one is wanted.
func (w *Wanted) from(generation int64, by string) error {
	switch {
	case by == "" && !w.Unsigned:
		return fmt.Errorf("generation %d of the replica is not signed: a server of a release that did not sign wrote it, or somebody else who can write to that place; `--unsigned` restores it all the same", generation)
	case by != "" && w.Signer != "" && by != w.Signer:
		return fmt.Errorf("generation %d of the replica is signed by %s, not by %s: if that is this deployment's earlier key, say `--signer %s`; if not, somebody else wrote it: move %s aside", generation, by, w.Signer, by, startName(generation))
	}
	return nil
}

// notBehind refuses a generation that nobody signed where one before it is signed:
// whoever can write to the place could lay one on top of what they cannot forge.
func (w *Wanted) notBehind(ctx context.Context, unsigned int64, older []int64) error {
	for _, g := range older {
		s, err := readStart(ctx, w, g)
		if err != nil {
			return err
		}
		if s.by != "" {
			return fmt.Errorf("generation %d of the replica is not signed, and %d before it is, by %s: move %s aside to restore what is signed", unsigned, g, s.by, startName(unsigned))
		}
	}
	return nil
}

// continues refuses a generation that goes on with one of somebody else's.
func (s *start) continues(older start) error {
	if s.by == older.by {
		return nil
	}
	return fmt.Errorf("generation %d of the replica is signed by %s, and %d, with which it goes on, is not: move %s aside to restore what is before it",
		s.Generation, cmp.Or(s.by, "nobody"), older.Generation, startName(s.Generation))
}
