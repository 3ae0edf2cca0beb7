// Package ussdhttp speaks to telecom gateways and operators.
//
// The session endpoint always answers 200 text/plain with CON or END, whatever
// it is sent and whatever fails behind it, because gateways drop a session on
// anything else; only the rate limit answers 429. The dialects of particular
// gateways are adapters in front of the same machine, one file each; those that
// need no code are data (ussddialect). Operator
// routes answer JSON and are closed to everybody else by the server.
//
// Nothing here logs a request's body: it contains PINs.
package ussdhttp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
)

// The texts of the two refusals, as the interface document has them.
const (
	textInvalid     = "Invalid input. Please try again."
	textUnavailable = "Service temporarily unavailable. Please try again later."
)

// pathSession is the session endpoint; its answers are plain text.
const pathSession = "/api/ussd"

// maxBody bounds a gateway's request: four short fields, however escaped.
const maxBody = 16 << 10

// Deps is what the surface needs besides the service.
type Deps struct {
	// Limiter is the counter that /api/ussd…, / and /health share; nil is none.
	Limiter *ratelimit.Limiter
	Logger  *slog.Logger
	// Dialects are those that are written as data.
	Dialects []*ussddialect.Dialect
	// Gate says who may call as a gateway; nil is everybody.
	Gate *ussdgate.Gate
	// InFlight bounds the requests that are worked on at once; 0 is 4096.
	InFlight int
}

// api holds the handlers.
type api struct {
	svc    *ussd.Service // nil while the database is away
	log    *slog.Logger
	places chan struct{}
	data   map[string]*ussddialect.Dialect // by path
	gate   *ussdgate.Gate
}

// Surface returns the routes of the USSD gateway.
func Surface(svc *ussd.Service, deps Deps) httpserver.Surface {
	a := &api{svc: svc, log: deps.Logger, data: byPath(deps.Dialects), gate: deps.Gate}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if deps.InFlight <= 0 {
		deps.InFlight = 4096
	}
	a.places = make(chan struct{}, deps.InFlight)
	return httpserver.Surface{
		Name:     "ussd",
		Prefixes: []string{pathSession},
		Errors:   a.writeError,
		Limiter:  deps.Limiter,
		Routes:   a.routes(),
	}
}

// Operators returns the operator's routes, apart from those of gateways and from
// their limit: a console that looks on uses up no telephone's requests.
func Operators(svc *ussd.Service, logger *slog.Logger) httpserver.Surface {
	a := &api{svc: svc, log: logger}
	return httpserver.Surface{
		Name: "ussd operator", Prefixes: []string{pathOperator}, Errors: a.writeError, Routes: a.operatorRoutes(),
	}
}

// Away returns the routes that gateways call, for a node that is still waiting
// for its database: their users are told so in the way of their dialect.
func Away(deps Deps) httpserver.Surface {
	a := &api{log: slog.New(slog.DiscardHandler), data: byPath(deps.Dialects), gate: deps.Gate}
	return httpserver.Surface{Name: "ussd", Errors: a.writeError, Limiter: deps.Limiter, Routes: a.gatewayRoutes()}
}

// answer runs one hop.
func (a *api) answer(r *http.Request, req ussd.Request) (ussd.Answer, error) {
	return a.inTime(r, func(ctx context.Context) (ussd.Answer, error) { return a.svc.Handle(ctx, req) })
}

// end ends a session because its gateway says that it is over.
func (a *api) end(r *http.Request, dialect, sessionID, phone string) error {
	_, err := a.inTime(r, func(ctx context.Context) (ussd.Answer, error) {
		return ussd.Answer{}, a.svc.EndSession(ctx, dialect, sessionID, phone)
	})
	return err
}

// inTime answers before the deadline even if something behind it ignores its
// context: the work then ends by itself, and a repeated request finds its result.
func (a *api) inTime(r *http.Request, work func(context.Context) (ussd.Answer, error)) (ussd.Answer, error) {
	if a.svc == nil {
		return ussd.Answer{}, fault.New(fault.Unavailable, "The database is not available.").WithRetryAfter(time.Second)
	}
	start := time.Now()
	lost := func() { a.svc.CountFailure(a.dialectOf(r.URL.Path), time.Since(start)) }
	select {
	case a.places <- struct{}{}:
	default:
		lost()
		return ussd.Answer{}, fault.New(fault.Unavailable, "Too many requests are in flight.")
	}
	// A gateway that hangs up does not undo an input: it will send it again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), a.svc.Deadline())
	got := make(chan outcome, 1)
	go func() {
		deepen(0)
		defer func() {
			if v := recover(); v != nil {
				a.log.ErrorContext(ctx, "hop panicked", slog.String("event", "ussd.panicked"), slog.Any("panic", v),
					slog.String("stack", string(debug.Stack())))
				lost()
				got <- outcome{err: fault.New(fault.Internal, "Internal server error")}
			}
			cancel()
			<-a.places
		}()
		answer, err := work(ctx)
		got <- outcome{answer, err}
	}()
	select {
	case o := <-got:
		return o.answer, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-got: // it came in the same moment
		return o.answer, o.err
	case <-time.After(200 * time.Millisecond):
		lost()
		return ussd.Answer{}, fault.New(fault.Timeout, "The answer took too long.")
	}
}

// deepen grows the stack of a new goroutine at once, while there is nothing on it. A hop
// needs more than a goroutine begins with, and every doubling on the way down would copy
// the frames so far.
//
//go:noinline
func deepen(at int) byte {
	var room [8 << 10]byte
	return room[at]
}

type outcome struct {
	answer ussd.Answer
	err    error
}

// settled turns an error into the END text that the user sees, and logs what
// the operator should know.
func (a *api) settled(r *http.Request, answer ussd.Answer, err error) ussd.Answer {
	switch {
	case err == nil:
		return answer
	case fault.Is(err, fault.Invalid):
		a.refused(r, err)
		return ussd.Answer{Text: textInvalid, End: true}
	}
	a.log.ErrorContext(r.Context(), "ussd request failed", slog.String("event", "ussd.request_failed"),
		slog.String("request_id", httpserver.RequestID(r.Context())), slog.Any("error", err))
	return ussd.Answer{Text: textUnavailable, End: true}
}

// refused logs and counts which field broke which rule, for who connects a
// gateway. Values are not told: they may be numbers and PINs.
func (a *api) refused(r *http.Request, err error) {
	why, ok := errors.AsType[*ussd.InvalidError](err)
	if !ok {
		return
	}
	dialect := a.dialectOf(r.URL.Path)
	a.log.InfoContext(r.Context(), "ussd request refused", slog.String("event", "ussd.request_refused"),
		slog.String("request_id", httpserver.RequestID(r.Context())),
		slog.String("dialect", dialect), slog.String("field", why.Field), slog.String("rule", why.Rule))
	if a.svc != nil {
		a.svc.CountRefusal(dialect, why)
	}
}

var plainText = []string{"text/plain; charset=utf-8"}

func writeAnswer(w http.ResponseWriter, status int, answer ussd.Answer) error {
	text := answer.String()
	h := w.Header()
	h["Content-Type"] = plainText
	h["Content-Length"] = []string{strconv.Itoa(len(text))}
	w.WriteHeader(status)
	_, err := w.Write([]byte(text))
	return err
}

// writeError answers what never reached a handler, or left one with an error.
func (a *api) writeError(w http.ResponseWriter, r *http.Request, err error) {
	a.refused(r, err)
	e := fault.From(err)
	if a.dataError(w, r, e) {
		return
	}
	status := httpserver.Status(e.Kind)
	if r.Method == http.MethodPost && (r.URL.Path == pathSession || r.URL.Path == pathAfricasTalking) &&
		e.Kind != fault.NotFound && e.Kind != fault.Forbidden {
		answer := ussd.Answer{Text: textUnavailable, End: true}
		switch e.Kind {
		case fault.Invalid, fault.TooLarge, fault.UnsupportedMedia:
			answer.Text = textInvalid
			status = http.StatusOK
		case fault.RateLimited:
			httpserver.SetRetryAfter(w.Header(), e)
		default:
			status = http.StatusOK
		}
		_ = writeAnswer(w, status, answer) // the client may be gone; there is nobody left to tell
		return
	}
	if e.Kind == fault.Invalid || e.Kind == fault.TooLarge || e.Kind == fault.UnsupportedMedia {
		end := endOf(r.URL.Path)
		switch {
		case end != nil:
			_ = writeDialect(w, end) // the client may be gone; there is nobody left to tell
			return
		case r.URL.Path == pathAfricasTalking+"/events":
			_ = writeAnswer(w, http.StatusOK, ussd.Answer{Text: textInvalid, End: true}) // the same
			return
		}
	}
	body := map[string]any{"error": http.StatusText(status), "message": e.Message, "code": e.Kind.String()}
	if e.RetryAfter > 0 {
		httpserver.SetRetryAfter(w.Header(), e)
		body["retryAfter"] = json.RawMessage(w.Header().Get("Retry-After")) // a number of seconds
	}
	maps.Copy(body, e.Fields)
	if status == http.StatusUnauthorized {
		w.Header().Set("Www-Authenticate", "Bearer")
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = httpserver.WriteJSON(w, status, body) // the client may be gone; there is nobody left to tell
}
