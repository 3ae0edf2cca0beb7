package httpserver_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

func TestCompression(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("hello ", 2000)
	send := func(text string, headers ...string) httpserver.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error {
			for _, h := range headers {
				name, value, _ := strings.Cut(h, ": ")
				w.Header().Set(name, value)
			}
			for part := range strings.SplitAfterSeq(text, " ") { // many small writes
				if _, err := io.WriteString(w, part); err != nil {
					return err
				}
			}
			return nil
		}
	}
	status := func(code int) httpserver.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(code)
			return nil
		}
	}
	stream := get("/stream", func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "text/plain")
		return httpserver.Stream(w, r).Send([]byte(long))
	})
	s := newServer(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/text", send(long, "Content-Type: text/plain")),
		get("/sniffed", send(long)),
		get("/sized", send(long, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(long)))),
		get("/short", send("hello", "Content-Type: text/plain")),
		get("/image", send(long, "Content-Type: image/png")),
		get("/events", send(long, "Content-Type: text/event-stream")),
		get("/encoded", send(long, "Content-Type: text/plain", "Content-Encoding: br")),
		get("/strong", send(long, "Content-Type: text/plain", `ETag: "abc"`)),
		get("/weak", send(long, "Content-Type: text/plain", `ETag: W/"abc"`)),
		get("/fixed", send(long, "Content-Type: text/plain", "Cache-Control: no-transform")),
		get("/empty", status(http.StatusNoContent)), get("/same", status(http.StatusNotModified)), get("/ok", status(http.StatusOK)),
		stream,
	}})
	for _, tc := range []struct {
		path, accept string
		zipped, vary bool
	}{
		{"/text", "gzip", true, true},
		{"/text", "br, gzip;q=0.5", true, true},
		{"/text", "*", true, true},
		{"/text", "gzip;q=0", false, true},
		{"/text", "", false, true},
		{"/sniffed", "gzip", true, true},
		{"/sized", "gzip", true, true},
		{"/short", "gzip", false, true},
		{"/image", "gzip", false, false},
		{"/events", "gzip", false, false},
		{"/encoded", "gzip", false, false},
		{"/strong", "gzip", false, false},
		{"/weak", "gzip", true, true},
		{"/fixed", "gzip", false, false},
		{"/stream", "gzip", false, false},
		{"/empty", "gzip", false, false},
		{"/same", "gzip", false, false},
		{"/ok", "gzip", false, true},
	} {
		a := do(t, s, "GET", tc.path, "Accept-Encoding: "+tc.accept)
		zipped := a.Header.Get("Content-Encoding") == "gzip"
		if vary := a.Header.Get("Vary") == "Accept-Encoding"; zipped != tc.zipped || vary != tc.vary {
			t.Errorf("%s with %q: zipped %v, vary %v", tc.path, tc.accept, zipped, vary)
		}
		text := a.body
		if zipped {
			if a.Header.Get("Content-Length") != "" || len(a.body) > len(long)/10 {
				t.Errorf("%s: %d bytes, length %q", tc.path, len(a.body), a.Header.Get("Content-Length"))
			}
			z, err := gzip.NewReader(strings.NewReader(a.body))
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if want := map[string]string{"/short": "hello", "/empty": "", "/same": "", "/ok": ""}; text != long && text != want[tc.path] {
			t.Errorf("%s: got %d bytes of other text", tc.path, len(text))
		}
	}
	if a := do(t, s, "HEAD", "/sized", "Accept-Encoding: gzip"); a.Header.Get("Content-Encoding") != "" || a.Header.Get("Content-Length") != strconv.Itoa(len(long)) {
		t.Errorf("HEAD: got %v", a.Header)
	}
}

// A flush in the middle of a compressed answer reaches the client.
func TestCompressedFlush(t *testing.T) {
	t.Parallel()
	half := make(chan struct{})
	s := start(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/", func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, strings.Repeat("a", 4000))
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
			<-half
			_, err := io.WriteString(w, "end")
			return err
		}),
	}})
	resp, err := client(t).Get(s.url("/")) // asks for gzip, and undoes it
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 4000)
	if _, err := io.ReadFull(resp.Body, first); err != nil || !resp.Uncompressed {
		t.Fatalf("%v, compressed on the way: %v", err, resp.Uncompressed)
	}
	close(half)
	if rest, err := io.ReadAll(resp.Body); string(rest) != "end" || err != nil {
		t.Errorf("got %q %v", rest, err)
	}
}
