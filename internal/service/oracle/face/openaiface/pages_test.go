package openaiface_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// Pages of other origins may send what the SDKs send, and read what they read of an answer.
func TestPagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	alice.Header = http.Header{"Origin": {"https://page.example"}, "Access-Control-Request-Method": {"POST"}}
	for _, path := range []string{chatPath, "/v1/responses", "/v1/models"} {
		h := alice.Do("OPTIONS", path, nil).Header
		for list, names := range map[string][]string{
			"Access-Control-Allow-Headers": {
				"Authorization", "Content-Type", "User-Agent", "OpenAI-Organization", "OpenAI-Project", "X-Conversation-Id",
				"X-OpenWebUI-Chat-Id", "X-Stainless-Arch", "X-Stainless-Lang", "X-Stainless-OS", "X-Stainless-Package-Version",
				"X-Stainless-Retry-Count", "X-Stainless-Runtime", "X-Stainless-Runtime-Version", "X-Stainless-Timeout", "X-Stainless-Helper-Method",
			},
			"Access-Control-Expose-Headers": {"X-Run-Id", "X-Request-Id", "Retry-After", "X-Should-Retry"},
		} {
			got := "," + strings.ToLower(h.Get(list)) + ","
			for _, name := range names {
				if !strings.Contains(got, ","+strings.ToLower(name)+",") {
					t.Errorf("%s: %s lacks %s: %s", path, list, name, got)
				}
			}
		}
	}
}
