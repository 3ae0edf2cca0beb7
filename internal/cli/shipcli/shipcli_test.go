package shipcli_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/cli/shipcli"
)

type runner func(context.Context, []string, shell.IO) error

func call(t *testing.T, run runner, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, shell.IO{In: strings.NewReader(""), Out: &out, Err: &out})
	return out.String(), err
}

// release writes a folder with two files that the key signed.
func release(t *testing.T) (folder string, public minisign.PublicKey) {
	t.Helper()
	folder = t.TempDir()
	var sums strings.Builder
	for _, name := range []string{"castalia.deb", "castalia.tar.gz"} {
		write(t, folder, name, "what "+name+" holds")
		_, _ = fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte("what "+name+" holds")), name)
	}
	write(t, folder, "SHA256SUMS", sums.String())
	return folder, sign(t, folder)
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sign signs the sums as they are, with a key of its own.
func sign(t *testing.T, folder string) minisign.PublicKey {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, "SHA256SUMS.minisig", string(minisign.Sign(private, sums)))
	return public
}

func TestADownloadAsItWasSignedIsBelieved(t *testing.T) {
	t.Parallel()
	folder, key := release(t)
	text, err := key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "castalia.pub")
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{key.String(), file} {
		out, err := call(t, shipcli.RunVerify, "--key", given, folder)
		if err != nil || out != "ok  castalia.deb\nok  castalia.tar.gz\n" {
			t.Errorf("the folder: %q, %v", out, err)
		}
		out, err = call(t, shipcli.RunVerify, "--key", given, filepath.Join(folder, "castalia.deb"))
		if err != nil || out != "ok  castalia.deb\n" {
			t.Errorf("one file: %q, %v", out, err)
		}
	}
}

func TestADownloadThatSomebodyChangedIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, folder string)
		want   string
	}{
		"a file":       {func(t *testing.T, f string) { t.Helper(); write(t, f, "castalia.deb", "other") }, "castalia.deb was changed"},
		"a file added": {func(t *testing.T, f string) { t.Helper(); write(t, f, "extra", "x") }, "extra is no file of this release"},
		"the sums": {func(t *testing.T, f string) {
			t.Helper()
			write(t, f, "SHA256SUMS", strings.Repeat("0", 64)+"  castalia.deb\n")
		}, "was not signed"},
		"another key":  {func(t *testing.T, f string) { t.Helper(); sign(t, f) }, "was not signed"},
		"no signature": {func(t *testing.T, f string) { t.Helper(); _ = os.Remove(filepath.Join(f, "SHA256SUMS.minisig")) }, "SHA256SUMS.minisig"},
		"a broken one": {func(t *testing.T, f string) { t.Helper(); write(t, f, "SHA256SUMS.minisig", "x") }, "was not signed"},
		"a very long one": {func(t *testing.T, f string) {
			t.Helper()
			write(t, f, "SHA256SUMS.minisig", strings.Repeat("x", 2<<20))
		}, "too long"},
		"nothing to verify": {func(t *testing.T, f string) { t.Helper(); _ = os.Remove(filepath.Join(f, "SHA256SUMS")) }, "SHA256SUMS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, key := release(t)
			c.change(t, folder)
			if out, err := call(t, shipcli.RunVerify, "--key", key.String(), folder); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}

func TestSumsWithAnotherMeaningAreRefused(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("ab", 32) + "  x"
	for _, sums := range []string{
		"", "\n", good + "\n" + good + "\n", strings.Repeat("ab", 32) + "  ../x\n",
		strings.Repeat("AB", 32) + "  x\n", "abcd  x\n", strings.Repeat("ab", 32) + " *x\n",
	} {
		folder := t.TempDir()
		write(t, folder, "SHA256SUMS", sums)
		write(t, folder, "x", "x")
		key := sign(t, folder)
		if out, err := call(t, shipcli.RunVerify, "--key", key.String(), folder); err == nil ||
			strings.Contains(err.Error(), "was not signed") {
			t.Errorf("%q: %q, %v", sums, out, err)
		}
	}
}

func TestAKeyMustBeGiven(t *testing.T) {
	t.Parallel()
	folder, _ := release(t)
	for _, args := range [][]string{{folder}, {"--key", "nowhere.pub", folder}, {"--key", filepath.Join(folder, "castalia.deb"), folder}} {
		if _, err := call(t, shipcli.RunVerify, args...); err == nil {
			t.Errorf("%v passes", args)
		}
	}
}

func TestHealthIsWhatReadySays(t *testing.T) {
	t.Parallel()
	for body, c := range map[string]struct {
		status int
		want   string
	}{
		`{"ready":true,"checks":{"database":"ok"}}`:    {200, ""},
		`{"ready":false,"checks":{"database":"away"}}`: {503, "is not ready"},
		`<html>`: {200, "not as Castalia does"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/ready" {
				t.Errorf("asked for %s", r.URL)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(body))
		}))
		out, err := call(t, shipcli.RunHealth, "--server", server.URL+"/")
		server.Close()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) ||
			err == nil && !strings.Contains(out, "database   ok") {
			t.Errorf("%s: %q, %v", body, out, err)
		}
	}
	if _, err := call(t, shipcli.RunHealth, "--server", "http://127.0.0.1:1"); err == nil {
		t.Error("a server that is not there is well")
	}
}
