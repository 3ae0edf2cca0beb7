package model

import (
	"fmt"
	"time"
)

// Known is a model that the program knows by name. Models end; this table says
// when, so that no default ends unnoticed.
type Known struct {
	ID       string
	Provider string
	Window   int
	// Wire is how the provider's own endpoint wants it to be asked.
	Wire string
	// Ends is the day on which the provider switches it off; zero if none was named.
	Ends time.Time
	// Successor is what the provider recommends instead.
	Successor string
	// Default marks what is asked for when MODEL names nothing.
	Default bool
}

// reviewed is when the table was last compared with what the providers say.
var reviewed = day(2026, time.November, 16)

const (
	// notice is how long before its end a model is warned of.
	notice = 90 * 24 * time.Hour
	// stale is the age from which the table is not to be relied on.
	stale = 365 * 24 * time.Hour
)

var known = []Known{
	{ID: "gpt-6-luna", Provider: "openai", Window: 1_050_000, Wire: "responses", Default: true},
	{ID: "gpt-4o-mini", Provider: "openai", Window: 128_000, Ends: day(2027, time.January, 14), Successor: "gpt-6-luna"},
	{ID: "claude-sonnet-5-5", Provider: "anthropic", Window: 200_000, Default: true},
	{ID: "claude-sonnet-4-5", Provider: "anthropic", Window: 200_000, Ends: day(2026, time.November, 30), Successor: "claude-sonnet-5-5"},
}

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

// Lookup finds what is known of a provider's model; an empty id is its default.
func Lookup(provider, id string) (Known, bool) {
	for _, k := range known {
		if k.Provider == provider && (k.ID == id || id == "" && k.Default) {
			return k, true
		}
	}
	return Known{}, false
}

// Warning is what an operator should know of a model on a day, or nothing. ended
// says that it is too late.
func (k Known) Warning(now time.Time) (text string, ended bool) {
	switch {
	case k.Ends.IsZero() && k.Default && now.Sub(reviewed) > stale:
		return fmt.Sprintf("the built-in default model %s was last checked on %s and may have ended", k.ID, reviewed.Format(time.DateOnly)), false
	case k.Ends.IsZero() || k.Ends.Sub(now) > notice:
		return "", false
	case now.Before(k.Ends):
		return fmt.Sprintf("the model %s ends on %s; its successor is %s", k.ID, k.Ends.Format(time.DateOnly), k.Successor), false
	}
	return fmt.Sprintf("the model %s ended on %s; its successor is %s", k.ID, k.Ends.Format(time.DateOnly), k.Successor), true
}
