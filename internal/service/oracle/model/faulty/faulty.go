// Package faulty is a model endpoint that misbehaves on request, for tests.
//
// The model's name in a request says what happens: "ok", "429", "cut" and so on.
package faulty

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server is a handler that counts its requests by model.
type Server struct {
	// Answer is the good answer: the text of a stream.
	Answer string
	// Hold ends stalls; close it when the test is over.
	Hold chan struct{}

	mu     sync.Mutex
	counts map[string]int
	bodies []string
}

// New makes a server with a good answer.
func New(answer string) *Server {
	return &Server{Answer: answer, Hold: make(chan struct{}), counts: map[string]int{}}
}

// Count is how many requests a model got.
func (s *Server) Count(model string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[model]
}

// Bodies are the requests, as sent.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// ServeHTTP behaves as the model's name says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var req struct{ Model string }
	if json.Unmarshal(data, &req) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.counts[req.Model]++
	n := s.counts[req.Model]
	s.bodies = append(s.bodies, string(data))
	s.mu.Unlock()
	s.behave(w, req.Model, n)
}

func (s *Server) behave(w http.ResponseWriter, name string, n int) {
	name, again := strings.CutSuffix(name, "-then-ok")
	if again && n > 1 {
		name = "ok"
	}
	fail := func(status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	head := s.Answer[:len(s.Answer)/2]
	head = head[:strings.LastIndex(head, "\n\n")+2]
	switch name {
	case "ok":
		s.stream(w, s.Answer)
	case "crlf":
		s.stream(w, strings.ReplaceAll(s.Answer, "\n", "\r\n"))
	case "keepalive":
		s.stream(w, ": keep\n\n"+strings.ReplaceAll(s.Answer, "\n\n", "\n\n: keep\n\n"))
	case "bigline":
		s.stream(w, ": "+strings.Repeat("x", 200<<10)+"\n\n"+s.Answer)
	case "gzip":
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, s.Answer)
		_ = z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		s.stream(w, b.String())
	case "429":
		w.Header().Set("Retry-After", "0")
		fail(http.StatusTooManyRequests, `{"error":{"message":"Rate limit reached for org-abcdef123456","type":"rate_limit_error"}}`)
	case "500":
		fail(http.StatusInternalServerError, `{"error":{"message":"boom","type":"server_error"}}`)
	case "401":
		fail(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: sk-verysecretkey1234","type":"invalid_request_error","code":"invalid_api_key"}}`)
	case "quota":
		fail(http.StatusTooManyRequests, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`)
	case "toolong":
		fail(http.StatusBadRequest, `{"error":{"message":"prompt is too long","type":"invalid_request_error","code":"context_length_exceeded"}}`)
	case "html":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>bad gateway at internal-host-7</html>")
	case "html200":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>login</html>")
	case "redirect":
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "garbage":
		s.stream(w, "data: {not json\n\n")
	case "eof":
		s.stream(w, head)
	case "error":
		s.stream(w, head+"data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
	case "cut-before":
		hijack(w, "")
	case "cut":
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"+
			fmt.Sprintf("%x\r\n%s\r\n", len(head), head))
	case "stall-before":
		<-s.Hold
	case "stall":
		s.stream(w, head)
		s.comments(w)
	default:
		fail(http.StatusNotFound, `{"error":{"message":"no such model"}}`)
	}
}

func (s *Server) stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// comments keeps a dead stream alive, as proxies do.
func (s *Server) comments(w http.ResponseWriter) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-s.Hold:
			return
		case <-ticker.C:
			if _, err := io.WriteString(w, ": keep-alive\n\n"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// hijack sends raw bytes and cuts the line.
func hijack(w http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, raw)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
