package words

import (
	"strconv"
	"time"

	"golang.org/x/text/number"
)

// Size writes a number of bytes, in units of 1024 as everywhere.
func (l *Language) Size(n int64) string {
	if n < 1<<10 {
		return l.Say("size.bytes", Values{"n": n})
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"kib", "mib", "gib", "tib"} {
		if size /= 1 << 10; size < 1<<10-0.05 {
			break
		}
	}
	written := l.printer.Sprint(number.Decimal(size, number.MinFractionDigits(1), number.MaxFractionDigits(1)))
	return l.Say("size.large", Values{"unit": unit, "n": written})
}

// Moment writes a time to the minute, in UTC: who reads it may be anywhere.
func (l *Language) Moment(t time.Time) string {
	t = t.UTC()
	return l.Say("time.moment", Values{
		"day":   l.digits.Replace(strconv.Itoa(t.Day())),
		"month": l.Say("time.month", Values{"n": strconv.Itoa(int(t.Month()))}),
		"year":  l.digits.Replace(strconv.Itoa(t.Year())),
		"clock": l.digits.Replace(t.Format("15:04")),
	})
}
