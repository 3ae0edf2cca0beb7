package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// How many calls wait for one endpoint, and for all, on a node. Whoever comes when there
// is no place is not sent, and told so: a receiver that hangs holds so many, and
// nobody else.
const (
	callsPerEndpoint = 32
	callsInAll       = 256
)

// MaxCallAnswer is how long the answer to a call may be.
const MaxCallAnswer = 8 << 10

// errCrowded is what a call comes to that was not made.
const errCrowded = "too many calls wait for its answer"

// ErrClosed says that an endpoint is not there, not open, or did not choose to be
// called.
var ErrClosed = fault.New(fault.NotFound, "The webhook does not take calls.")

// Called is an event that was sent at once, and what came of it.
type Called struct {
	Endpoint Endpoint
	Event    Event
	Result   Result
	// Body is the answer's, if it is no longer than MaxCallAnswer.
	Body []byte
}

// Call sends an event of the type TypeCalled to one endpoint and waits for the answer,
// as long as ctx lasts. Nothing is kept: the caller does so, with what it makes of the
// answer. The id is the caller's, so that the same call made twice is known as one.
func (s *Service) Call(ctx context.Context, endpoint, id string, at time.Time, data any) (Called, error) {
	if !PlausibleID(EndpointPrefix, endpoint) || !PlausibleID(EventPrefix, id) {
		return Called{}, ErrClosed
	}
	e, secrets, err := s.Store.Callee(ctx, endpoint, s.Now())
	switch {
	case errors.Is(err, ErrNotFound), err == nil && (!e.Open() || !Chosen(e.Events, TypeCalled)):
		return Called{}, ErrClosed
	case err != nil:
		return Called{}, err
	}
	event, err := namedEvent(id, e.Owner, TypeCalled, at, data)
	if err != nil {
		return Called{}, err
	}
	c := Called{Endpoint: e, Event: event}
	leave, ok := s.calls.enter(endpoint)
	if !ok {
		c.Result = Result{At: s.Now(), Error: errCrowded}
		return c, nil
	}
	defer leave()
	c.Result, c.Body, err = s.attempt(ctx, Due{Endpoint: e, Secrets: secrets, Event: id, Body: event.Body}, MaxCallAnswer)
	return c, err
}

// calls counts what waits.
type calls struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

func (c *calls) enter(endpoint string) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= callsInAll || c.of[endpoint] >= callsPerEndpoint {
		return nil, false
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.all++
	c.of[endpoint]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[endpoint]--; c.of[endpoint] == 0 {
			delete(c.of, endpoint)
		}
	}, true
}
