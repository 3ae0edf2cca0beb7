package face_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// wire is a way to ask the oracle, and own is ours.
type wire struct {
	name string
	// request is what asks in a conversation of that name.
	request func(conversation string) (path, body string)
}

const own = "own"

func wires() []wire {
	return []wire{
		{own, func(c string) (string, string) { return "/messages/" + c, `{"message":"hi","stream":true}` }},
		{"chat", func(c string) (string, string) {
			return "/v1/chat/completions", fmt.Sprintf(`{"model":"oracle","stream":true,"messages":[{"role":"system","content":%q},{"role":"user","content":"hi"}]}`, c)
		}},
		{"responses", func(c string) (string, string) {
			return "/v1/responses", fmt.Sprintf(`{"model":"oracle","stream":true,"instructions":%q,"input":"hi"}`, c)
		}},
		{"ag-ui", func(c string) (string, string) {
			return "/ag-ui", fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[{"id":"m","role":"user","content":"hi"}]}`, c)
		}},
		{"ai-sdk", func(c string) (string, string) {
			return "/ai-sdk/chat", fmt.Sprintf(`{"id":%q,"messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]}`, c)
		}},
	}
}

// word is what the model says, to be found among whatever a wire puts around it.
const word = "heliotrope"

// BenchmarkFirstToken measures the time from the request to the first token of a model that answers
// at once, through each face and by our own route, in turns, each time in a new conversation.
func BenchmarkFirstToken(b *testing.B) {
	n := oracletest.Start(b, scripted.Sequence(scripted.Text(word)))
	alice := n.As(b, identitytest.Alice)
	token := identitytest.Invocation(b, identitytest.Alice, identitytest.Oracle.DID)
	ask := func(w wire) time.Duration {
		path, body := w.request(alice.Session())
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, n.URL+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}, "X-Auth-Type": {"ucan"}}
		began := time.Now()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				b.Fatalf("%s: %d, and %v before the first token", w.name, resp.StatusCode, err)
			}
			if strings.Contains(line, word) {
				break
			}
		}
		took := time.Since(began)
		_, _ = io.Copy(io.Discard, lines)
		return took
	}
	all := map[string][]time.Duration{}
	for _, w := range wires() { // warm up
		for range 20 {
			ask(w)
		}
	}
	for b.Loop() {
		for range 100 {
			list := wires() // in any order: what a turn leaves to be done falls into the time of the next
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			for _, w := range list {
				all[w.name] = append(all[w.name], ask(w))
			}
		}
	}
	middle := func(name string) float64 {
		slices.Sort(all[name])
		return float64(all[name][len(all[name])/2])
	}
	for _, w := range wires() {
		b.ReportMetric(middle(w.name)/1000, w.name+"-µs")
		if w.name != own {
			b.ReportMetric(middle(w.name)/middle(own), w.name+"-ratio")
		}
	}
}

// BenchmarkFaceStreams measures the memory of open streams, of answers that wait in their middle: alone, as readers of
// turns that were there before, and with a turn each. By our own route, AG-UI and the AI SDK's stream many read one
// turn.
// By OpenAI's wires an equal request is another turn while the first is read, so there each stream joins a turn of its
// own, which was begun in the face without it; what such a turn takes is told beside it.
func BenchmarkFaceStreams(b *testing.B) {
	const streams, turning = 1000, 250
	hold := make(chan struct{})
	defer close(hold)
	n := oracletest.Start(b, scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: word}}, Wait: hold}))
	alice := n.As(b, identitytest.Alice)
	token := identitytest.Invocation(b, identitytest.Alice, identitytest.Oracle.DID)
	open := func(method, path, body string) (line net.Conn, seen string) {
		line, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", strings.TrimPrefix(n.URL, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = fmt.Fprintf(line, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nX-Auth-Type: ucan\r\nContent-Length: %d\r\n\r\n%s",
			method, path, token, len(body), body)
		piece := make([]byte, 512)
		for !strings.Contains(seen, word) {
			size, err := line.Read(piece)
			if err != nil {
				b.Fatalf("%s: %v after %s", path, err, seen)
			}
			seen += string(piece[:size])
		}
		return line, seen
	}
	perStream := func(streams int, one func() net.Conn) memory {
		for range 50 { // what is made once
			defer func(c net.Conn) { _ = c.Close() }(one())
		}
		before := inUse()
		lines := make([]net.Conn, 0, streams)
		for range streams {
			lines = append(lines, one())
		}
		used := inUse().since(before, streams)
		for _, c := range lines {
			_ = c.Close()
		}
		return used
	}
	report := func(used memory, what string) {
		b.ReportMetric(used.live, what)
		b.ReportMetric(used.kept, what+"-kept")
	}
	for b.Loop() {
		for _, w := range wires() {
			report(perStream(turning, func() net.Conn {
				path, body := w.request(alice.Session())
				c, _ := open(http.MethodPost, path, body)
				return c
			}), w.name+"-KiB/turn")
			if path, _ := w.request(""); strings.HasPrefix(path, "/v1/") {
				begun := beginTurns(b, n, 50+streams)
				report(begun.each, w.name+"-KiB/bare-turn")
				report(perStream(streams, func() net.Conn {
					name, run := begun.next()
					path, body := w.request(name)
					c, seen := open(http.MethodPost, path, body)
					if !strings.Contains(seen, run) {
						b.Fatalf("%s began another turn than %s: %s", path, run, seen)
					}
					return c
				}), w.name+"-KiB/stream")
				continue
			}
			path, body := w.request(alice.Session())
			first, seen := open(http.MethodPost, path, body)
			method := http.MethodPost
			if w.name == own {
				_, run, _ := strings.Cut(seen, "X-Run-Id: ")
				run, _, _ = strings.Cut(run, "\r\n")
				method, path, body = http.MethodGet, "/runs/"+run, ""
			}
			report(perStream(streams, func() net.Conn {
				c, _ := open(method, path, body)
				return c
			}), w.name+"-KiB/stream")
			_ = first.Close()
		}
	}
}

// turns are turns that nobody reads, by the conversations that began them.
type turns struct {
	names, runs []string
	each        memory // of one
}

// next takes one of them.
func (t *turns) next() (name, run string) {
	name, run = t.names[0], t.runs[0]
	t.names, t.runs = t.names[1:], t.runs[1:]
	return name, run
}

// beginTurns begins turns as a request by OpenAI's wires does, as if their programs had lost their lines, and returns
// when all of them wait in their middle.
func beginTurns(b *testing.B, n *oracletest.Node, count int) *turns {
	faces := face.New(face.Deps{
		Service: n.Service, Turns: n.Turns, Engine: n.Engine, Provider: scripted.Sequence(scripted.Text(word)),
		Marks: n.Store.PluginStore(face.Store), Log: slog.New(slog.DiscardHandler),
	})
	who := identity.Principal{DID: identitytest.Alice.DID, Sponsor: identitytest.Alice.DID}
	out := &turns{names: make([]string, 0, count), runs: make([]string, 0, count)}
	before := inUse()
	for range count {
		name := oracle.NewID()
		request := oracle.TurnRequest{Message: "hi", Instructions: name}
		answer, err := faces.Begin(b.Context(), face.Ask{Who: who, Request: request})
		if err != nil {
			b.Fatal(err)
		}
		reader, err := n.Engine.Follow(b.Context(), who.DID, answer.RunID, 0)
		if err != nil {
			b.Fatal(err)
		}
		for said := false; !said; {
			frames, err := reader.Next(b.Context(), time.Minute)
			if err != nil {
				b.Fatal(err)
			}
			said = slices.ContainsFunc(frames, func(f oracle.Frame) bool { return strings.Contains(string(f.Data), word) })
		}
		reader.Close()
		answer.Close()
		out.names, out.runs = append(out.names, name), append(out.runs, answer.RunID)
	}
	out.each = inUse().since(before, count)
	return out
}

// memory is in KiB. What is live is reachable, or a stack. What is kept are pages that hold something live: between it
// are holes of requests that are over, which the next ones fill, so that it depends on what was done before.
type memory struct{ live, kept float64 }

func (m memory) since(before memory, count int) memory {
	return memory{(m.live - before.live) / float64(count), (m.kept - before.kept) / float64(count)}
}

// inUse is the memory in use after collections, stacks included: each halves what a stack grew to in the beginning of
// a request, once.
func inUse() memory {
	for range 4 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{float64(m.HeapAlloc+m.StackInuse) / 1024, float64(m.HeapInuse+m.StackInuse) / 1024}
}
