package wire

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// thinker is an endpoint that thinks before its one word, and may say comments
// meanwhile.
type thinker struct {
	thinks   time.Duration
	comments time.Duration // how often; zero is never
	asked    int
}

func (e *thinker) RoundTrip(r *http.Request) (*http.Response, error) {
	e.asked++
	body, words := io.Pipe()
	go func() {
		word := time.After(e.thinks)
		for {
			comment := make(<-chan time.Time)
			if e.comments > 0 {
				comment = time.After(e.comments)
			}
			select {
			case <-r.Context().Done():
				_ = words.CloseWithError(r.Context().Err())
				return
			case <-comment:
				_, _ = io.WriteString(words, ": PROCESSING\n\n")
			case <-word:
				_, _ = io.WriteString(words, "data: word\n\n")
				_ = words.Close()
				return
			}
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
}

// listener is done with the first word.
type listener struct{}

func (listener) Event(sse.Event) (bool, error) { return true, nil }
func (listener) End() error                    { return errors.New("too early") }
func (listener) Whole([]byte) error            { return errors.New("not streamed") }

// Reasoners think for minutes: they are waited for, longer while they show signs of
// life, and asked once in any case.
func TestReasonersAreWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  Config
		from thinker
		in   time.Duration // until it is given up; zero is an answer
	}{
		"seventy seconds":            {Config{}, thinker{thinks: 70 * time.Second, comments: 10 * time.Second}, 0},
		"without a sign":             {Config{}, thinker{thinks: 299 * time.Second}, 0},
		"too long without a sign":    {Config{}, thinker{thinks: 400 * time.Second}, 300 * time.Second},
		"nine minutes with comments": {Config{}, thinker{thinks: 9 * time.Minute, comments: 15 * time.Second}, 0},
		"too long with comments":     {Config{}, thinker{thinks: 20 * time.Minute, comments: 15 * time.Second}, 10 * time.Minute},
		"the operator's own limit":   {Config{FirstChunk: 20 * time.Second}, thinker{thinks: 70 * time.Second}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				endpoint, began := c.from, time.Now()
				c.cfg.Transport = &endpoint
				err := New(c.cfg).Post(t.Context(), "http://model.example", http.Header{}, nil, func() Handler { return listener{} })
				took := time.Since(began)
				if endpoint.asked != 1 {
					t.Errorf("it was asked %d times", endpoint.asked)
				}
				switch {
				case c.in == 0 && err != nil:
					t.Errorf("after %s: %v", took, err)
				case c.in > 0 && (model.From(err).Kind != model.Timeout || took < c.in || took > c.in+15*time.Second):
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// Endpoints take 128 tools: the model and the operator are told which are left out.
func TestToolsThatDoNotFitAreNamed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	var req plugin.ModelRequest
	for range maxTools {
		req.Tools = append(req.Tools, plugin.ToolSpec{Name: "fits"})
	}
	if got := c.Fit(req); len(got.Tools) != maxTools || got.System != "" || log.Len() > 0 {
		t.Errorf("all fit: %d %q %s", len(got.Tools), got.System, log.String())
	}
	req.Tools = append(req.Tools, plugin.ToolSpec{Name: "one_more"})
	got := c.Fit(req)
	if len(got.Tools) != maxTools || !strings.Contains(got.System, "one_more") || !strings.Contains(log.String(), "one_more") {
		t.Errorf("one too many: %d %q %s", len(got.Tools), got.System, log.String())
	}
}
