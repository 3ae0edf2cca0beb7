package system

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Reply is an answer, read whole.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body, or fails the test with what came instead.
func (r Reply) JSON(t testing.TB, dst any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, dst); err != nil {
		t.Fatalf("status %d, not JSON: %v\n%s", r.Status, err, r.Body)
	}
}

// Call is a request in the making.
type Call struct {
	Method string
	Path   string
	Header http.Header
	Body   string
}

// Do sends the call to the node and fails the test when no answer comes.
func (n *Node) Do(t testing.TB, c Call) Reply {
	t.Helper()
	reply, err := n.Try(t.Context(), c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	return reply
}

// Get is Do for a plain GET.
func (n *Node) Get(t testing.TB, path string) Reply {
	t.Helper()
	return n.Do(t, Call{Method: http.MethodGet, Path: path})
}

// Post is Do for a JSON body.
func (n *Node) Post(t testing.TB, path, body string) Reply {
	t.Helper()
	return n.Do(t, Call{Method: http.MethodPost, Path: path, Body: body, Header: http.Header{"Content-Type": {"application/json"}}})
}

// Try sends the call once and returns what became of it.
func (n *Node) Try(ctx context.Context, c Call) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, c.Method, n.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return Reply{}, err
	}
	for name, values := range c.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := n.world.Client.Do(request)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return Reply{Status: response.StatusCode, Header: response.Header, Body: body}, err
}
