package ucancli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

// typed answers each question with the next line.
func typed(lines ...string) func(string) (string, error) {
	return func(string) (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
}

func TestWordsAreAskedForOneByOne(t *testing.T) {
	t.Parallel()
	signer, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	words := signer.Words()
	oneByOne := append(append(append([]string(nil), words[:7]...), "goatherd", ""), words[7:]...)
	for name, lines := range map[string][]string{
		"one by one, one of them wrong at first": oneByOne,
		"all in one line":                        {strings.Join(words, " ")},
		"in lines as they were written down":     {"1. " + strings.ToUpper(words[0]) + " 2. " + words[1], strings.Join(words[2:], ", ")},
		"the text of the key":                    {signer.SeedText()},
		"the text of a key file":                 {signer.PrivateText()},
	} {
		var told []string
		got, err := askKey(t.Context(), typed(lines...), func(trouble string) { told = append(told, trouble) })
		if err != nil || got.DID() != signer.DID() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if wrong := len(lines) > did.Words; wrong != (len(told) == 1 && strings.HasPrefix(told[0], "Word 8 is not")) {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

func TestAskingForWordsEnds(t *testing.T) {
	t.Parallel()
	silent := func(string) {}
	if _, err := askKey(t.Context(), typed("abandon", "ability"), silent); !errors.Is(err, io.EOF) {
		t.Errorf("at the end of what is typed: %v", err)
	}
	if _, err := askKey(t.Context(), typed(strings.Repeat("zoo ", did.Words+1)), silent); !errors.Is(err, did.ErrWords) {
		t.Errorf("too many words: %v", err)
	}
	if _, err := askKey(t.Context(), typed(strings.Repeat("zoo ", did.Words)), silent); !errors.Is(err, did.ErrWords) {
		t.Errorf("a wrong checksum: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := askKey(gone, typed("abandon", "ability"), silent); !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
}
