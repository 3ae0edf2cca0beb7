package ussd

import (
	"context"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
)

// CountRefusal counts a request that broke a rule, for operators.
func (s *Service) CountRefusal(dialect string, why *InvalidError) {
	s.tally.Add(ussdcount.Count{Menu: dialect, Kind: ussdcount.CountRefused, From: why.Field, To: why.Rule})
	s.cfg.Observer.Refused(dialect, why.Field)
}

// Refusals lists what requests were refused for in the last days, the most
// frequent first.
func (s *Service) Refusals(ctx context.Context, days int) ([]ussdcount.Refusal, error) {
	counts, err := s.Counts(ctx, days)
	if err != nil {
		return nil, err
	}
	return ussdcount.Refusals(counts), nil
}
