//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/sse"
)

// chatter talks to the oracle and reads every answer to its end, on whichever
// node gives it.
type chatter struct {
	*crowd
	who     *person
	session string
	n       int
	moves   int // streams that had to be taken up elsewhere
}

func (c *chatter) name() string { return c.who.actor.Name }

func (c *chatter) step(ctx context.Context) bool {
	if c.session == "" && !c.enter(ctx) {
		return false
	}
	c.n++
	return c.turn(ctx, fmt.Sprintf("message %d", c.n), "")
}

// enter gets credits and a session.
func (c *chatter) enter(ctx context.Context) bool {
	if !c.who.provide(ctx, "welcome", 100_000) {
		return false
	}
	r, told, err := c.world.ask(ctx, rand.IntN(fleetSize), http.MethodPost, "/sessions", c.who.oracle(), strings.NewReader("{}"))
	c.told(c.name(), "opens a session", told, err)
	var made struct{ SessionID string }
	if told != Acknowledged || json.Unmarshal(r.body, &made) != nil {
		return false
	}
	c.session = made.SessionID
	return true
}

// turn sends a message to any node.
func (c *chatter) turn(ctx context.Context, message, more string) bool {
	return c.turnAt(ctx, rand.IntN(fleetSize), message, more)
}

// turnAt sends a message. Accepted is acknowledged: the log of its run is the
// promise. It reports whether the answer was read to its end.
func (c *chatter) turnAt(ctx context.Context, node int, message, more string) bool {
	body := fmt.Sprintf(`{"message":%q,"stream":true,"multitask":"enqueue"%s}`, message, more)
	t := Turn{Session: c.session, Message: message}
	first, err := c.open(ctx, node, http.MethodPost, "/messages/"+c.session, body, "")
	switch {
	case err == nil:
		t.Told, t.Run = Acknowledged, first.header.Get("X-Run-Id")
	case first != nil && first.status < http.StatusInternalServerError:
		t.Told = Refused
	default:
		t.Told = unanswered(err)
	}
	c.told(c.name(), message+" "+t.Run, t.Told, err)
	whole := false
	if t.Told == Acknowledged {
		whole = c.read(ctx, &t, first)
	}
	c.book.write(func(e *Evidence) { e.Turns = append(e.Turns, t) })
	return whole
}

// read follows a run to its end. A line that is cut is taken up elsewhere.
func (c *chatter) read(ctx context.Context, t *Turn, s *line) bool {
	for try := 0; ; try++ {
		if s != nil {
			for {
				f, err := s.next()
				if err != nil {
					break
				}
				if t.Frames = append(t.Frames, f); f.Event == doneEvent {
					s.hangUp()
					return true
				}
			}
			s.hangUp()
			c.moves++
			c.world.Tell("%-12s is cut off after %d frames of %s", c.name(), len(t.Frames), t.Run)
		}
		if ctx.Err() != nil || try > 100 {
			return false
		}
		pause(ctx, 200*time.Millisecond)
		after := "0"
		if len(t.Frames) > 0 {
			after = t.Frames[len(t.Frames)-1].ID
		}
		var err error
		if s, err = c.open(ctx, rand.IntN(fleetSize), http.MethodGet, "/runs/"+t.Run, "", after); err != nil {
			c.told(c.name(), "resumes "+t.Run+" after "+after, Unknown, err)
			s = nil
		}
	}
}

// line is an open event stream.
type line struct {
	status  int
	header  http.Header
	decoder *sse.Decoder
	hangUp  func()
	alive   *time.Timer
}

// open asks for an event stream. The line comes with the error when the answer
// was something else.
func (c *chatter) open(ctx context.Context, node int, method, path, body, after string) (*line, error) {
	ctx, cancel := context.WithCancel(ctx)
	// A line without a sign of life is given up, as browsers' clients do.
	alive := time.AfterFunc(silence, cancel)
	request, err := http.NewRequestWithContext(ctx, method, c.world.url(node)+path, strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	request.Header = c.who.oracle()
	if after != "" {
		request.Header.Set("Last-Event-Id", after)
	}
	response, err := c.world.client.Do(request) //nolint:bodyclose // hangUp closes it
	if err != nil {
		cancel()
		return nil, err
	}
	l := &line{
		status: response.StatusCode, header: response.Header, decoder: sse.NewDecoder(response.Body, 0), alive: alive,
	}
	l.hangUp = func() { alive.Stop(); cancel(); _ = response.Body.Close() }
	if l.status != http.StatusOK || !strings.HasPrefix(l.header.Get("Content-Type"), "text/event-stream") {
		text := make([]byte, 300)
		n, _ := response.Body.Read(text)
		l.hangUp()
		return l, fmt.Errorf("%d: %s", l.status, text[:n])
	}
	return l, nil
}

// silence is how long a line may say nothing, not even a heartbeat.
const silence = 12 * time.Second

func (l *line) next() (Frame, error) {
	e, err := l.decoder.Next()
	l.alive.Reset(silence)
	name := e.Name
	if name == "" {
		name = "message"
	}
	return Frame{ID: e.ID, Event: name, Data: string(e.Data)}, err
}
