package oracle

import (
	"context"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Rating is what somebody thinks of an answer.
type Rating string

// An answer is good or it is not.
const (
	RatingUp   Rating = "up"
	RatingDown Rating = "down"
)

// MaxFeedback bounds the text beside a rating, in bytes.
const MaxFeedback = 4096

// Feedback is what a session's owner thinks of one of its answers.
type Feedback struct {
	MessageID string
	Rating    Rating
	Text      string
	At        time.Time
}

// FeedbackCount is how often answers of a model were found good or bad on a day.
type FeedbackCount struct {
	Day   int64
	Model string
	Up    int64
	Down  int64
}

// SetFeedback keeps what the user thinks of an answer, in place of what they thought before.
func (s *Service) SetFeedback(ctx context.Context, owner, sessionID string, f Feedback) error {
	if f.Rating != RatingUp && f.Rating != RatingDown {
		return fault.New(fault.Invalid, "rating must be one of the following values: up, down")
	}
	if f.Text = strings.ReplaceAll(strings.TrimSpace(f.Text), "\x00", ""); len(f.Text) > MaxFeedback {
		return fault.Newf(fault.Invalid, "text must be shorter than or equal to %d bytes", MaxFeedback)
	}
	f.At = s.now()
	return s.changeFeedback(ctx, owner, sessionID, f)
}

// ForgetFeedback takes back what the user thought of an answer.
func (s *Service) ForgetFeedback(ctx context.Context, owner, sessionID, messageID string) error {
	return s.changeFeedback(ctx, owner, sessionID, Feedback{MessageID: messageID})
}

func (s *Service) changeFeedback(ctx context.Context, owner, sessionID string, f Feedback) error {
	if !PlausibleID(sessionID) {
		return ErrSessionNotFound
	}
	if !PlausibleID(f.MessageID) {
		return ErrMessageNotFound
	}
	return s.store.SetFeedback(ctx, owner, sessionID, f)
}

// FeedbackCounts counts the feedback of everybody from a day to another, both
// included, by day and model: what operators see of it.
func (s *Service) FeedbackCounts(ctx context.Context, from, to int64) ([]FeedbackCount, error) {
	return s.store.FeedbackCounts(ctx, from, to)
}
