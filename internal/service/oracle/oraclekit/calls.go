package oraclekit

import (
	"context"
	"encoding/json"
	"errors"
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
	carried := oracle.Carried{Delegation: q.Delegation}
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
	return &reply{started: started}, nil
}

// Sees implements call.Oracle.
func (s spoken) Sees() bool { return model.Find(s.o.provider, "").Vision }

// Abort implements call.Oracle.
func (s spoken) Abort(ctx context.Context, owner, sessionID, runID string) error {
	_, err := s.o.Engine.AbortRun(ctx, owner, sessionID, runID)
	return err
}

// reply reads the text of a run.
type reply struct {
	started run.Started
	said    bool
	failed  error
	ended   bool
}

// RunID implements call.Answer.
func (r *reply) RunID() string { return r.started.Run.ID }

// Close implements call.Answer.
func (r *reply) Close() { r.started.Reader.Close() }

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
