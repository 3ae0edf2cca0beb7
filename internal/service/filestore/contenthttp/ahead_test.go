package contenthttp

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/iotest"
)

var errTorn = errors.New("torn")

// tornWriter takes so many bytes and no more.
type tornWriter struct {
	bytes.Buffer
	room int
}

func (w *tornWriter) Write(p []byte) (int, error) {
	if w.Len()+len(p) > w.room {
		return 0, errTorn
	}
	return w.Buffer.Write(p)
}

func TestCopyAhead(t *testing.T) {
	t.Parallel()
	content := make([]byte, 5*aheadSize+17)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(content)
	for name, r := range map[string]func(p []byte) io.Reader{
		"whole":         func(p []byte) io.Reader { return bytes.NewReader(p) },
		"halves":        func(p []byte) io.Reader { return iotest.HalfReader(bytes.NewReader(p)) },
		"with the end":  func(p []byte) io.Reader { return iotest.DataErrReader(bytes.NewReader(p)) },
		"never WriteTo": func(p []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(p)} },
	} {
		for _, n := range []int{0, 1, aheadSize - 1, aheadSize, aheadSize + 1, 3 * aheadSize, 4*aheadSize + 5, len(content)} {
			var got bytes.Buffer
			if err := copyAhead(&got, r(content[:n]), new(aheadBuffers)); err != nil || !bytes.Equal(got.Bytes(), content[:n]) {
				t.Errorf("%s, %d bytes: %d came, %v", name, n, got.Len(), err)
			}
		}
	}
}

// TestCopyAheadFails: the bytes before a failure are sent, the failure is told, and
// nobody reads any more when it returns.
func TestCopyAheadFails(t *testing.T) {
	t.Parallel()
	content := make([]byte, 9*aheadSize)
	for n := 0; n < len(content); n += aheadSize - 11 {
		var got bytes.Buffer
		r := &watched{Reader: io.MultiReader(bytes.NewReader(content[:n]), iotest.ErrReader(errTorn))}
		if err := copyAhead(&got, r, new(aheadBuffers)); !errors.Is(err, errTorn) || got.Len() != n {
			t.Errorf("torn after %d bytes: %d came, %v", n, got.Len(), err)
		}
		r.over = true
		w := &tornWriter{room: n}
		r = &watched{Reader: bytes.NewReader(content)}
		if err := copyAhead(w, r, new(aheadBuffers)); !errors.Is(err, errTorn) || w.Len() > n {
			t.Errorf("room for %d bytes: %d came, %v", n, w.Len(), err)
		}
		r.over = true
	}
}

// Clients who do not read hold so many buffers and no more; others have their content as well.
func TestBuffersForReadingAheadHaveAnEnd(t *testing.T) {
	t.Parallel()
	content := make([]byte, 5*aheadSize+17)
	_, _ = rand.NewChaCha8([32]byte{4}).Read(content)
	stuck, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for range 2 * aheadMost {
		wg.Go(func() {
			w := &slowWriter{ResponseRecorder: httptest.NewRecorder(), stuck: stuck, free: free}
			err := send(w, bytes.NewReader(content), int64(len(content)))
			if err != nil || !bytes.Equal(w.Body.Bytes(), content) {
				t.Errorf("%d of %d bytes, %v", w.Body.Len(), len(content), err)
			}
		})
	}
	for range 2 * aheadMost {
		<-stuck
	}
	if held := len(readingAhead.taken); held > aheadMost {
		t.Errorf("%d clients who do not read hold buffers", held)
	}
	close(free)
	wg.Wait()
}

// slowWriter takes its first piece, and no more until it is let go.
type slowWriter struct {
	*httptest.ResponseRecorder
	stuck, free chan struct{}
	pieces      int
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.pieces++; w.pieces == 2 {
		w.stuck <- struct{}{}
		<-w.free
	}
	return w.ResponseRecorder.Write(p)
}

// watched is a reader that must not be read after its end; the race detector
// watches too.
type watched struct {
	io.Reader
	over bool
}

func (w *watched) Read(p []byte) (int, error) {
	if w.over {
		panic("read after the end")
	}
	return w.Reader.Read(p)
}
