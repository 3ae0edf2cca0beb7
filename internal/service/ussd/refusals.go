package ussd

import (
	"cmp"
	"context"
	"slices"
)

// Refusal is how often requests of a dialect broke a rule. Field and Rule are
// words of the program: what was sent may be a number or a PIN.
type Refusal struct {
	Dialect string `json:"dialect" jsonschema:"the adapter; empty is the session endpoint"`
	Field   string `json:"field"`
	Rule    string `json:"rule"`
	Count   int64  `json:"count"`
}

// CountRefusal counts a request that broke a rule, for operators.
func (s *Service) CountRefusal(dialect string, why *InvalidError) {
	s.tally.add(Count{Menu: dialect, Kind: CountRefused, From: why.Field, To: why.Rule})
}

// Refusals lists what requests were refused for in the last days, the most
// frequent first.
func (s *Service) Refusals(ctx context.Context, days int) ([]Refusal, error) {
	counts, err := s.counts(ctx, days)
	if err != nil {
		return nil, err
	}
	out := []Refusal{}
	for c, n := range counts {
		if c.Kind == CountRefused {
			out = append(out, Refusal{Dialect: c.Menu, Field: c.From, Rule: c.To, Count: n})
		}
	}
	slices.SortFunc(out, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Rule, b.Rule))
	})
	return out, nil
}
