// Package pace is what work needs that goes on for a while: a pause that ends
// with its context, a rhythm, another try after a failure, and a guard that makes
// a panic of somebody else's code an error with its stack.
//
// It promises that nothing here outlives its context. It refuses to decide what
// may be tried again: the caller says so.
package pace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Sleep waits, or returns the context's error when that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Every calls fn after each interval until ctx ends or fn returns false.
func Every(ctx context.Context, interval time.Duration, fn func() bool) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !fn() {
			return
		}
	}
}

// Backoff is how long to wait between tries: First, then twice as long each
// time up to Longest.
type Backoff struct{ First, Longest time.Duration }

// Retry calls fn until it succeeds, again says no, or ctx ends, and returns the
// last error of fn.
func (b Backoff) Retry(ctx context.Context, fn func() error, again func(error) bool) error {
	for wait := b.First; ; wait = min(2*wait, b.Longest) {
		err := fn()
		if err == nil || ctx.Err() != nil || !again(err) || Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// PanicError is the error that Guard makes of a panic.
type PanicError struct {
	Value any
	Stack string
}

// Error says what was thrown, without the stack.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Guard calls fn and turns a panic into an error.
func Guard(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: string(debug.Stack())}
		}
	}()
	return fn()
}

// Stack is for the log line of an error that Guard may have made: where the
// panic came from, or nothing.
func Stack(err error) slog.Attr {
	if p, ok := errors.AsType[*PanicError](err); ok {
		return slog.String("stack", p.Stack)
	}
	return slog.Attr{}
}
