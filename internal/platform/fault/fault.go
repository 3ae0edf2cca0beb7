// Package fault names the ways in which a request can fail.
//
// An Error has one Kind out of a closed set, a text that may be shown to
// whoever asked, and a private cause that may not. Services return faults (or
// plain errors, which count as Internal); each HTTP surface owns one table from
// Kind to status and body, so that no two handlers disagree. The package
// refuses to carry secrets in its public text: what is private belongs in the
// cause, which is logged once, at the edge.
//
// Decision: ADR 0004.
package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Kind is what went wrong, seen from outside.
type Kind uint8

// The closed set of kinds. The zero value is Internal, so that an error that
// nobody classified is never shown to a user.
const (
	Internal Kind = iota
	Invalid
	Unauthenticated
	PaymentRequired
	Forbidden
	NotFound
	MethodNotAllowed
	Conflict
	Precondition
	Gone
	TooLarge
	UnsupportedMedia
	RangeUnsatisfiable
	RateLimited
	Unavailable
	Timeout
	Unimplemented
	Canceled
	StorageFull
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "payment_required", "forbidden", "not_found",
	"method_not_allowed", "conflict", "precondition", "gone", "too_large", "unsupported_media",
	"range_unsatisfiable", "rate_limited", "unavailable", "timeout", "unimplemented", "canceled",
	"storage_full",
}

// String returns the kind's name, as used in logs and metric labels.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Kinds lists every kind, for the tables that must be complete.
func Kinds() []Kind {
	all := make([]Kind, len(kindNames))
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Error is a classified failure. Message is public; the wrapped cause is not.
type Error struct {
	Kind    Kind
	Message string
	// Code is an optional machine word that refines the kind, such as "wrong_audience".
	Code string
	// Fields are public additions to a structured body, such as the current
	// version in a conflict. A surface decides how to render them.
	Fields map[string]any
	// RetryAfter, when positive, tells the client when to come back.
	RetryAfter time.Duration
	cause      error
}

// New returns an error of the kind with a public message.
func New(kind Kind, message string) *Error {
	return &Error{Kind: kind, Message: message}
}

// Newf is New with formatting. Every argument becomes public.
func Newf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap classifies cause and gives it a public message. A nil cause is allowed.
func Wrap(kind Kind, message string, cause error) *Error {
	return &Error{Kind: kind, Message: message, cause: cause}
}

// WithCode returns a copy that carries the machine word.
func (e *Error) WithCode(code string) *Error {
	c := *e
	c.Code = code
	return &c
}

// WithField returns a copy with one more public field.
func (e *Error) WithField(name string, value any) *Error {
	c := *e
	c.Fields = make(map[string]any, len(e.Fields)+1)
	maps.Copy(c.Fields, e.Fields)
	c.Fields[name] = value
	return &c
}

// WithRetryAfter returns a copy that tells the client when to come back.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Header names a failure to programs that show it in other words, as the console does
// in the reader's language: bodies are as each protocol fixes them, and most have no
// place for it.
const Header = "Castalia-Error"

// Word is the code of an error, or its kind. What is wrong inside is nobody's to know.
func (e *Error) Word() string {
	if e.Code == "" || e.Kind == Internal {
		return e.Kind.String()
	}
	return e.Code
}

// Error returns the public message and the private cause: it is for logs.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// From returns the first *Error in err's chain. An unclassified error comes
// back as Internal (or Canceled, or Timeout, when a context ended) with a
// public text that says nothing of the cause. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Wrap(Canceled, "The request was cancelled.", err)
	case errors.Is(err, context.DeadlineExceeded):
		return Wrap(Timeout, "The request took too long.", err)
	}
	return Wrap(Internal, "Internal server error", err)
}

// KindOf returns the kind of err; a nil error has no kind, so do not ask.
func KindOf(err error) Kind { return From(err).Kind }

// Is reports whether err is a failure of the kind.
func Is(err error, kind Kind) bool { return err != nil && From(err).Kind == kind }
