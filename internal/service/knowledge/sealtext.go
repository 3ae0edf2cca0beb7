package knowledge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// SealText seals a short text of a collection, such as a question that people are
// to answer. Without the collection's key nobody reads it; the name binds it to its
// place.
func (s *Service) SealText(c Collection, name string, plain []byte) ([]byte, error) {
	return s.keys.sealText(c, name, plain)
}

// OpenText opens what SealText sealed.
func (s *Service) OpenText(c Collection, name string, sealed []byte) ([]byte, error) {
	return s.keys.openText(c, name, sealed)
}

func textAAD(collection, name string) []byte {
	return []byte("knowledge/v1/text\x00" + collection + "\x00" + name)
}

// A sealed text is the length of its wrapped key (1 byte), the wrapped key, the
// length of the text (4 bytes) and the sealed text.
func (k *keyring) sealText(c Collection, name string, plain []byte) ([]byte, error) {
	outer, err := k.collection(c)
	if err != nil {
		return nil, err
	}
	key := seal.NewKey()
	wrapped, err := seal.Wrap(outer, key, textAAD(c.ID, name))
	if err != nil {
		return nil, fmt.Errorf("wrap key of text: %w", err)
	}
	_, sealed, err := seal.Bytes(plain, key, textAAD(c.ID, name))
	if err != nil {
		return nil, fmt.Errorf("seal text: %w", err)
	}
	out := append([]byte{byte(len(wrapped))}, wrapped...)        //nolint:gosec // 60 bytes
	out = binary.BigEndian.AppendUint32(out, uint32(len(plain))) //nolint:gosec // texts are short
	return append(out, sealed...), nil
}

var errShortText = errors.New("the sealed text is cut off")

func (k *keyring) openText(c Collection, name string, sealed []byte) ([]byte, error) {
	outer, err := k.collection(c)
	if err != nil {
		return nil, err
	}
	if len(sealed) < 1 || len(sealed) < 1+int(sealed[0])+4 {
		return nil, errShortText
	}
	wrapped, rest := sealed[1:1+int(sealed[0])], sealed[1+int(sealed[0]):]
	key, err := seal.Unwrap(outer, wrapped, textAAD(c.ID, name))
	if err != nil {
		return nil, fmt.Errorf("unwrap key of text: %w", err)
	}
	return seal.Open(rest[4:], key, textAAD(c.ID, name), int64(binary.BigEndian.Uint32(rest)))
}

// Pseudonyms are the names under which records keep somebody without saying who it
// is: the first is for new records, the others are under other master keys.
func (s *Service) Pseudonyms(ctx context.Context, who string) ([]string, error) {
	master, err := s.keys.inForce(ctx)
	if err != nil {
		return nil, err
	}
	return s.keys.pseudonyms(master, who), nil
}

// KnownPseudonyms are those under the keys that this node has, in no order: it reads with
// them also when it has not the one in force.
func (s *Service) KnownPseudonyms(who string) []string {
	return s.keys.pseudonyms(s.keys.master[s.keys.current], who)
}

func (k *keyring) pseudonyms(first seal.Key, who string) []string {
	name := func(key seal.Key) string {
		m := hmac.New(sha256.New, key[:])
		m.Write([]byte("castalia knowledge asker\x00" + who))
		return hex.EncodeToString(m.Sum(nil)[:16])
	}
	out := []string{name(first)}
	for _, key := range k.master {
		if key != first {
			out = append(out, name(key))
		}
	}
	return out
}

// NewID returns a random name for a record.
func NewID() string { return shelf.NewID() }
