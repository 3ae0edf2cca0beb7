package archive

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"filippo.io/age"
)

// counted is an identity that counts what it is asked.
type counted struct {
	age.Identity
	asked int
}

func (c *counted) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	c.asked++
	return c.Identity.Unwrap(stanzas)
}

// A passphrase costs a second each time it is tried: for one archive that is read twice it is
// tried once. Another archive, and one whose header was changed meanwhile, is tried anew.
func TestAPassphraseIsTriedOnceForAnArchive(t *testing.T) {
	t.Parallel()
	const passphrase = "correct horse battery"
	lockBy := func(text string) []byte {
		t.Helper()
		r, err := age.NewScryptRecipient(text)
		if err != nil {
			t.Fatal(err)
		}
		r.SetWorkFactor(2)
		var out bytes.Buffer
		w, err := Encrypt(&out, Lock{[]age.Recipient{r}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	id, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	slow := &counted{Identity: id}
	keys := Keys{[]age.Identity{&remembering{slow: slow}}}
	first, second, foreign := lockBy(passphrase), lockBy(passphrase), lockBy("another passphrase")
	for i, step := range []struct {
		archive []byte
		refused bool
		asked   int
	}{
		{first, false, 1},
		{first, false, 1},
		{second, false, 2},
		{second, false, 2},
		{foreign, true, 3},
		{foreign, true, 4},
		{second, false, 4},
	} {
		plain, err := Decrypt(bytes.NewReader(step.archive), func(Locked) (Keys, error) { return keys, nil })
		if step.refused != errors.Is(err, ErrOtherKey) || slow.asked != step.asked {
			t.Fatalf("step %d: %v, tried %d times, want %d", i, err, slow.asked, step.asked)
		}
		if step.refused {
			continue
		}
		if text, err := io.ReadAll(plain); err != nil || string(text) != passphrase {
			t.Errorf("step %d: %q, %v", i, text, err)
		}
	}
}
