package endpoints

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/castalia-org/castalia/internal/platform/trouble"
)

const (
	// freshFor is how long an answer is good: nobody makes the server ask more often.
	freshFor = 5 * time.Minute
	// retryAfter is that of an answer with a problem in it.
	retryAfter = 30 * time.Second
	// checkLimit bounds a check of all endpoints.
	checkLimit = time.Minute
)

// Checker asks endpoints, or the services of speech, for whoever wants to know, and remembers the answers for
// a while. It is safe for concurrent use.
type Checker struct {
	current func() *Set
	probe   func(context.Context, *Set) []Finding
	now     func() time.Time
	flights singleflight.Group

	mu   sync.Mutex
	last Check
	set  *Set
}

// Check is what every endpoint and model said, and when.
type Check struct {
	Findings []Finding
	At       time.Time
}

// NewChecker returns a checker of the models that are in force.
func NewChecker(current func() *Set, now func() time.Time) *Checker {
	deep := func(ctx context.Context, s *Set) []Finding { return s.Probe(ctx, true) }
	return &Checker{current: current, now: now, probe: deep}
}

// NewSpeechChecker returns a checker of the services of speech that are in force.
func NewSpeechChecker(current func() *Set, now func() time.Time) *Checker {
	speech := func(ctx context.Context, s *Set) []Finding { return s.ProbeSpeech(ctx) }
	return &Checker{current: current, now: now, probe: speech}
}

// Check returns what was said lately, or asks. A document that has changed is
// asked at once. It is asked to the end although whoever wanted to know leaves,
// so that those who come and go do not make it begin again.
func (c *Checker) Check(ctx context.Context) (Check, error) {
	set := c.current()
	if known, ok := c.known(set); ok {
		return known, nil
	}
	flight := c.flights.DoChan("check", func() (any, error) {
		if known, ok := c.known(set); ok {
			return known, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkLimit)
		defer cancel()
		asked := Check{Findings: c.probe(ctx, set), At: c.now()}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last, c.set = asked, set
		return asked, nil
	})
	select {
	case <-ctx.Done():
		return Check{}, ctx.Err()
	case r := <-flight:
		asked, _ := r.Val.(Check)
		return asked, r.Err
	}
}

// Troubles says what is wrong with endpoints and models.
func (c *Checker) Troubles(ctx context.Context) []*trouble.Trouble {
	check, err := c.Check(ctx)
	if err != nil {
		return nil // whoever asked is not waiting any more
	}
	var all []*trouble.Trouble
	for _, f := range check.Findings {
		if f.Problem != "" {
			all = append(all, f.trouble())
		}
	}
	return all
}

func (c *Checker) known(set *Set) (Check, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	good := freshFor
	if slices.ContainsFunc(c.last.Findings, func(f Finding) bool { return f.Problem != "" }) {
		good = retryAfter
	}
	return c.last, c.set == set && c.now().Sub(c.last.At) < good
}
