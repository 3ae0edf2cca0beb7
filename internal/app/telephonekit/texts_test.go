package telephonekit_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/platform/config"
)

// What is all that proves a gateway is not guessed.
func TestSecretsOfGatewaysAreLong(t *testing.T) {
	t.Parallel()
	for secret, good := range map[string]bool{
		"": true, "short": false, strings.Repeat("x", 15): false,
		strings.Repeat("x", 16): true,
	} {
		for _, settings := range []config.SMS{{Secret: config.Secret(secret)}, {SecretOld: config.Secret(secret)}} {
			if _, err := telephonekit.NewTexts(telephonekit.TextDeps{Settings: settings}); (err == nil) != good {
				t.Errorf("%d characters: %v", len(secret), err)
			}
		}
	}
}
