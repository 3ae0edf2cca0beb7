package oraclekit

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"
)

// A file is held once, in as many bytes as it has.
func TestAFileIsHeldInItsSize(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("x"), 1<<20+1)
	var room int
	client := &http.Client{Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		for some := content; len(some) > 0; {
			n, err := w.Write(some[:min(len(some), 32<<10)])
			if err != nil {
				t.Error(err)
			}
			some = some[n:]
		}
		room = w.(*buffer).body.Cap()
	})}}
	got, err := readByCID(t.Context(), client, "token", "cid", 25_000_000)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes: %v", len(got), err)
	}
	if room != len(content) || cap(got) > len(content)+len(content)/100 {
		t.Errorf("%d bytes are held in %d and %d", len(content), room, cap(got))
	}
	if got, err = readByCID(t.Context(), client, "token", "cid", 10); err != nil || len(got) != 10 {
		t.Errorf("%d bytes of ten: %v", len(got), err)
	}
}
