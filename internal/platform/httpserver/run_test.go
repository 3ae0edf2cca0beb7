package httpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server on a real port.
type running struct {
	*httpserver.Server
	stop func()
	done chan error // what Run returned
	once sync.Once
	err  error
}

func start(t *testing.T, cfg httpserver.Config, surfaces ...httpserver.Surface) *running {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	s := newServer(t, cfg, surfaces...)
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Server: s, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		_ = r.wait()
	})
	return r
}

func (r *running) wait() error {
	r.once.Do(func() { r.err = <-r.done })
	return r.err
}

func (r *running) url(path string) string { return "http://" + r.Addr() + path }

// dial opens a raw connection that cannot hang a test.
func (r *running) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// client has its own connections, closed with the test.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

func fetch(c *http.Client, method, url string, body io.Reader) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		return 0, "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

func readAll(_ http.ResponseWriter, r *http.Request) error {
	_, err := io.Copy(io.Discard, r.Body)
	return err
}

// Under load, whoever heeds Connection: close loses nothing, and whoever comes
// again and again is either answered or never let in.
func TestDrainLosesNoAcceptedRequest(t *testing.T) {
	t.Parallel()
	for _, polite := range []bool{true, false} {
		t.Run(fmt.Sprintf("polite %v", polite), func(t *testing.T) {
			t.Parallel()
			testDrain(t, polite)
		})
	}
}

func testDrain(t *testing.T, polite bool) {
	var entered, answered atomic.Int64
	busy := make(chan struct{}, 1)
	s := start(t, httpserver.Config{DrainDelay: 100 * time.Millisecond},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			route("POST", "/work", func(w http.ResponseWriter, r *http.Request) error {
				if entered.Add(1) == 200 {
					busy <- struct{}{}
				}
				if err := readAll(w, r); err != nil {
					return err
				}
				return httpserver.WriteJSON(w, http.StatusOK, map[string]bool{"ok": true})
			}),
		}})
	c := client(t)
	work := func(idle time.Duration) (leave bool) {
		resp, err := c.Post(s.url("/work"), "text/plain", strings.NewReader("hello"))
		if err != nil {
			op, ok := errors.AsType[*net.OpError](err)
			refused := ok && op.Op == "dial" && !polite
			// On a connection that lay idle any client may meet its closing.
			if !refused && idle < 200*time.Millisecond {
				t.Errorf("a request was lost: %v", err)
			}
			return true
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || string(text) != `{"ok":true}` || err != nil {
			t.Errorf("got %d %q %v", resp.StatusCode, text, err)
		}
		answered.Add(1)
		return polite && resp.Close
	}
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for leave, last := false, time.Now(); !leave; last = time.Now() {
				leave = work(time.Since(last))
			}
		})
	}
	<-busy
	s.stop()
	if err := s.wait(); err != nil {
		t.Error(err)
	}
	load.Wait()
	if entered.Load() != answered.Load() {
		t.Errorf("%d requests were accepted, %d answered", entered.Load(), answered.Load())
	}
	if s.Ready() {
		t.Error("a stopped server says that it is ready")
	}
}

func TestDrainOrder(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	s := start(t, httpserver.Config{DrainDelay: 50 * time.Millisecond},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			get("/slow", func(w http.ResponseWriter, r *http.Request) error {
				close(entered)
				<-release
				return httpserver.WriteJSON(w, http.StatusOK, "done")
			}),
			{
				Method: "GET", Pattern: "/stream", Auth: httpserver.Public, Stream: true,
				Handler: func(w http.ResponseWriter, r *http.Request) error {
					st := httpserver.Stream(w, r)
					if err := st.Send([]byte("first ")); err != nil {
						return err
					}
					select {
					case <-st.Draining(): //nolint:contextcheck // the stream has the context of r
					case <-r.Context().Done():
						return errors.New("the client left")
					}
					return st.Send([]byte("goodbye"))
				},
			},
		}})
	c := client(t)
	type result struct {
		text string
		err  error
	}
	slow, stream := make(chan result, 1), make(chan result, 1)
	go func() {
		_, text, err := fetch(c, "GET", s.url("/slow"), nil)
		slow <- result{text, err}
	}()
	resp, err := c.Get(s.url("/stream")) //nolint:bodyclose // closed by the goroutine that reads it
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		stream <- result{string(data), err}
	}()
	<-entered
	if !s.Ready() {
		t.Error("a running server is not ready")
	}
	s.stop()
	// Streams are told first, while the other request still runs.
	if got := <-stream; got.text != "first goodbye" || got.err != nil {
		t.Errorf("stream: got %+v", got)
	}
	if s.Ready() {
		t.Error("ready while draining")
	}
	close(release)
	if got := <-slow; got.text != `"done"` || got.err != nil {
		t.Errorf("slow request: got %+v", got)
	}
	if err := s.wait(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("a stopped server accepts connections")
	}
}

func TestHardStop(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s := start(t, httpserver.Config{DrainTimeout: 20 * time.Millisecond},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			get("/stuck", func(_ http.ResponseWriter, r *http.Request) error {
				close(entered)
				<-r.Context().Done() // only the broken connection ends it
				return r.Context().Err()
			}),
		}})
	go func() { _, _, _ = fetch(client(t), "GET", s.url("/stuck"), nil) }()
	<-entered
	s.stop()
	if err := s.wait(); err == nil || !strings.Contains(err.Error(), "still running") {
		t.Errorf("got %v", err)
	}
}

// With every place taken by work that does not end, the server still stops.
func TestHardStopWhenFull(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s := start(t, httpserver.Config{MaxConns: 1, DrainTimeout: 20 * time.Millisecond},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			get("/stuck", func(_ http.ResponseWriter, r *http.Request) error {
				close(entered)
				<-r.Context().Done()
				return r.Context().Err()
			}),
		}})
	_, _ = io.WriteString(s.dial(t), "GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n")
	<-entered
	s.dial(t) // waits for a place
	s.stop()
	if err := s.wait(); err == nil {
		t.Error("stopped as if nothing was running")
	}
}

func TestSilentConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{MaxConns: 64}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/ok", echo()), route("POST", "/upload", readAll),
	}})
	for i := range 600 {
		c := s.dial(t)
		switch i % 3 {
		case 0: // says nothing
		case 1: // stops within the headers
			_, _ = io.WriteString(c, "GET /ok HTTP/1.1\r\nHos")
		case 2: // stops within the body
			_, _ = io.WriteString(c, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
		}
	}
	for range 20 {
		c := client(t)
		c.Transport.(*http.Transport).DisableKeepAlives = true
		status, _, err := fetch(c, "GET", s.url("/ok"), nil)
		if err != nil || status != http.StatusOK {
			t.Fatalf("a speaking client was not served: %d %v", status, err)
		}
	}
}

func TestServedRequestsAreNeverGivenUp(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	s := start(t, httpserver.Config{MaxConns: 4}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/work", func(w http.ResponseWriter, _ *http.Request) error {
			entered <- struct{}{}
			<-release
			return httpserver.WriteJSON(w, http.StatusOK, 1)
		}),
	}})
	errs := make(chan error, 4)
	for range 4 {
		go func() {
			_, text, err := fetch(client(t), "GET", s.url("/work"), nil)
			if err == nil && text != "1" {
				err = fmt.Errorf("got %q", text)
			}
			errs <- err
		}()
		<-entered
	}
	for range 8 {
		s.dial(t) // all places are taken by work: these wait
	}
	close(release)
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestSlowHeadersAndBodiesEnd(t *testing.T) {
	t.Parallel()
	surface := httpserver.Surface{
		Name: "a", Routes: []httpserver.Route{route("POST", "/upload", readAll), get("/ok", echo())},
	}
	hasty := start(t, httpserver.Config{HeaderTimeout: 50 * time.Millisecond}, surface)
	s := start(t, httpserver.Config{StallTimeout: time.Second}, surface)
	for name, text := range map[string]string{
		"headers": "GET /ok HTTP/1.1\r\nHos",
		"body":    "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc",
		"unread":  "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.dial(t)
			if name == "headers" {
				c = hasty.dial(t)
			}
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(c)
			if err != nil && errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("the connection was kept open")
			}
			want := map[string]string{"headers": "", "body": "400 Bad Request", "unread": "404 Not Found"}[name]
			if !strings.Contains(string(data), want) {
				t.Errorf("got %q, want %q in it", data, want)
			}
		})
	}
}

func TestConnectionSurvivesErrors(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{MaxBody: 10}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/panic", func(http.ResponseWriter, *http.Request) error { panic("oh") }),
		get("/fail", func(http.ResponseWriter, *http.Request) error { return errors.New("no") }),
		route("POST", "/upload", readAll),
	}})
	c := s.dial(t)
	in := bufio.NewReader(c)
	for _, path := range []string{"/panic", "/fail", "/nowhere", "/panic"} {
		_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode < 400 || resp.Close {
			t.Errorf("%s: got %d, close %v", path, resp.StatusCode, resp.Close)
		}
	}
}

func TestHalfAnAnswerDoesNotLookWhole(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/half", func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = w.Write(make([]byte, 100_000))
			return errors.New("the disk went away")
		}),
	}})
	if _, _, err := fetch(client(t), "GET", s.url("/half"), nil); err == nil {
		t.Error("a broken answer arrived without an error")
	}
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	big := route("POST", "/big", readAll)
	big.MaxBody = 100
	endless := route("POST", "/endless", readAll)
	endless.MaxBody = -1
	s := start(t, httpserver.Config{MaxBody: 10},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{route("POST", "/small", readAll), big, endless}})
	for _, tc := range []struct {
		path string
		size int
		want int
	}{
		{"/small", 10, 200},
		{"/small", 11, 413},
		{"/big", 100, 200},
		{"/big", 101, 413},
		{"/endless", 3 << 20, 200},
	} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(strings.Repeat("x", tc.size))
			if chunked {
				body = io.MultiReader(body) // hides the length
			}
			status, text, err := fetch(client(t), "POST", s.url(tc.path), body)
			if err != nil || status != tc.want {
				t.Errorf("%s with %d bytes, chunked %v: got %d %v, want %d", tc.path, tc.size, chunked, status, err, tc.want)
			}
			if tc.want == 413 && text != `{"message":"request entity too large","statusCode":413}` {
				t.Errorf("got %s", text)
			}
		}
	}
}

// An answer reaches a client that has not sent the whole request yet, also when
// the connection ends with it: closing at once would reset the connection, and a
// reset throws away what the client has not read.
func TestARefusalReachesAClientThatIsStillSending(t *testing.T) {
	t.Parallel()
	refused := make(chan struct{}, 1)
	refuse := route("POST", "/upload", func(http.ResponseWriter, *http.Request) error {
		refused <- struct{}{}
		return fault.New(fault.Precondition, "the file has changed")
	})
	refuse.MaxBody = -1
	s := start(t, httpserver.Config{MaxBody: 10},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{refuse, route("POST", "/small", readAll)}})
	for name, tc := range map[string]struct {
		path, header string
		size         int
		want         int
	}{
		"the client closes":        {"/upload", "Connection: close\r\n", 70_000, 412},
		"the client closes, large": {"/upload", "Connection: close\r\n", 3 << 20, 412},
		"the server closes":        {"/small", "", 3 << 20, 413},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.dial(t)
			_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n", tc.path, tc.header, tc.size)
			if tc.want == 412 {
				<-refused
			}
			for left := tc.size; left > 0; left -= 10_000 {
				if _, err := c.Write(make([]byte, min(left, 10_000))); err != nil {
					t.Fatalf("%d bytes before the end: %v", left, err)
				}
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != tc.want {
				t.Errorf("got %d %s, %v", resp.StatusCode, text, err)
			}
		})
	}
}

// A hijacked connection outlives its handler, and may say goodbye.
func TestHijackedConnectionsSayGoodbye(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/raw", func(w http.ResponseWriter, r *http.Request) error {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return err
			}
			draining := httpserver.Draining(r.Context())
			go func() {
				_, _ = io.WriteString(conn, "hello ")
				<-draining
				_, _ = io.WriteString(conn, "goodbye")
				_ = conn.Close()
			}()
			return nil
		}),
	}})
	c := s.dial(t)
	_, _ = io.WriteString(c, "GET /raw HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := io.ReadFull(c, make([]byte, len("hello "))); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if data, err := io.ReadAll(c); string(data) != "goodbye" || err != nil {
		t.Errorf("got %q %v", data, err)
	}
	if err := s.wait(); err != nil {
		t.Error(err)
	}
}

func TestHijack(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/raw", func(w http.ResponseWriter, _ *http.Request) error {
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			if sys, ok := conn.(syscall.Conn); !ok {
				t.Error("the connection cannot be written to without waiting")
			} else if _, err := sys.SyscallConn(); err != nil {
				t.Errorf("SyscallConn: %v", err)
			}
			line, _ := rw.ReadString('\n')
			_, _ = rw.WriteString("you said " + line)
			return rw.Flush()
		}),
	}})
	c := s.dial(t)
	_, _ = io.WriteString(c, "GET /raw HTTP/1.1\r\nHost: x\r\n\r\nhello\n")
	if data, _ := io.ReadAll(c); string(data) != "you said hello\n" {
		t.Errorf("got %q", data)
	}
}

// A body that its handler writes whole leaves with its headers, and the connection serves
// the next request, whatever the size.
func TestWholeBodiesOfAnySizeArrive(t *testing.T) {
	t.Parallel()
	r := start(t, httpserver.Config{}, httpserver.Surface{Name: "whole", Routes: []httpserver.Route{
		get("/{size}/{said}", func(w http.ResponseWriter, r *http.Request) error {
			size, err := strconv.Atoi(r.PathValue("size"))
			if err != nil {
				return err
			}
			if said := r.PathValue("said"); said != "no" {
				w.Header().Set("Content-Length", said)
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			_, err = w.Write(bytes.Repeat([]byte("x"), size))
			return err
		}),
	}})
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	for _, size := range []int{0, 1, 2047, 2048, 4096, 32 << 10, 32<<10 + 1, 200 << 10} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, said := range []string{"no", strconv.Itoa(size)} {
				request, err := http.NewRequestWithContext(t.Context(), method, r.url(fmt.Sprintf("/%d/%s", size, said)), http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if err := request.Write(conn); err != nil {
					t.Fatal(err)
				}
				reply, err := http.ReadResponse(in, request)
				if err != nil {
					t.Fatalf("%s of %d bytes: %v", method, size, err)
				}
				body, err := io.ReadAll(reply.Body)
				if err := reply.Body.Close(); err != nil {
					t.Errorf("%s of %d bytes: %v", method, size, err)
				}
				if err != nil || reply.StatusCode != http.StatusOK || method == http.MethodGet && len(body) != size {
					t.Fatalf("%s of %d bytes: %s, %d bytes, %v", method, size, reply.Status, len(body), err)
				}
			}
		}
	}
}
