package did_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

// vector is a seed, its words and whose key it is; the console is held by the same file.
type vector struct{ Seed, Words, DID string }

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("../../../spec/vectors/words.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 8 {
		t.Fatalf("%d vectors", len(all))
	}
	return all
}

func TestWordListIsThatOfBIP39(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("english.txt")
	if err != nil {
		t.Fatal(err)
	}
	const want = "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda" // of bip-0039/english.txt
	if got := hex.EncodeToString(sha256Of(text)); got != want {
		t.Errorf("the list is another: %s", got)
	}
}

func sha256Of(b []byte) []byte { sum := sha256.Sum256(b); return sum[:] }

func TestWordsAreTheSeed(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		seed, err := hex.DecodeString(v.Seed)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := did.SignerFromSeed(seed)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(signer.Words(), " "); got != v.Words {
			t.Errorf("%s: %s", v.Seed, got)
		}
		back, err := did.SignerFromWords(v.Words)
		if err != nil || back.PrivateText() != signer.PrivateText() || string(back.DID()) != v.DID {
			t.Errorf("%s is the key of %s, want %s; %v", v.Words, back, v.DID, err)
		}
	}
}

func TestWordsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	v := vectors(t)[5]
	words := strings.Fields(v.Words)
	var numbered, columns, listed strings.Builder
	for i, w := range words {
		fmt.Fprintf(&numbered, "%2d. %s\r\n", i+1, strings.ToUpper(w))
		fmt.Fprintf(&columns, "%d)%s\u00a0\t", i+1, w)
		fmt.Fprintf(&listed, "\u2068(%d) %s\u2069,", i+1, w)
	}
	for _, text := range []string{
		numbered.String(), columns.String(), listed.String(), "\ufeff  " + strings.Join(words, "  \n\n") + "\n", strings.Join(words, ","),
	} {
		if got, err := did.SignerFromWords(text); err != nil || string(got.DID()) != v.DID {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestWrongWordsAreNamedByTheirPlace(t *testing.T) {
	t.Parallel()
	v := vectors(t)[4]
	words := strings.Fields(v.Words)
	with := func(i int, word string) string {
		changed := append([]string(nil), words...)
		changed[i] = word
		return strings.Join(changed, " ")
	}
	for text, want := range map[string]string{
		with(6, "goatherd"):                      "word 7 is not on the list",
		with(23, "zoo"):                          "checksum is wrong",
		with(0, words[1]):                        "checksum is wrong",
		strings.Join(words[:12], " "):            "there are 12 words",
		strings.Join(words[:23], " "):            "there are 23 words",
		"":                                       "there are 0 words",
		strings.Repeat("abandon ", 1000):         "more than 4096 bytes",
		strings.Join(words, " ") + " " + "extra": "there are 25 words",
	} {
		_, err := did.SignerFromWords(text)
		if !errors.Is(err, did.ErrWords) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "goatherd") {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	if !did.IsWord("zoo") || did.IsWord("goatherd") || did.IsWord("") {
		t.Error("the list does not know its words")
	}
}

func FuzzSignerFromWords(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Words)
	}
	f.Add("1. abandon\n2. ability")
	f.Fuzz(func(t *testing.T, text string) {
		signer, err := did.SignerFromWords(text)
		if err != nil {
			return
		}
		// A key has one spelling in words, and it is what was read.
		if got, want := strings.Join(signer.Words(), " "), strings.Join(did.SplitWords(text), " "); got != want {
			t.Fatalf("%q is read as %q", want, got)
		}
	})
}
