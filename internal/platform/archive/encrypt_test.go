package archive_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age/armor"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// key makes a key that opens, and the lock that it opens.
func key(t *testing.T) (archive.Keys, archive.Lock) {
	t.Helper()
	identity, recipient, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	keys, errKeys := archive.KeysFrom("# a comment\n" + identity + "\n")
	lock, errLock := archive.LockTo(recipient)
	if err := errors.Join(errKeys, errLock); err != nil {
		t.Fatal(err)
	}
	return keys, lock
}

func encrypt(t *testing.T, lock archive.Lock, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.Encrypt(&out, lock)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func with(keys archive.Keys) func(archive.Locked) (archive.Keys, error) {
	return func(archive.Locked) (archive.Keys, error) { return keys, nil }
}

func verify(text []byte, keys archive.Keys) error {
	plain, err := archive.Decrypt(bytes.NewReader(text), with(keys))
	if err != nil {
		return err
	}
	_, err = archive.Verify(plain, anybody)
	return err
}

func TestAnEncryptedArchiveIsWholeOrRefused(t *testing.T) {
	t.Parallel()
	source, _ := place(t, sqldbtest.SQLiteURL(t))
	fill(t, &source)
	plain := write(t, source)
	keys, lock := key(t)
	text := encrypt(t, lock, plain)
	for _, word := range []string{"demo_things", "ORACLE_KEY", "castalia.json"} {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("%s is in clear", word)
		}
	}
	if err := verify(text, keys); err != nil {
		t.Fatal(err)
	}
	var armored bytes.Buffer
	w := armor.NewWriter(&armored)
	if _, err := w.Write(text); errors.Join(err, w.Close()) != nil {
		t.Fatal(err)
	}
	if err := verify(armored.Bytes(), keys); err != nil {
		t.Errorf("armoured: %v", err)
	}
	cuts := []int{len(text) - 1, len(text) - 16, len(text) - 17, len(text) - 1025}
	for at := 0; at < len(text); at += 997 {
		cuts = append(cuts, at)
	}
	for at := 64 << 10; at < len(text); at += 64<<10 + 16 { // around the chunks of the stream
		cuts = append(cuts, at, at+16)
	}
	for _, at := range cuts {
		if err := verify(text[:at], keys); err == nil {
			t.Errorf("cut at %d of %d: accepted", at, len(text))
		}
		hurt := bytes.Clone(text)
		hurt[at] ^= 1
		if err := verify(hurt, keys); err == nil {
			t.Errorf("changed at %d of %d: accepted", at, len(text))
		}
	}
	other, _ := key(t)
	if err := verify(text, other); err == nil || !strings.Contains(err.Error(), "not encrypted for this key") {
		t.Errorf("with another key: %v", err)
	}
	// What is plain needs no key, and every cut is refused there too.
	for _, at := range []int{len(plain) - 1, len(plain) - 512, len(plain) - 1023, len(plain) - 1024} {
		if err := verify(plain[:at], archive.Keys{}); err == nil {
			t.Errorf("plain, cut at %d of %d: accepted", at, len(plain))
		}
	}
	if err := verify(plain, archive.Keys{}); err != nil {
		t.Errorf("plain: %v", err)
	}
	if err := verify(append(bytes.Clone(plain), "more"...), archive.Keys{}); err == nil {
		t.Error("plain, with something behind it: accepted")
	}
}

func TestAPassphraseOpensAnArchive(t *testing.T) {
	t.Parallel()
	source, _ := place(t, sqldbtest.SQLiteURL(t))
	fill(t, &source)
	lock, err := archive.LockBy("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	text := encrypt(t, lock, write(t, source))
	for passphrase, good := range map[string]bool{"correct horse battery": true, "correct horse": false} {
		plain, err := archive.Decrypt(bytes.NewReader(text), func(how archive.Locked) (archive.Keys, error) {
			if how != archive.ByPassphrase {
				t.Errorf("asked for %v", how)
			}
			return archive.KeyOf(passphrase)
		})
		if good && err == nil {
			_, err = archive.Verify(plain, anybody)
		}
		if good != (err == nil) {
			t.Errorf("%q: %v", passphrase, err)
		}
	}
	if _, err := archive.LockBy("eleven char"); err == nil {
		t.Error("a short passphrase is taken")
	}
	if _, err := archive.LockBy(""); err == nil {
		t.Error("no passphrase is one")
	}
	if _, err := archive.LockTo(); err == nil {
		t.Error("nobody is a recipient")
	}
}

// pattern is as many bytes as are asked for. On the way it looks how much memory
// is in use.
type pattern struct {
	left int64
	most uint64
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), p.left)
	if p.left>>22 != (p.left-n)>>22 { // every 4 MiB
		p.most = max(p.most, heap())
	}
	p.left -= n
	return int(n), nil
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What goes through is never held whole.
// It is not parallel, since it looks at the memory of the whole process.
func TestEncryptionStreams(t *testing.T) {
	keys, lock := key(t)
	runtime.GC()
	before := heap()
	const size = 96 << 20
	source := &pattern{left: size}
	r, w := io.Pipe()
	go func() {
		to, err := archive.Encrypt(w, lock)
		if err == nil {
			_, err = io.Copy(to, source)
		}
		if err == nil {
			err = to.Close()
		}
		w.CloseWithError(err)
	}()
	plain, err := archive.Decrypt(r, with(keys))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, plain)
	if err != nil || n != size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if source.most > before+24<<20 {
		t.Errorf("%d bytes were in use, %d before", source.most, before)
	}
}

func FuzzDecrypt(f *testing.F) {
	f.Add([]byte("age-encryption.org/v1\n-> scrypt c2FsdHNhbHRzYWx0c2FsdA 30\nAA\n--- AA\n"))
	f.Add([]byte("age-encryption.org/v1\n-> X25519 AA\nAA\n--- AA\n"))
	f.Add([]byte(armor.Header + "\n"))
	f.Add([]byte("castalia.json"))
	identity, _, err := archive.NewKey()
	if err != nil {
		f.Fatal(err)
	}
	keys, err := archive.KeysFrom(identity)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain, err := archive.Decrypt(bytes.NewReader(text), with(keys))
		if err != nil {
			return
		}
		if _, err := archive.Verify(plain, anybody); err == nil && !bytes.Contains(text, []byte("sha256")) {
			t.Error("something without a sum was accepted")
		}
	})
}
