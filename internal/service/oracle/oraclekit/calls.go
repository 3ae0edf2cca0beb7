package oraclekit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Spoken is the oracle as callers talk to it: every utterance is a turn of the
// session, with the same plugins, limits and transcript as a typed message.
func (o *Oracle) Spoken() call.Oracle { return spoken{o} }

type spoken struct{ o *Oracle }

// Ask implements call.Oracle.
func (s spoken) Ask(ctx context.Context, q call.Question) (call.Answer, error) {
	carried := oracle.Carried{Brought: q.Brought}
	if q.Picture != nil {
		carried.Images = []plugin.Image{{MediaType: "image/jpeg", Data: q.Picture}}
	}
	request := oracle.TurnRequest{Message: q.Text, Origin: usage.SourceCall, Metadata: map[string]any{"callId": q.CallID}}
	if q.Sponsor != q.Owner {
		request.Sponsor = q.Sponsor
	}
	started, err := s.o.Turns.Start(ctx, run.Start{
		Owner: q.Owner, SessionID: q.SessionID, RequestID: oracle.NewID(), Minted: true, Multitask: oracle.Interrupt,
		Request: request, Carried: carried,
	})
	if err != nil {
		return nil, err
	}
	return &reply{o: s.o, started: started}, nil
}

// Sees implements call.Oracle.
func (s spoken) Sees() bool { return model.Find(s.o.provider, "").Vision }

// reply reads the text of a run.
type reply struct {
	o       *Oracle
	started run.Started
	said    bool
	failed  error
	ended   bool
}

// RunID implements call.Answer.
func (r *reply) RunID() string { return r.started.Run.ID }

// Close implements call.Answer.
func (r *reply) Close() { r.started.Reader.Close() }

// Cut implements call.Answer. What was written may only be cut when it stands, so
// the end of the turn is waited for.
func (r *reply) Cut(ctx context.Context, heard string) error {
	q := r.started.Run
	if _, err := r.o.Engine.AbortRun(ctx, q.Owner, q.SessionID, q.ID); err != nil {
		return err
	}
	for !r.ended {
		switch _, err := r.Next(ctx); {
		case err == nil, errors.Is(err, io.EOF), r.ended:
		default:
			return fmt.Errorf("wait for the end of the turn: %w", err)
		}
	}
	changed, err := r.o.Store.CutReply(ctx, q.Owner, q.SessionID, q.ID, heard)
	if err != nil || !changed || r.o.pages == nil {
		return err
	}
	e, err := oracle.NewEvent(oracle.EventMessageCacheInvalidation, oracle.Address{SessionID: q.SessionID},
		oracle.MessageCacheInvalidation{Address: oracle.Address{SessionID: q.SessionID}, Status: plugin.Done})
	if err != nil {
		return err
	}
	return r.o.pages.Publish(ctx, e)
}

// Next implements call.Answer.
func (r *reply) Next(ctx context.Context) (string, error) {
	if r.ended {
		return "", io.EOF
	}
	frames, err := r.started.Reader.Next(ctx, time.Minute)
	switch {
	case errors.Is(err, run.ErrIdle):
		return "", nil
	case err != nil:
		return "", err
	}
	text := ""
	for _, f := range frames {
		switch f.Event {
		case oracle.FrameMessage:
			var m oracle.MessageFrame
			if err := json.Unmarshal(f.Data, &m); err != nil {
				return text, err
			}
			text += m.Content
			r.said = r.said || m.Content != ""
		case oracle.FrameError:
			var e oracle.ErrorFrame
			if err := json.Unmarshal(f.Data, &e); err != nil {
				return text, err
			}
			r.failed = fault.New(fault.Unavailable, e.Error) // the turn may go on all the same
		case oracle.FrameDone:
			r.ended = true
			if r.failed != nil && !r.said {
				return text, r.failed
			}
			return text, io.EOF
		}
	}
	return text, nil
}
