package oraclehttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// heartbeat is how often a silent stream says that it is alive, unless Deps says
// otherwise.
const heartbeat = 15 * time.Second

// parting is how long the end of an aborted stream is held back, unless Deps says
// otherwise: longer than it takes to answer the abort.
const parting = 250 * time.Millisecond

// framing is about what the wire form adds to a frame's name and data.
const framing = 40

// The headers of a turn.
const (
	headerRunID              = "X-Run-Id"
	headerDelegationRequired = "X-Delegation-Required"
)

// send takes a message.
func (a *api) send(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	var raw json.RawMessage
	if err := httpserver.ReadJSON(w, r, &raw, httpserver.AnyMedia); err != nil {
		return err
	}
	body, wrong := oracle.ParseSend(raw)
	if len(wrong) > 0 {
		return invalid(wrong)
	}
	return a.start(w, r, who, body, nil)
}

// start begins a turn and answers with its stream or its reply. read is what was
// read from its files before, if anything was.
func (a *api) start(w http.ResponseWriter, r *http.Request, who identity.Principal, body oracle.Send,
	read []oracle.Attachment,
) error {
	q := body.Request
	if err := a.checkModel(q.Model); err != nil {
		return err
	}
	if q.Timezone == "" {
		q.Timezone = r.Header.Get("X-Timezone")
	}
	if len(q.Timezone) > 64 {
		q.Timezone = ""
	}
	if q.HomeServer == "" {
		q.HomeServer = r.Header.Get("X-Matrix-Homeserver")
	}
	if who.Sponsor != who.DID {
		q.Sponsor = who.Sponsor
	}
	sessionID := r.PathValue("sessionId")
	carried := oracle.Carried{
		MatrixToken: r.Header.Get("X-Matrix-Access-Token"), Brought: who.Brought(), Invocations: q.Invocations,
		AskDelegation: a.nudges.due(r.Context(), who.DID),
	}
	carried.Attachments, q.Attachments = q.Attachments, withoutKeys(q.Attachments)
	id, minted := requestID(r, body.RequestID)
	started, err := a.deps.Turns.Start(r.Context(), run.Start{
		Owner: who.DID, SessionID: sessionID, RequestID: id, Minted: minted, Once: !minted &&
			strings.HasPrefix(id, oncePrefix),
		Multitask: body.Multitask, Request: q, Carried: carried, BeganBy: invocationOf(who), Read: read,
	})
	if err != nil {
		if carried.AskDelegation {
			a.nudges.unsaid(r.Context(), who.DID)
		}
		return err
	}
	defer started.Reader.Close()
	h := w.Header()
	h.Set(httpserver.HeaderRequestID, started.Run.RequestID)
	h.Set(headerRunID, started.Run.ID)
	if carried.AskDelegation {
		h.Set(headerDelegationRequired, "1")
	}
	if body.Stream {
		return a.stream(w, r, started.Reader, a.deps.Heartbeat)
	}
	return a.reply(w, r, started, body.ReturnAllMessages)
}

// checkModel refuses a model that is not offered: another one in its place may
// cost more, or see less.
func (a *api) checkModel(id string) error {
	if id == "" {
		return nil
	}
	var offered []string
	for _, m := range a.deps.Provider.Models() {
		if m.ID == id {
			return nil
		}
		offered = append(offered, m.ID)
	}
	text := "model must be one of the following values: " + strings.Join(offered, ", ")
	return fault.New(fault.Invalid, text).WithField("message", []string{text}).WithField("models", offered)
}

// invocationOf names what the caller proved themselves with, where that was an
// invocation: a delegation may be held by others too.
func invocationOf(who identity.Principal) string {
	if who.Kind != identity.ByInvocation {
		return ""
	}
	return who.TokenCID
}

// withoutKeys is attachments as they are stored: the keys of encrypted files
// are credentials.
func withoutKeys(files []oracle.Attachment) []oracle.Attachment {
	out := slices.Clone(files)
	for i := range out {
		out[i].File = nil
	}
	return out
}

// oncePrefix begins request ids that name one message each. Browsers repeat a
// POST by themselves when a kept connection breaks before it was answered; other
// ids only correlate, and may come with many messages.
const oncePrefix = "once-"

// requestID is the id of the turn: the body's, else the request's own. minted
// says that the server has just made it.
func requestID(r *http.Request, wanted string) (id string, minted bool) {
	if wanted == "" || len(wanted) > 128 || strings.ContainsFunc(wanted, func(c rune) bool {
		return c <= ' ' || c > '~'
	}) {
		id = httpserver.RequestID(r.Context())
		return id, r.Header.Get(httpserver.HeaderRequestID) != id
	}
	return wanted, false
}

// reply waits for the end of a turn and sends it whole.
func (a *api) reply(w http.ResponseWriter, r *http.Request, started run.Started, all bool) error {
	ended, err := a.deps.Engine.Await(r.Context(), started)
	if err != nil {
		return err
	}
	if ended.Paused {
		return a.replyPaused(w, r, ended)
	}
	m, err := a.deps.Turns.Reply(r.Context(), ended)
	if err != nil {
		return err
	}
	if ended.Status == oracle.Failed {
		p := (&model.Error{Kind: model.Kind(ended.ErrorKind)}).Public()
		if p.Retryable {
			return fault.New(fault.Unavailable, p.Text).WithRetryAfter(time.Second)
		}
		return fault.New(fault.Internal, p.Text)
	}
	if m.ID == "" {
		return fault.New(fault.Invalid, "No message returned from the oracle")
	}
	body := ReplyBody{
		Message:   ReplyMessage{Type: oracle.AI, Content: m.Content, ID: m.ID},
		SessionID: ended.SessionID, RunID: ended.ID, Status: string(ended.Status),
	}
	if all {
		leave, err := a.readings.Take(r.Context(), ended.Owner)
		if err != nil {
			return err
		}
		defer leave()
		list, err := a.deps.Service.Messages(r.Context(), ended.Owner, ended.SessionID)
		if err != nil && !errors.Is(err, oracle.ErrTooLong) { // the answer was given, whatever came before it
			return err
		}
		body.Messages = messageBodies(list)
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

// followRun reads a run again, from anywhere. It never starts one.
func (a *api) followRun(w http.ResponseWriter, r *http.Request, who identity.Principal) error {
	id := r.PathValue("runId")
	reader, err := a.readerOf(r, who.DID, id)
	if err != nil {
		return err
	}
	defer reader.Close()
	w.Header().Set(headerRunID, id)
	w.Header().Set(httpserver.HeaderRequestID, reader.RequestID()) // pages know their answer by it
	// A run may be silent for long, and whoever joins it is to know that they have.
	return a.stream(w, r, reader, 0)
}

// readerOf reads one of the caller's runs.
func (a *api) readerOf(r *http.Request, owner, id string) (*run.Reader, error) {
	after, err := resumePoint(r)
	if err != nil {
		return nil, err
	}
	if !oracle.PlausibleID(id) {
		return nil, oracle.ErrRunNotFound
	}
	return a.deps.Engine.Follow(r.Context(), owner, id, after)
}

// beganRun reports whether an invocation began the run that a request follows:
// see httpserver.Route.
func (a *api) beganRun(r *http.Request, issuer, invocation string) (bool, error) {
	id := r.PathValue("runId")
	if !oracle.PlausibleID(id) {
		return false, nil
	}
	return a.deps.Engine.Began(r.Context(), issuer, id, invocation)
}

// resumePoint reads ?after=, or else Last-Event-ID.
func resumePoint(r *http.Request) (int64, error) {
	text := r.URL.Query().Get("after")
	if text == "" {
		text = r.Header.Get("Last-Event-ID")
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "after must be the number of a frame")
	}
	return n, nil
}

// stream sends frames until the last one, the client leaves, or the server
// stops; in the last case the client resumes elsewhere. The stream begins within
// within, with a comment where there is no frame yet.
func (a *api) stream(w http.ResponseWriter, r *http.Request, reader *run.Reader, within time.Duration) error {
	out := httpserver.Stream(w, r)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	ctx := r.Context()
	draining := httpserver.Draining(ctx)
	reader.Until(draining)
	var buf []byte
	begun := false
	for {
		frames, err := reader.Next(ctx, within)
		within = a.deps.Heartbeat
		switch {
		case err == nil:
		case errors.Is(err, run.ErrIdle):
			if err := out.Send(sse.AppendComment(buf[:0], "heartbeat")); err != nil {
				return nil //nolint:nilerr // the reader left; the run goes on
			}
			begun = true
			continue
		case errors.Is(err, io.EOF), errors.Is(err, run.ErrLeaving):
			if !begun { // everything had been read before
				return out.Start(http.StatusOK)
			}
			return nil
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the reader left; the run goes on
		case !begun:
			return err
		default:
			a.deps.Log.Warn("a stream was cut; the client resumes it", slog.String("event", "stream.cut"), slog.Any("error", err))
			return nil
		}
		if buf, err = appendFrames(buf[:0], frames); err != nil {
			return err
		}
		if begun && aborted(frames[len(frames)-1]) {
			a.holdBack(ctx, draining)
		}
		if err := out.Send(buf); err != nil {
			return nil //nolint:nilerr // the reader left; the run goes on
		}
		begun = true
		select {
		case <-draining:
			return nil
		default:
		}
	}
}

func appendFrames(buf []byte, frames []oracle.Frame) (_ []byte, err error) {
	room := 0
	for _, f := range frames {
		room += len(f.Event) + len(f.Data) + framing
	}
	buf = slices.Grow(buf, room)
	for _, f := range frames {
		if buf, err = sse.Append(buf, sse.Event{Name: f.Event, ID: strconv.FormatInt(f.Seq, 10), Data: f.Data}); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// aborted reports whether a frame ends a run that was stopped.
func aborted(f oracle.Frame) bool {
	var done oracle.DoneFrame
	return f.Ends() && json.Unmarshal(f.Data, &done) == nil && done.Aborted
}

// holdBack waits until whoever aborted has surely been answered.
func (a *api) holdBack(ctx context.Context, draining <-chan struct{}) {
	timer := time.NewTimer(a.deps.Parting)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-draining:
	}
}

// caveats are a capability's, as JSON.
func caveats(c ucan.Capability) json.RawMessage {
	if c.NB.Kind == ipld.Null {
		return nil
	}
	return ipld.AppendJSON(nil, c.NB)
}
