package httpserver_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// endless opens a stream and returns when its headers have come.
func endless(t *testing.T, s *running) (c net.Conn, status string) {
	t.Helper()
	c = s.dial(t)
	_, _ = io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
	status, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return c, strings.TrimSpace(status)
}

func stream(w http.ResponseWriter, r *http.Request) error {
	if err := httpserver.Stream(w, r).Start(http.StatusOK); err != nil {
		return err
	}
	<-r.Context().Done()
	return nil
}

// TestAFullTableServesItsKeepers has streams in every place but those that are kept.
func TestAFullTableServesItsKeepers(t *testing.T) {
	t.Parallel()
	ready, operators := get("/ready", echo()), get("/operators", echo())
	ready.Kept, operators.Auth = true, httpserver.Operator
	long := get("/stream", stream)
	long.Stream = true
	s := start(t, httpserver.Config{MaxConns: 32, OperatorToken: "secret"}, httpserver.Surface{
		Name: "a", Routes: []httpserver.Route{ready, operators, long, get("/other", echo())},
	})
	var open []net.Conn
	for range 30 {
		c, status := endless(t, s)
		if !strings.Contains(status, "200") {
			t.Fatalf("stream %d: %s", len(open)+1, status)
		}
		open = append(open, c)
	}
	if _, status := endless(t, s); !strings.Contains(status, "503") {
		t.Errorf("a stream too many: %s", status)
	}
	ask := func(path, token string) (status int, header http.Header, last bool) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(path), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode, answer.Header, answer.Close
	}
	for range 5 { // each on a connection of its own, which stays open
		if got, _, _ := ask("/ready", ""); got != http.StatusOK {
			t.Errorf("/ready of a full node: %d", got)
		}
		if got, _, _ := ask("/operators", "secret"); got != http.StatusOK {
			t.Errorf("an operator at a full node: %d", got)
		}
		if got, _, _ := ask("/operators", ""); got != http.StatusUnauthorized {
			t.Errorf("no operator at a full node: %d", got)
		}
		got, header, last := ask("/other", "")
		if got != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !last {
			t.Errorf("something else of a full node: %d %v", got, header)
		}
	}
	_ = open[0].Close()
	for status := 0; status != http.StatusOK; { // when the server has heard of it
		status, _, _ = ask("/other", "")
	}
}

// TestOneAddressHasSoManyAnswers bounds what is under way by address where there is no
// principal.
func TestOneAddressHasSoManyAnswers(t *testing.T) {
	t.Parallel()
	long := get("/stream", stream)
	long.Stream, long.Limit = true, httpserver.LimitContent
	s := start(t, httpserver.Config{
		Open:   ratelimit.NewPlaces(3),
		Limits: map[httpserver.LimitClass]*ratelimit.Limiter{httpserver.LimitContent: nil},
	}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{long, get("/other", echo())}})
	var open []net.Conn
	for i, want := range []string{"200", "200", "200", "429", "429"} {
		c, status := endless(t, s)
		if !strings.Contains(status, want) {
			t.Errorf("stream %d: %s, want %s", i+1, status, want)
		}
		open = append(open, c)
	}
	if status, _, err := fetch(client(t), "GET", s.url("/other"), nil); err != nil || status != http.StatusOK {
		t.Errorf("what is of no class: %d %v", status, err)
	}
	_ = open[0].Close()
	for {
		if _, status := endless(t, s); strings.Contains(status, "200") {
			break // when the server has heard of it
		}
	}
}
