package ussdcount

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// The kinds of counts that figures are made of, beside those of screens.
const (
	// CountBegun has a dialect in the place of the menu.
	CountBegun = "begun"
	// CountTook has a dialect, the longest time of a step of the ladder, and a result in
	// the place of menu and screens.
	CountTook = "took"
)

// ladder is the steps into which times are sorted, in milliseconds. Gateways wait for
// seconds at most, so the last one stands for whatever is longer.
var ladder = [...]int64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}

// Took counts a request of a dialect by how long its answer took.
func Took(dialect, result string, took time.Duration) Count {
	i, _ := slices.BinarySearch(ladder[:], (took + time.Millisecond - 1).Milliseconds())
	return Count{Menu: dialect, Kind: CountTook, From: steps[min(i, len(ladder)-1)], To: result}
}

// steps are the names of the ladder's steps: counting makes no text.
var steps = func() (names [len(ladder)]string) {
	for i, ms := range ladder {
		names[i] = strconv.FormatInt(ms, 10)
	}
	return names
}()

// Day is how many sessions began on a day of UTC.
type Day struct {
	Day   string `json:"day"`
	Begun int64  `json:"begun"`
}

// Sessions is how sessions went. Those that are under way are in none but Begun.
type Sessions struct {
	Begun     int64 `json:"begun"`
	Completed int64 `json:"completed" jsonschema:"the service said END"`
	Left      int64 `json:"left" jsonschema:"the caller hung up, or the network did"`
	// Completion is completed by completed and left, between 0 and 1.
	Completion float64 `json:"completion"`
}

// Drop is a screen on which sessions were left.
type Drop struct {
	Screen string `json:"screen"`
	Left   int64  `json:"left"`
}

// Gateway is how the requests of a dialect were answered, also those that could not be read.
type Gateway struct {
	Dialect  string `json:"dialect" jsonschema:"the adapter; empty is the session endpoint"`
	Begun    int64  `json:"begun" jsonschema:"sessions"`
	Requests int64  `json:"requests" jsonschema:"also those that were refused"`
	Replayed int64  `json:"replayed"`
	Refused  int64  `json:"refused"`
	Failed   int64  `json:"failed"`
	// P95 is a time, in milliseconds, in which 95 of 100 requests that were not refused
	// were answered: the step of a ladder, so at most two and a half times too long.
	P95 int64 `json:"p95Ms"`
}

// Figures is what happened in some days.
type Figures struct {
	Sessions Sessions  `json:"sessions"`
	Drops    []Drop    `json:"drops" jsonschema:"where most sessions were left, at most ten"`
	Gateways []Gateway `json:"gateways"`
	Refusals []Refusal `json:"refusals"`
}

const maxDrops = 10

// refused is the result of requests that broke a rule.
const refused = "refused"

// Sum makes figures of counts.
func Sum(counts map[Count]int64) Figures {
	f := Figures{Refusals: Refusals(counts), Drops: []Drop{}, Gateways: []Gateway{}}
	left, gateways, times := map[string]int64{}, map[string]*Gateway{}, map[string]map[int64]int64{}
	of := func(dialect string) *Gateway {
		if gateways[dialect] == nil {
			gateways[dialect], times[dialect] = &Gateway{Dialect: dialect}, map[int64]int64{}
		}
		return gateways[dialect]
	}
	for c, n := range counts {
		switch c.Kind {
		case CountBegun:
			f.Sessions.Begun += n
			of(c.Menu).Begun += n
		case CountEnded:
			f.Sessions.Completed += n
		case CountLeft:
			f.Sessions.Left += n
			left[c.From] += n
		case CountRefused:
			of(c.Menu).add(refused, n)
		case CountTook:
			if c.To == refused {
				continue // what was refused has a count of its own, for whatever reason
			}
			of(c.Menu).add(c.To, n)
			if ms, err := strconv.ParseInt(c.From, 10, 64); err == nil {
				times[c.Menu][ms] += n
			}
		}
	}
	if over := f.Sessions.Completed + f.Sessions.Left; over > 0 {
		f.Sessions.Completion = float64(f.Sessions.Completed) / float64(over)
	}
	for screen, n := range left {
		f.Drops = append(f.Drops, Drop{screen, n})
	}
	slices.SortFunc(f.Drops, func(a, b Drop) int {
		return cmp.Or(cmp.Compare(b.Left, a.Left), cmp.Compare(a.Screen, b.Screen))
	})
	f.Drops = f.Drops[:min(len(f.Drops), maxDrops)]
	for dialect, g := range gateways {
		g.P95 = percentile(times[dialect], g.Requests-g.Refused)
		f.Gateways = append(f.Gateways, *g)
	}
	slices.SortFunc(f.Gateways, func(a, b Gateway) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Dialect, b.Dialect))
	})
	return f
}

// add counts requests by their result.
func (g *Gateway) add(result string, n int64) {
	g.Requests += n
	switch result {
	case "replayed":
		g.Replayed += n
	case refused:
		g.Refused += n
	case "failed":
		g.Failed += n
	}
}

// percentile is the step below which 95 of 100 times are.
func percentile(times map[int64]int64, all int64) int64 {
	sum := int64(0)
	for _, ms := range ladder {
		if sum += times[ms]; all > 0 && sum*100 >= all*95 {
			return ms
		}
	}
	return 0
}
