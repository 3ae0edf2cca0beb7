package faulty_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// endless is an endpoint that says the same thing again and again.
type endless struct {
	event string
	taken int
}

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: io.NopCloser(e),
	}, nil
}

func (e *endless) Read(p []byte) (int, error) {
	if e.taken > 256<<20 {
		return 0, errors.New("nobody stopped")
	}
	n := copy(p, e.event[e.taken%len(e.event):])
	e.taken += n
	return n, nil
}

// An endpoint that never comes to an end is cut off: a turn's memory is bounded.
func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 3000)
	for name, delta := range map[string]string{
		"text":      `{"content":"` + long + `"}`,
		"arguments": `{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"` + long + `"}}]}`,
	} {
		e := &endless{event: `data: {"choices":[{"delta":` + delta + "}]}\n\n"}
		p, err := openai.New(openai.Config{BaseURL: "http://endless.example", Models: []model.Info{{ID: "m"}}, Wire: wire.Config{Transport: e}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Stream(t.Context(), plugin.ModelRequest{}, func(plugin.Chunk) {})
		if got := model.From(err); got.Kind != model.Server || e.taken > 80<<20 {
			t.Errorf("%s: %v after %d bytes", name, err, e.taken)
		}
	}
}
