// Package blobtest holds the contract that every blob.Store must pass, and a
// store that fails on demand.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Contract runs every promise of blob.Store against stores made by open, which
// returns an empty one each time.
func Contract(t *testing.T, open func(t *testing.T) blob.Store) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, blob.Store){
		"PutGet":           putGet,
		"Ranges":           ranges,
		"Replace":          replace,
		"CreateOnly":       createOnly,
		"CreateOnlyRace":   createOnlyRace,
		"AllOrNothing":     allOrNothing,
		"Length":           length,
		"Absent":           absent,
		"Delete":           remove,
		"ListInOrder":      listInOrder,
		"BadKeys":          badKeys,
		"CancelledContext": cancelled,
		"OpenReader":       openReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// Bytes returns n bytes that look random and are always the same.
func Bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func put(t *testing.T, s blob.Store, key string, data []byte) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, bytes.NewReader(data), blob.Sized(int64(len(data)))); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func read(t *testing.T, s blob.Store, key string, off, n int64) []byte {
	t.Helper()
	r, err := s.Get(t.Context(), key, off, n)
	if err != nil {
		t.Fatalf("get %s %d+%d: %v", key, off, n, err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	return b
}

// sizes are around the borders at which backends change their ways.
var sizes = []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 5 << 20, 11<<20 + 3}

func putGet(t *testing.T, s blob.Store) {
	for i, n := range sizes {
		data := Bytes(n)
		for name, opt := range map[string]blob.PutOptions{"known": blob.Sized(int64(n)), "unknown": {}} {
			key := fmt.Sprintf("a/%d-%s", i, name)
			// One byte at a time is what a slow client sends; too slow for the large ones.
			body := io.Reader(bytes.NewReader(data))
			if n < 100_000 {
				body = iotest.HalfReader(body)
			}
			info, err := s.Put(t.Context(), key, body, opt)
			if err != nil {
				t.Fatalf("put %d bytes, %s: %v", n, name, err)
			}
			if info.Key != key || info.Size != int64(n) {
				t.Errorf("put says %+v", info)
			}
			if got := read(t, s, key, 0, -1); !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %s: other bytes (%d)", n, name, len(got))
			}
			st, err := s.Stat(t.Context(), key)
			if err != nil || st.Size != int64(n) || st.Key != key || st.ModTime.IsZero() {
				t.Errorf("stat: %+v, %v", st, err)
			}
		}
	}
}

func ranges(t *testing.T, s blob.Store) {
	data := Bytes(1000)
	put(t, s, "k", data)
	for _, c := range []struct{ off, n, from, to int64 }{
		{0, 1, 0, 1},
		{0, 1000, 0, 1000},
		{0, 2000, 0, 1000},
		{1, 1, 1, 2},
		{999, 1, 999, 1000},
		{999, -1, 999, 1000},
		{500, -1, 500, 1000},
		{500, 700, 500, 1000},
		{1000, -1, 1000, 1000},
		{1000, 5, 1000, 1000},
		{10, 0, 10, 10},
	} {
		if got := read(t, s, "k", c.off, c.n); !bytes.Equal(got, data[c.from:c.to]) {
			t.Errorf("range %d+%d: %d bytes", c.off, c.n, len(got))
		}
	}
	for _, off := range []int64{1001, -1} {
		if _, err := s.Get(t.Context(), "k", off, -1); !fault.Is(err, fault.RangeUnsatisfiable) {
			t.Errorf("range from %d: %v", off, err)
		}
	}
}

func replace(t *testing.T, s blob.Store) {
	put(t, s, "k", []byte("first, and longer"))
	put(t, s, "k", []byte("second"))
	if got := read(t, s, "k", 0, -1); string(got) != "second" {
		t.Errorf("got %q", got)
	}
}

func createOnly(t *testing.T, s blob.Store) {
	for _, n := range []int{3, 6 << 20} {
		key := fmt.Sprintf("k%d", n)
		data := Bytes(n)
		opt := blob.PutOptions{CreateOnly: true}
		if _, err := s.Put(t.Context(), key, bytes.NewReader(data), opt); err != nil {
			t.Fatalf("first put: %v", err)
		}
		if _, err := s.Put(t.Context(), key, bytes.NewReader(data[1:]), opt); !errors.Is(err, blob.ErrExists) {
			t.Errorf("second put of %d bytes: %v, want ErrExists", n, err)
		}
		if got := read(t, s, key, 0, -1); !bytes.Equal(got, data) {
			t.Errorf("the first object changed")
		}
	}
}

func createOnlyRace(t *testing.T, s blob.Store) {
	var wg sync.WaitGroup
	var won atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			_, err := s.Put(t.Context(), "k", bytes.NewReader(Bytes(100+i)), blob.PutOptions{CreateOnly: true})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, blob.ErrExists):
				t.Errorf("put: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d writers won", won.Load())
	}
}

func allOrNothing(t *testing.T, s blob.Store) {
	broken := errors.New("line dropped")
	for _, n := range []int{0, 10, 64 << 10, 6 << 20} {
		for _, why := range []error{broken, io.ErrUnexpectedEOF} { // the second is what a cut request says
			for _, opt := range []blob.PutOptions{{}, blob.Sized(int64(n) + 1)} {
				body := io.MultiReader(bytes.NewReader(Bytes(n)), iotest.ErrReader(why))
				if _, err := s.Put(t.Context(), "k", body, opt); !errors.Is(err, why) {
					t.Errorf("put that fails after %d bytes by %q: %v", n, why, err)
				}
				if _, err := s.Stat(t.Context(), "k"); !errors.Is(err, blob.ErrNotFound) {
					t.Errorf("half an object of %d bytes is there: %v", n, err)
				}
			}
		}
	}
	put(t, s, "old", []byte("old"))
	_, _ = s.Put(t.Context(), "old", iotest.ErrReader(broken), blob.PutOptions{})
	if got := read(t, s, "old", 0, -1); string(got) != "old" {
		t.Errorf("a failed replace left %q", got)
	}
}

func length(t *testing.T, s blob.Store) {
	for _, said := range []int64{0, 9, 11, 6 << 20} {
		if _, err := s.Put(t.Context(), "k", bytes.NewReader(Bytes(10)), blob.Sized(said)); err == nil {
			t.Errorf("10 bytes were taken as %d", said)
		}
	}
}

func absent(t *testing.T, s blob.Store) {
	if _, err := s.Get(t.Context(), "no/such", 0, -1); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Stat(t.Context(), "no/such"); !errors.Is(err, blob.ErrNotFound) || !fault.Is(err, fault.NotFound) {
		t.Errorf("stat: %v", err)
	}
	put(t, s, "folder/key", nil)
	if _, err := s.Stat(t.Context(), "folder"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a folder is no object: %v", err)
	}
	if _, err := s.Get(t.Context(), "folder/key/below", 0, -1); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("nothing is below an object: %v", err)
	}
}

func remove(t *testing.T, s blob.Store) {
	put(t, s, "a/b", []byte("x"))
	for range 2 {
		if err := s.Delete(t.Context(), "a/b"); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := s.Stat(t.Context(), "a/b"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("still there: %v", err)
	}
}

func listInOrder(t *testing.T, s blob.Store) {
	keys := []string{"a/1", "a/2", "a-b/1", "a.b", "a/B", "a/b/c", "a/b-c", "b/1", "Z"}
	for _, k := range keys {
		put(t, s, k, []byte(k))
	}
	slices.Sort(keys)
	for _, prefix := range []string{"", "a", "a/", "a/b", "nothing/"} {
		var want, got []string
		for _, k := range keys {
			if len(k) >= len(prefix) && k[:len(prefix)] == prefix {
				want = append(want, k)
			}
		}
		for info, err := range s.List(t.Context(), prefix) {
			if err != nil {
				t.Fatalf("list %q: %v", prefix, err)
			}
			if info.Size != int64(len(info.Key)) {
				t.Errorf("list says %+v", info)
			}
			got = append(got, info.Key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("list %q:\n%s", prefix, diff)
		}
	}
	n := 0
	for range s.List(t.Context(), "") {
		if n++; n == 2 {
			break
		}
	}
}

func badKeys(t *testing.T, s blob.Store) {
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", ".hidden", "a/.x", "a\x00b", "ä", "a b", `a\b`, string(Bytes(600))} {
		if _, err := s.Put(t.Context(), key, bytes.NewReader(nil), blob.PutOptions{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("put %q: %v", key, err)
		}
		if _, err := s.Get(t.Context(), key, 0, -1); !fault.Is(err, fault.Invalid) {
			t.Errorf("get %q: %v", key, err)
		}
		if err := s.Delete(t.Context(), key); !fault.Is(err, fault.Invalid) {
			t.Errorf("delete %q: %v", key, err)
		}
	}
}

func cancelled(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, "k", bytes.NewReader(Bytes(10)), blob.PutOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Stat(t.Context(), "k"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a cancelled put left something: %v", err)
	}
}

// openReader: who has opened an object reads it to its end, or fails; never other bytes.
func openReader(t *testing.T, s blob.Store) {
	data := Bytes(3 << 20)
	put(t, s, "k", data)
	r, err := s.Get(t.Context(), "k", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	put(t, s, "k", []byte("other"))
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, data) {
		t.Error("an open reader saw another object's bytes")
	}
}
