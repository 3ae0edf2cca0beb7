// Package shipcli has the commands about the program as it is shipped: whether a
// download is what its makers signed, and whether a server that runs is well.
package shipcli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

// How `castalia verify` is called, and what it is for.
const (
	VerifyUsage   = "--key FILE|KEY FOLDER|FILE…"
	VerifySummary = "check a download against the signature of its release"
)

// The files of a release that speak for the others.
const (
	sumsFile      = "SHA256SUMS"
	signatureFile = sumsFile + ".minisig"
)

// maxText bounds what is read of sums, signatures and keys: they come from where
// the download came from.
const maxText = 1 << 20

// RunVerify believes SHA256SUMS when the key signed it, and files when SHA256SUMS
// has them. A file that is not in it is refused like one that was changed.
func RunVerify(_ context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("verify", s)
	keyText := fs.String("key", "", "minisign public key of the release: a `FILE`, or the key itself")
	paths, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if *keyText == "" {
		return shell.Usagef("expected --key with the public key of the release, which you must have from elsewhere than the download")
	}
	if len(paths) == 0 {
		return shell.Usagef("expected the folder of a release, or files of it")
	}
	key, err := readKey(*keyText)
	if err != nil {
		return err
	}
	for _, path := range paths {
		folder, names := filepath.Dir(path), []string{filepath.Base(path)}
		if shell.IsFolder(path) {
			folder = path
			if names, err = filesIn(path); err != nil {
				return err
			}
		}
		if err := verifyFiles(s.Out, key, folder, names); err != nil {
			return err
		}
	}
	return nil
}

// readKey takes the key as it is, or from a file.
func readKey(text string) (key minisign.PublicKey, err error) {
	if key.UnmarshalText([]byte(text)) == nil {
		return key, nil
	}
	content, err := readText(text)
	if err != nil {
		return key, fmt.Errorf("read the key: %w", err)
	}
	if err := key.UnmarshalText(bytes.TrimSpace(content)); err != nil {
		return key, fmt.Errorf("%s is no minisign public key: %w", text, err)
	}
	return key, nil
}

// filesIn names what a folder has besides the sums and their signature.
func filesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != sumsFile && e.Name() != signatureFile {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no file of a release", folder)
	}
	return names, nil
}

func verifyFiles(out io.Writer, key minisign.PublicKey, folder string, names []string) error {
	sums, err := readText(filepath.Join(folder, sumsFile))
	if err != nil {
		return fmt.Errorf("%w: download %s and %s of the release too", err, sumsFile, signatureFile)
	}
	signature, err := readText(filepath.Join(folder, signatureFile))
	if err != nil {
		return fmt.Errorf("%w: download it too", err)
	}
	if !minisign.Verify(key, sums, signature) {
		return fmt.Errorf("%s was not signed with the key %016X: do not use this download", filepath.Join(folder, sumsFile), key.ID())
	}
	want, err := parseSums(sums)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == sumsFile || name == signatureFile {
			continue
		}
		sum, listed := want[name]
		if !listed {
			return fmt.Errorf("%s is no file of this release", filepath.Join(folder, name))
		}
		got, err := sumOf(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if got != sum {
			return fmt.Errorf("%s was changed: its SHA-256 is %s, and the release has %s; do not use it", filepath.Join(folder, name), got, sum)
		}
		if _, err := fmt.Fprintf(out, "ok  %s\n", name); err != nil {
			return err
		}
	}
	return nil
}

// parseSums reads the lines of sha256sum, "<hex>  <name>", for names without a folder.
func parseSums(text []byte) (map[string]string, error) {
	sums := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		sum, name, ok := strings.Cut(line, "  ")
		raw, err := hex.DecodeString(sum)
		if !ok || err != nil || len(raw) != sha256.Size || strings.ToLower(sum) != sum || name == "" ||
			strings.ContainsAny(name, `/\`) {
			return nil, fmt.Errorf("%s: %q is no line of sums", sumsFile, line)
		}
		if _, twice := sums[name]; twice {
			return nil, fmt.Errorf("%s has %s twice", sumsFile, name)
		}
		sums[name] = sum
	}
	if len(sums) == 0 {
		return nil, errors.New(sumsFile + " is empty")
	}
	return sums, nil
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readText reads a small file.
func readText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("%s is too long", path)
	}
	return text, err
}
