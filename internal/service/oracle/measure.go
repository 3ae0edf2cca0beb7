package oracle

import (
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Measure is what somebody may have of the oracle in a day of UTC; 0 is no limit.
type Measure struct {
	Messages   int64
	CostMicros int64 // of the model, in millionths of a US dollar
}

// Limited reports whether anything has to be counted.
func (m Measure) Limited() bool { return m.Messages > 0 || m.CostMicros > 0 }

// Measures are those of people, by how they come.
type Measures struct {
	User, Telephone Measure
	// Usual, when set, says both in their place: they may change while the program runs.
	Usual func() (user, telephone Measure)
	// Own, when set, says what a user has where operators chose something else than what
	// all have.
	Own func(sponsor string, usual Measure) Measure
}

// TelephoneSponsor begins the names of those who answer for telephone users.
const TelephoneSponsor = "did:ussd:"

// Of returns the measure of whoever answers for a message.
func (m Measures) Of(sponsor string) Measure {
	if m.Usual != nil {
		m.User, m.Telephone = m.Usual()
	}
	if strings.HasPrefix(sponsor, TelephoneSponsor) {
		return m.Telephone
	}
	if m.Own == nil {
		return m.User
	}
	return m.Own(sponsor, m.User)
}

const day = 24 * time.Hour

// DayOf numbers the days of UTC.
func DayOf(t time.Time) int64 { return t.UnixMilli() / day.Milliseconds() }

// MonthOf is the number of the first day of a day's month.
func MonthOf(number int64) int64 {
	return number - int64(time.UnixMilli(number*day.Milliseconds()).UTC().Day()) + 1
}

// nextDay is when counting starts anew.
func nextDay(t time.Time) time.Time { return time.UnixMilli((DayOf(t) + 1) * day.Milliseconds()).UTC() }

// CodeMessages and CodeCost are the machine words of refusals beyond a measure.
const (
	CodeMessages = "messages_per_day"
	CodeCost     = "model_cost_per_day"
)

// Exceeded returns the refusal of a message, or nil when what was used, with
// this message, stays within the measure.
func (m Measure) Exceeded(messages, micros int64, now time.Time) error {
	switch {
	case m.Messages > 0 && messages > m.Messages:
		return beyond(CodeMessages, fmt.Sprintf("You may send %d messages a day here.", m.Messages), m.Messages, now)
	case m.CostMicros > 0 && micros >= m.CostMicros:
		limit := float64(m.CostMicros) / 1e6
		return beyond(CodeCost, fmt.Sprintf("Your answers may cost %s US dollars a day here, and that is spent, or set aside for answers under way.", dollars(m.CostMicros)), limit, now)
	}
	return nil
}

func beyond(code, text string, limit any, now time.Time) error {
	resets := nextDay(now)
	at := resets.Format(time.RFC3339)
	return fault.New(fault.RateLimited, text+" You can go on after "+at+".").WithCode(code).
		WithField("code", code).WithField("limit", limit).WithField("resetsAt", at).WithRetryAfter(resets.Sub(now))
}

// dollars writes an amount with as many decimals as it needs, at least two.
func dollars(micros int64) string {
	text := strings.TrimRight(fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6), "0")
	for len(text)-strings.IndexByte(text, '.') < 3 {
		text += "0"
	}
	return text
}
