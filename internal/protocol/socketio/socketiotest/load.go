package socketiotest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Usage is what a server process has used.
type Usage struct {
	CPU      time.Duration // user and system
	Resident int64         // bytes, after a collection; only when asked for
}

// ServeForLoad serves on one processor, prints the address, and returns when
// its input ends. Benchmarks run it in a process of its own, by starting their
// own binary, so that they measure a server without its clients.
func ServeForLoad(socketIO http.Handler) error {
	runtime.GOMAXPROCS(1)
	mux := http.NewServeMux()
	mux.Handle("/socket.io/", socketIO)
	mux.HandleFunc("/usage", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(usage(r.FormValue("memory") != ""))
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		_ = l.Close()
	}()
	_ = http.Serve(l, mux) // ends when the listener is closed
	return nil
}

func usage(memory bool) Usage {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	u := Usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano())}
	if !memory {
		return u
	}
	debug.FreeOSMemory()
	raw, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(raw)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		u.Resident = pages * int64(os.Getpagesize())
	}
	return u
}

// Load is a server process with many sockets to it.
type Load struct {
	b     *testing.B
	URL   string
	Conns []*websocket.Conn
	// Heard has one element for each message that came after Listen.
	Heard chan struct{}
}

// Launch starts this binary again with a variable in its environment, for which
// its TestMain calls ServeForLoad.
func Launch(b *testing.B, environment string) *Load {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), environment)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("%s does not start: %v", environment, err)
	}
	l := &Load{b: b, URL: strings.TrimSpace(line), Heard: make(chan struct{}, 1<<16)}
	b.Cleanup(func() {
		for _, c := range l.Conns {
			_ = c.Close()
		}
		_ = in.Close()
		_ = cmd.Wait()
	})
	return l
}

// Connect opens sockets, joins them to the namespace with an auth object and
// reads as many packets as the server greets them with. The query may depend
// on the number of the socket.
func (l *Load) Connect(sockets int, query func(int) string, auth string, greetings int) {
	l.b.Helper()
	dialer := websocket.Dialer{ReadBufferSize: 512, WriteBufferSize: 512}
	address := strings.Replace(l.URL, "http", "ws", 1) + "/socket.io/?EIO=4&transport=websocket"
	for i := range sockets {
		c, resp, err := dialer.DialContext(l.b.Context(), address+query(i), nil)
		if err != nil {
			l.b.Fatal(err)
		}
		_ = resp.Body.Close()
		l.Conns = append(l.Conns, c)
		l.read(c)
		l.Write(c, "40"+auth)
		for range greetings {
			l.read(c)
		}
	}
}

func (l *Load) read(c *websocket.Conn) {
	l.b.Helper()
	if _, _, err := c.NextReader(); err != nil {
		l.b.Fatal(err)
	}
}

// Write sends a text frame.
func (l *Load) Write(c *websocket.Conn, text string) {
	l.b.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		l.b.Fatal(err)
	}
}

// Listen lets every socket count what it receives.
func (l *Load) Listen() {
	for _, c := range l.Conns {
		go func() {
			for {
				if _, _, err := c.NextReader(); err != nil {
					return
				}
				l.Heard <- struct{}{}
			}
		}()
	}
}

// CPU is the processor time that the server has used.
func (l *Load) CPU() time.Duration {
	l.b.Helper()
	return l.usage("").CPU
}

// Memory is what the server holds, in bytes, after a collection.
func (l *Load) Memory() int64 {
	l.b.Helper()
	return l.usage("?memory=1").Resident
}

func (l *Load) usage(query string) (u Usage) {
	l.b.Helper()
	resp, err := http.Get(l.URL + "/usage" + query)
	if err != nil {
		l.b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&u); err != nil {
		l.b.Fatal(err)
	}
	return u
}
