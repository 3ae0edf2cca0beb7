package model_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
)

// What users read and what their programs read say the same.
func TestTextAndRetryableAgree(t *testing.T) {
	t.Parallel()
	for _, kind := range []model.Kind{
		model.RateLimit, model.Billing, model.Auth, model.Timeout, model.Server, model.Network, model.Unknown, model.Filter,
		model.TooLong, "",
	} {
		p := (&model.Error{Kind: kind, Detail: "said by the provider"}).Public()
		if asks := strings.Contains(p.Text, "Please try again"); asks != p.Retryable || p.Retryable != p.Kind.Retryable() {
			t.Errorf("%s: %q, retryable %v", kind, p.Text, p.Retryable)
		}
	}
}
