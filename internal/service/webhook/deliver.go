package webhook

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"
)

// statusGone is how a receiver says that it wants no more.
const statusGone = 410

// Run sends what is due until ctx ends. Any number of nodes may do so.
func (s *Service) Run(ctx context.Context) error { return s.Store.Work(ctx, s.Now, s.deliver) }

// deliver sends one delivery and says what came of it. Its error is ours: the
// delivery is then tried again, and nobody else's fault.
func (s *Service) deliver(ctx context.Context, d Due) (Result, error) {
	switch {
	case d.Endpoint.ID == "":
		return Result{Gone: true}, nil
	case !d.Endpoint.Open():
		return Result{Held: true}, nil
	}
	r, _, err := s.attempt(ctx, d, 0)
	if err != nil || ctx.Err() != nil { // the program stops, or another node has it: it says nothing about the receiver
		return Result{}, errors.Join(err, ctx.Err())
	}
	if !r.Delivered {
		s.Log.Debug("a webhook was not delivered", slog.String("endpoint", d.Endpoint.ID), slog.String("webhook_event", d.Event),
			slog.Int("status", r.Status), slog.Bool("last", d.Last))
	}
	return r, nil
}

// attempt sends a delivery once, signed, and says what came of it, with the first
// bytes of the answer if some are wanted. Its error is ours.
func (s *Service) attempt(ctx context.Context, d Due, read int) (Result, []byte, error) {
	secrets := make([]Secret, 0, len(d.Secrets))
	for _, sealed := range d.Secrets {
		secret, err := s.vault.open(d.Endpoint.ID, sealed)
		if err != nil {
			return Result{}, nil, err
		}
		secrets = append(secrets, secret)
	}
	began := time.Now()
	at := s.Now()
	answer, err := s.Sender.Send(ctx, Request{URL: d.Endpoint.URL, Body: d.Body, Read: read, Header: map[string]string{
		HeaderID: d.Event, HeaderTimestamp: strconv.FormatInt(at.Unix(), 10),
		HeaderSignature: Sign(secrets, d.Event, at, d.Body),
		"Content-Type":  "application/json",
	}})
	r := Result{
		At: at, Took: time.Since(began), Status: answer.Status, Answer: answer.First, RetryAfter: answer.RetryAfter,
	}
	switch {
	case err != nil:
		r.Error = err.Error()
	case answer.Status >= 200 && answer.Status < 300:
		r.Delivered = true
	case answer.Status == statusGone:
		r.Error, r.Disable = "it answered 410", "it answered 410: it wants no more"
	default:
		r.Error = "it answered " + strconv.Itoa(answer.Status)
	}
	return r, answer.Body, nil
}
