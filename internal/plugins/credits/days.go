package credits

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

// Day is what happened to all accounts together on a day of UTC.
type Day struct {
	Granted int64 `json:"granted"`
	Spent   int64 `json:"spent"`
}

const (
	// daysKept is how long sums of days are kept.
	daysKept = 400 * 24 * time.Hour
	// maxSums bounds how many of them are read for a question: those of each day are kept
	// apart by the first letter of the user's key, of which there are 64, so that users who
	// pay at once seldom wait for each other.
	maxSums = 401 * 64
)

func dayOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// countDay adds to the sums of the day what a change did, in its transaction.
func (b *book) countDay(ctx context.Context, before Account) error {
	d := Day{Granted: b.Granted - before.Granted, Spent: b.Spent - before.Spent}
	if d == (Day{}) {
		return nil
	}
	var sum Day
	day := dayOf(b.tx.Now())
	key := fmt.Sprintf("t/%08d/%.1s", day, b.user)
	if _, err := load(ctx, b.tx, key, &sum); err != nil {
		return err
	}
	value, err := json.Marshal(Day{Granted: sum.Granted + d.Granted, Spent: sum.Spent + d.Spent})
	if err != nil {
		return err
	}
	// All rows of a day end at one moment: one that moved on with each change would move the
	// row in the index of ends too, where all settlements then meet.
	end := time.Unix((day+1)*int64(24*time.Hour/time.Second), 0).Add(daysKept)
	return b.tx.Put(ctx, key, value, end.Sub(b.tx.Now()))
}

// Days adds up what was granted and spent on each day of UTC, by its number, from one to
// another, both included. Days without either are not in it.
func (l *Ledger) Days(ctx context.Context, from, to int64) (map[int64]Day, error) {
	out, after := map[int64]Day{}, fmt.Sprintf("t/%08d", from)
	for read := 0; read < maxSums; {
		some, err := l.store.Scan(ctx, plugin.Range{Prefix: "t/", After: after, Limit: 1000})
		if err != nil || len(some) == 0 {
			return out, err
		}
		for _, e := range some {
			text, _, _ := strings.Cut(strings.TrimPrefix(e.Key, "t/"), "/")
			day, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("decode sum: %w", err)
			}
			if day > to {
				return out, nil
			}
			var d Day
			if err := json.Unmarshal(e.Value, &d); err != nil {
				return nil, fmt.Errorf("decode sum: %w", err)
			}
			sum := out[day]
			out[day] = Day{Granted: sum.Granted + d.Granted, Spent: sum.Spent + d.Spent}
		}
		read, after = read+len(some), some[len(some)-1].Key
	}
	return out, nil
}

// AccountOf is what operators see of somebody: their account, and what they owe.
func (p *Plugin) AccountOf(ctx context.Context, did string) (Account, []Claim, error) {
	account, claims, _, err := p.ledger.Read(ctx, did, 0)
	return account, claims, err
}

// CreditDays is what operators see: for each day, by its number, what was granted and
// what was spent.
func (p *Plugin) CreditDays(ctx context.Context, from, to int64) (granted, spent map[int64]int64, err error) {
	days, err := p.ledger.Days(ctx, from, to)
	granted, spent = make(map[int64]int64, len(days)), make(map[int64]int64, len(days))
	for day, d := range days {
		granted[day], spent[day] = d.Granted, d.Spent
	}
	return granted, spent, err
}
