package knowcli_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli/knowcli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// A key is no document: whoever asks for it would be its owner.
func TestKeysAreNotAdded(t *testing.T) {
	t.Parallel()
	signer, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(key, []byte(signer.PrivateText()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := shell.IO{Out: &out, Err: &out}
	err = knowcli.Run(t.Context(), []string{"add", "--key", key, key}, s)
	if err == nil || !strings.Contains(err.Error(), "holds a private key") || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was added: %v", err)
	}
}
