package plugin

import (
	"fmt"
	"time"
)

// Error is a failure that may be shown to whoever asked. Hooks return it to
// choose the HTTP status, or the text that a model reads.
type Error struct {
	// Status is an HTTP status from 400 to 599.
	Status  int
	Message string
	// Fields are added to the JSON body, such as claims in a 402.
	Fields     map[string]any
	RetryAfter time.Duration
	Cause      error
}

// Errorf makes an Error. Every argument becomes public.
func Errorf(status int, format string, args ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...)}
}

// Error returns the public message and the private cause: it is for logs.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Cause }
