package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

const sumsFile = "SHA256SUMS"

// readSigner opens the key that signs; without a file nobody does.
func readSigner(file string) (*minisign.PrivateKey, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // no key is no mistake
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		key, err = minisign.DecryptKey(os.Getenv("MINISIGN_PASSWORD"), text) //nolint:forbidigo // a program of its own
	} else {
		err = key.UnmarshalText(text)
	}
	if err != nil {
		return nil, fmt.Errorf("open the signing key: %w", err)
	}
	return &key, nil
}

// publicOf is the key that others check with.
func publicOf(key *minisign.PrivateKey) (minisign.PublicKey, error) {
	public, ok := key.Public().(minisign.PublicKey)
	if !ok {
		return public, errors.New("the signing key has no public half")
	}
	return public, nil
}

// writeInstaller writes the install script with the address and the key of this
// release. Without a key it is not written: it would install what nobody signed.
func (r *release) writeInstaller(url string, key *minisign.PrivateKey) error {
	if key == nil {
		r.tell("not signed: there is no install script without -key")
		return nil
	}
	public, err := publicOf(key)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.source, "deploy", "install.sh"))
	if err != nil {
		return err
	}
	script := string(text)
	for name, value := range map[string]string{"@VERSION@": r.version, "@URL@": strings.TrimSuffix(url, "/"), "@KEY@": public.String()} {
		if strings.Count(script, name) != 1 {
			return fmt.Errorf("install.sh must have %s once", name)
		}
		script = strings.ReplaceAll(script, name, value)
	}
	comment, err := public.MarshalText()
	if err != nil {
		return err
	}
	return errors.Join(writeFile(r.file("install.sh"), script), writeFile(r.file("castalia.pub"), string(comment)+"\n"))
}

// writeSums writes SHA256SUMS over everything that is there, and its signature.
func (r *release) writeSums(key *minisign.PrivateKey) error {
	entries, err := os.ReadDir(r.out) // sorted by name
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		content, err := os.ReadFile(r.file(e.Name()))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(&sums, "%s  %s\n", strings.TrimPrefix(digest(content), "sha256:"), e.Name())
	}
	if err := writeFile(r.file(sumsFile), sums.String()); err != nil {
		return err
	}
	r.tell("%d files in %s", len(entries), r.out)
	if key == nil {
		return nil
	}
	// Over the hash of the text, as minisign does it nowadays. The comment has no
	// time, so that a second signature is the same.
	reader := minisign.NewReader(&sums)
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return err
	}
	signature := reader.SignWithComments(*key, "castalia "+r.version, "signature of the release "+r.version)
	return writeFile(r.file(sumsFile+".minisig"), string(signature))
}
