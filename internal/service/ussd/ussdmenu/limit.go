package ussdmenu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The size of one USSD message: 160 octets, which hold 182 septets of the GSM
// default alphabet or 80 units of UCS-2 (3GPP TS 23.038). Many networks cut a
// screen earlier, most of them at 160 septets.
const (
	MaxSeptets = 182
	MaxUnits   = 80

	defaultSeptets = 160
	// leastSeptets leaves room on a page for the keys of every page and one option.
	leastSeptets = 120
	leastUnits   = 52
)

// Limit is how much of a screen a network shows. The zero value is what nearly
// all of them do: 160 septets, or 70 units of UCS-2.
type Limit struct {
	Septets int `json:"g"`
	Units   int `json:"u"`
}

// Message is the limit of the standard itself, which no network exceeds.
func Message() Limit { return Limit{MaxSeptets, MaxUnits} }

// OrDefault puts the usual limit in the place of the zero value.
func (l Limit) OrDefault() Limit {
	if l == (Limit{}) {
		return Limit{defaultSeptets, unitsOf(defaultSeptets)}
	}
	return l
}

// unitsOf is how many units of UCS-2 take the octets of so many septets.
func unitsOf(septets int) int { return (septets*7 + 7) / 8 / 2 }

// Over is by how much a text is larger than the limit, negative when it fits.
func (l Limit) Over(z Size) int {
	l = l.OrDefault()
	if z.UCS2 {
		return z.Units - l.Units
	}
	return z.Septets - l.Septets
}

// Fits reports whether s goes onto one screen.
func (l Limit) Fits(s string) bool {
	l = l.OrDefault()
	if len(s) <= l.Units { // no character takes less than a byte
		return true
	}
	return l.Over(Measure(s)) <= 0
}

// String writes the limit as its setting has it.
func (l Limit) String() string {
	l = l.OrDefault()
	if l.Units == unitsOf(l.Septets) {
		return strconv.Itoa(l.Septets)
	}
	return fmt.Sprintf("%d/%d", l.Septets, l.Units)
}

// Limits are the limits of all networks that a gateway serves: one for all, and
// others for dialects and service codes. The zero value is the usual limit.
type Limits struct {
	all      Limit
	dialects map[string]Limit
	codes    []codeLimit // the longest first
}

type codeLimit struct {
	code  string // without the last #
	limit Limit
}

// ParseLimits reads limits such as "160,africastalking=182,*384#=140/60": septets,
// or septets and units of UCS-2 where a network shows fewer of these than go into
// as many octets.
func ParseLimits(text string, dialects []string) (Limits, error) {
	ls := Limits{dialects: map[string]Limit{}}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, size, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, size = "", name
		}
		if seen[name] {
			return Limits{}, fmt.Errorf("%q comes twice", name)
		}
		seen[name] = true
		limit, err := parseLimit(size)
		if err != nil {
			return Limits{}, err
		}
		base, isCode := CodeBase(name)
		switch {
		case !named:
			ls.all = limit
		case isCode:
			ls.codes = append(ls.codes, codeLimit{base, limit})
		case slices.Contains(dialects, name):
			ls.dialects[name] = limit
		default:
			return Limits{}, fmt.Errorf("%q is neither a service code nor one of %s", name, strings.Join(dialects, ", "))
		}
	}
	slices.SortFunc(ls.codes, func(a, b codeLimit) int { return len(b.code) - len(a.code) })
	return ls, nil
}

func parseLimit(text string) (Limit, error) {
	septets, units, both := strings.Cut(strings.TrimSpace(text), "/")
	n, err := strconv.Atoi(septets)
	if err != nil || n < leastSeptets || n > MaxSeptets {
		return Limit{}, fmt.Errorf("%q: a screen has %d to %d septets", text, leastSeptets, MaxSeptets)
	}
	l := Limit{n, unitsOf(n)}
	if both {
		// No more than the octets hold: whatever fits as UCS-2 then fits as septets.
		most := l.Units
		if l.Units, err = strconv.Atoi(units); err != nil || l.Units < leastUnits || l.Units > most {
			return Limit{}, fmt.Errorf("%q: a screen of %d septets has %d to %d characters of UCS-2", text, n, leastUnits, most)
		}
	}
	if l == (Limit{}).OrDefault() {
		return Limit{}, nil // so that sessions need not carry it
	}
	return l, nil
}

// Of is the limit of a session. A service code says more than its dialect, and
// *384# speaks for *384*7# too, unless that has a limit of its own.
func (ls Limits) Of(dialect, code string) Limit {
	for _, c := range ls.codes {
		if under(c.code, code) {
			return c.limit
		}
	}
	if l, ok := ls.dialects[dialect]; ok {
		return l
	}
	return ls.all
}

// CodeBase is a service code such as *384# or *384*7# without its last #.
func CodeBase(code string) (base string, ok bool) {
	base, ok = strings.CutSuffix(code, "#")
	return base, ok && len(base) > 1 && base[0] == '*' && strings.Trim(base, "*0123456789") == ""
}

// CodeUnder reports whether a code is the wide one or begins with it, as *384*7#
// begins with *384#.
func CodeUnder(wide, code string) bool {
	base, ok := CodeBase(wide)
	return ok && under(base, code)
}

func under(base, code string) bool {
	rest, ok := strings.CutPrefix(code, base)
	return ok && (rest == "#" || strings.HasPrefix(rest, "*"))
}

// Least is the smallest of the limits: a menu that fits there fits everywhere.
func (ls Limits) Least() Limit { return ls.LeastOf(nil) }

// LeastOf is the smallest of the limits that the codes meet; of none, of all.
func (ls Limits) LeastOf(codes []string) Limit {
	least := Message()
	shrink := func(l Limit) {
		l = l.OrDefault()
		least = Limit{min(least.Septets, l.Septets), min(least.Units, l.Units)}
	}
	general := len(codes) == 0
	for _, code := range codes {
		own := slices.ContainsFunc(ls.codes, func(c codeLimit) bool { return under(c.code, code) })
		general = general || !own
	}
	if general {
		shrink(ls.all)
		for _, l := range ls.dialects {
			shrink(l)
		}
	}
	for _, c := range ls.codes {
		if len(codes) == 0 || slices.ContainsFunc(codes, func(code string) bool {
			return under(c.code, code) || CodeUnder(code, c.code+"#")
		}) {
			shrink(c.limit)
		}
	}
	return least
}
